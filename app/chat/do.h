// What the slash commands do: a function for each row of commands.cpp, after which /help says what it is for.
//
// `arguments` is what stands behind the command, without white space around it. Each throws Error for what
// the person should read.
//
// Thread rule: free functions; that of ChatParts.
#pragma once

#include <string_view>

#include "arguments.h"
#include "chat_parts.h"

namespace bitnet {

// do_help.cpp
void do_help(ChatParts& chat, std::string_view arguments);
void do_quit(ChatParts& chat, std::string_view arguments);

// do_conversations.cpp
void do_new(ChatParts& chat, std::string_view arguments);
void do_open(ChatParts& chat, std::string_view arguments);
void do_list(ChatParts& chat, std::string_view arguments);
void do_search(ChatParts& chat, std::string_view arguments);
void do_title(ChatParts& chat, std::string_view arguments);
void do_archive(ChatParts& chat, std::string_view arguments);
void do_delete(ChatParts& chat, std::string_view arguments);
void do_undelete(ChatParts& chat, std::string_view arguments);

// do_tree.cpp
void do_regen(ChatParts& chat, std::string_view arguments);
void do_continue(ChatParts& chat, std::string_view arguments);
void do_undo(ChatParts& chat, std::string_view arguments);
void do_redo(ChatParts& chat, std::string_view arguments);
void do_edit(ChatParts& chat, std::string_view arguments);
void do_fork(ChatParts& chat, std::string_view arguments);
void do_branches(ChatParts& chat, std::string_view arguments);
void do_goto(ChatParts& chat, std::string_view arguments);

// do_settings.cpp
void do_set(ChatParts& chat, std::string_view arguments);
void do_think(ChatParts& chat, std::string_view arguments);
void do_seed(ChatParts& chat, std::string_view arguments);
void do_reset(ChatParts& chat, std::string_view arguments);
void do_system(ChatParts& chat, std::string_view arguments);
void do_reopen(ChatParts& chat, std::string_view arguments);

// do_personas.cpp
void do_persona(ChatParts& chat, std::string_view arguments);
void do_prompt(ChatParts& chat, std::string_view arguments);

// do_model.cpp
void do_model(ChatParts& chat, std::string_view arguments);

// do_show.cpp
void do_show(ChatParts& chat, std::string_view arguments);

// do_look.cpp
void do_tokens(ChatParts& chat, std::string_view arguments);
void do_alt(ChatParts& chat, std::string_view arguments);

// do_read.cpp
void do_read(ChatParts& chat, std::string_view arguments);

// do_compact.cpp
void do_compact(ChatParts& chat, std::string_view arguments);

// do_private.cpp
void do_private(ChatParts& chat, std::string_view arguments);

// do_io.cpp
void do_export(ChatParts& chat, std::string_view arguments);
void do_import(ChatParts& chat, std::string_view arguments);
void do_record(ChatParts& chat, std::string_view arguments);
void do_replay(ChatParts& chat, std::string_view arguments);

// do_copy.cpp
void do_copy(ChatParts& chat, std::string_view arguments);
void do_save(ChatParts& chat, std::string_view arguments);

// do_settings.cpp. Throws Error(usage) where a new context size has to wait.
void change_settings(ChatParts& chat, ChatSettings changed);
void set_system(ChatParts& chat, std::string_view text);

// Where a command may write this file. A script has no ! of its own: whoever started it says what may be
// lost.
WriteRules rules_for(const ChatParts& chat, const NamedFile& file);

}  // namespace bitnet
