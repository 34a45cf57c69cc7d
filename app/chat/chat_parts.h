// The parts of a chat, for the commands: what each of them may touch; and the steps that concern several
// parts.
//
// Thread rule: all of it lives on the loop's thread.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "answer.h"
#include "app/model/worker.h"
#include "conversation.h"
#include "mentions.h"
#include "model_state.h"
#include "model_switch.h"
#include "queue.h"
#include "read_files.h"
#include "reporter.h"
#include "settings.h"
#include "storage.h"
#include "tasks.h"

namespace bitnet {

// An answer's tokens with what else was likely in their places, for /tokens and /alt.
struct LookedAnswer {
  std::vector<int32_t> prompt;
  std::vector<int32_t> tokens;
  std::vector<Looked> looked;  // one for each token once complete
};

struct ChatParts {
  Conversation& conversation;
  Storage& storage;  // of the conversation
  Answer& answer;
  Tasks& tasks;
  ReadFiles& read_files;
  Queue& queue;
  SettingsInUse& settings;
  ModelState& model;
  Worker& worker;
  Reporter& reporter;
  ModelSwitch& models;
  LookedAnswer looked;        // the last one
  std::string quit_warning;   // what /quit said would be lost; no turn came since
  bool from_queue = false;    // a command that waited runs now: what still waits was sent behind it
  bool offers_model = false;  // a conversation was opened before the model was there
  bool quit = false;          // the person wants the program to end
  std::function<void(std::string_view line)> submit;  // as if it was typed

  FrontEnd& front_end() const { return reporter.front_end(); }
  bool busy() const { return answer.busy() || tasks.busy(); }
};

// do_read.cpp. Puts the files that a person names in `text` as @path beside it. Throws Error(usage) for one
// that cannot go along; without `all`, it is left out.
void name_files(ChatParts& chat, std::string_view text, bool all);
// Tells a person that these words, which name no file, are only text.
void tell_without_file(ChatParts& chat, const std::vector<WithoutFile>& words);
// Chat::without_last_file().
std::optional<std::string> without_last_file(ChatParts& chat, std::string_view typed);

// turns.cpp. A turn as it was typed: stored, shown and answered, at once or when the model is there. Where
// that cannot be, it goes back to the input line. It waits where something else runs.
void add_user_turn(ChatParts& chat, std::string_view turn, Unanswered unanswered = {});
// The same at once, with these files. Requires can_begin_turn().
void begin_turn(ChatParts& chat, std::string_view turn, const std::vector<AttachedFile>& files,
                Unanswered unanswered = {});
// Nothing runs, or only the answer to another conversation.
bool can_begin_turn(const ChatParts& chat);
bool stoppable(const ChatParts& chat);
void interrupt(ChatParts& chat);  // whatever of it is shown; what waits goes back to the input
// The same because the program ends: a turn that waits for the model stays stored, without an answer.
void interrupt_at_end(ChatParts& chat);

// do_conversations.cpp. All throw Error(usage) where the open conversation cannot be left: its answer would
// be lost, or waits, another task runs, or a message waits here that was not sent behind this command. Before
// another one is opened: an answer that is being made goes on out of sight.
void leave_conversation(ChatParts& chat);
void new_conversation(ChatParts& chat);
void open_conversation(ChatParts& chat, int64_t number);  // Error(runtime) where it is not there
void take_conversation(ChatParts& chat, int64_t number);  // the same, not shown yet

// do_settings.cpp. Makes the session as large as the settings say. Requires a model.
void fit_context(ChatParts& chat);
std::string settings_text(const ChatParts& chat, std::string_view name);  // all where `name` is empty
// That `think` is set and the model's template does not know it; empty where there is nothing to say.
std::string think_warning(const ChatSettings& settings, const ModelText& text);

}  // namespace bitnet
