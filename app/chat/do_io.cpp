// A conversation to a file and from one.
#include <fmt/format.h>

#include "app/base/counted.h"
#include "app/base/places.h"
#include "app/store/exchange.h"
#include "chat_core.h"

namespace bitnet {
namespace {

[[noreturn]] void refuse(const std::string& why) { throw Error(ErrorKind::usage, why); }

}  // namespace

// A script has no ! of its own: whoever started it says what may be lost.
WriteRules ChatCore::rules_for(const NamedFile& file) const {
  WriteRules rules = settings_.files;
  if (!rules.below.empty()) return rules;
  rules.overwrite = rules.overwrite || file.forced;
  rules.to_overwrite = "a ! behind the name overwrites it";
  return rules;
}

void ChatCore::export_chat(std::string_view format_name, const NamedFile& file) {
  const ChatFormat format = chat_format(format_name);
  const auto whole = store().whole(conversation_);
  if (!whole) refuse("there is nothing to export yet");
  const std::string text = write_chat(*whole, format);
  if (file.name.empty()) return front_.command_output("export", text);
  write_file(file.name, text, rules_for(file));
  const size_t count = format == ChatFormat::json ? whole->messages.size() : branch_.size();
  front_.command_output("export", fmt::format("{} {} in {} now.", counted(count, "message"),
                                              count == 1 ? "is" : "are", file.name));
}

void ChatCore::import_chats(const std::string& file) {
  if (file.empty()) refuse("/import wants the file of a conversation");
  const std::vector<int64_t> ids = import_file(store(), expand_home(file));
  if (ids.size() == 1) {
    open_conversation(ids[0]);
    front_.command_output("import", fmt::format("This is conversation {} now.", ids[0]));
  } else {
    front_.command_output(
        "import", fmt::format("{} conversations were stored, {} to {}; /open goes on with one.", ids.size(),
                              ids.front(), ids.back()));
  }
}

void ChatCore::record(const NamedFile& file) {
  const WriteRules rules = rules_for(file);
  if (!file.name.empty() && status_.is_private && !rules.overwrite) {
    refuse(
        fmt::format("nothing is kept of this conversation, and a recording would keep it; {} records it all "
                    "the same",
                    rules.below.empty() ? "/record FILE!" : "--force"));
  }
  front_.record(file.name, rules);
  front_.command_output("record", file.name.empty()
                                      ? "The recording is over."
                                      : fmt::format("{} is being recorded; /record off ends it.", file.name));
}

void ChatCore::replay(std::optional<int64_t> id, double speed) {
  if (id) take_conversation(*id);
  if (branch_.empty()) refuse("there is nothing to replay yet");
  std::vector<ShownMessage> messages;
  for (const BranchMessage& message : branch_) messages.push_back(shown(message));
  player_ = std::make_unique<ReplayPlayer>(replay_branch(store(), std::move(messages)), speed,
                                           model_ ? &model_->text->tokenizer : nullptr, front_);
  if (model_) status_.state = ChatState::answering;
  send_status();
  advance_replay();
  if (id) drop_read_files();
}

void ChatCore::advance_replay() {
  const auto due = player_->advance(ReplayPlayer::Clock::now());
  wake_.set(due);
  if (due) return;
  player_.reset();
  if (model_) status_.state = ChatState::idle;
  send_status();
}

}  // namespace bitnet
