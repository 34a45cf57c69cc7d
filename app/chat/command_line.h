// Tells apart what is typed: a command or a turn. It checks and completes commands.
//
// Thread rule: free functions; any thread, but completion has that of its store.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "app/chat/front_end.h"
#include "app/store/store.h"
#include "commands.h"

namespace bitnet {

// True where what was typed is a command, or could be one with a slip in it: its first word is the name of a
// command, or it looks like one and either stands alone or is near one. A path is no command.
bool is_command(std::string_view typed);
// The turn that a typed text sends where it is no command: "//" is a literal slash.
std::string_view turn_of(std::string_view typed);
// The inverse: what is to be typed to send exactly this turn.
std::string typed_form(std::string_view turn);

// The commands that begin like `line`, while their name is being typed.
std::vector<MenuEntry> command_menu(std::string_view line);

// The files that could be meant where `line` ends in @ and the beginning of a path.
std::vector<MenuEntry> file_menu(std::string_view line);

// The command of a line that is_command() takes for one. Throws Error(usage), before anything is done, where
// there is no such command (with the nearest one), or where it takes no arguments.
const Command& checked_command(std::string_view line);
std::string_view arguments_of(std::string_view line);
// True for a command that says which conversation it is about by its number.
bool names_conversation(std::string_view typed);
// Whole lines that begin with `line`. Numbers of conversations are those of `database`.
std::vector<std::string> complete_command(Store& database, const std::vector<std::string>& model_folders,
                                          std::string_view line);

}  // namespace bitnet
