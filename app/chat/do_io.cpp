// /export /import /record /replay: a conversation into a file, out of one, and once more on the screen.
#include <fmt/format.h>

#include <memory>
#include <string>

#include "app/base/counted.h"
#include "app/base/places.h"
#include "app/store/exchange.h"
#include "app/text/text_file.h"
#include "arguments.h"
#include "do.h"
#include "refuse.h"

namespace bitnet {
WriteRules rules_for(const ChatParts& chat, const NamedFile& file) {
  WriteRules rules = chat.settings.now.files;
  if (!rules.below.empty()) return rules;
  rules.overwrite = rules.overwrite || file.forced;
  rules.to_overwrite = "a ! behind the name overwrites it";
  return rules;
}

void do_export(ChatParts& chat, std::string_view arguments) {
  const auto [format_name, file_name] = split(arguments);
  const NamedFile file = file_to_write(file_name);
  const ChatFormat format = chat_format(format_name);
  const auto whole = chat.storage.store().whole(chat.storage.number());
  if (!whole) refuse("there is nothing to export yet");
  const std::string text = write_chat(*whole, format);
  const size_t count =
      format == ChatFormat::json ? whole->messages.size() : chat.conversation.branch().size();
  if (file.name.empty()) {
    chat.front_end().command_output("export", text);
  } else {
    write_text_file(file.name, text, rules_for(chat, file));
    chat.front_end().command_output("export", fmt::format("{} {} in {} now.", counted(count, "message"),
                                                          count == 1 ? "is" : "are", file.name));
  }
  const std::string before = count == 0 ? chat.conversation.before_first_turn() : "";
  if (!before.empty()) chat.front_end().warning(before + "; /export json has them all.");
}

void do_import(ChatParts& chat, std::string_view arguments) {
  const std::string file = unquoted(arguments);
  if (file.empty()) refuse("/import wants the file of a conversation");
  if (chat.storage.is_private())
    refuse("what is imported is stored, and nothing is stored now: /private off stores again");
  const std::vector<int64_t> numbers = import_file(chat.storage.store(), expand_home(file), Pipes::refused);
  if (numbers.size() == 1) {
    open_conversation(chat, numbers[0]);
    chat.front_end().command_output("import", fmt::format("This is conversation {} now.", numbers[0]));
  } else {
    chat.front_end().command_output(
        "import", fmt::format("{} conversations were stored, {} to {}; /open goes on with one.",
                              numbers.size(), numbers.front(), numbers.back()));
  }
}

void do_record(ChatParts& chat, std::string_view arguments) {
  if (arguments.empty()) refuse("/record wants a file, or off");
  const NamedFile file = arguments == "off" ? NamedFile() : file_to_write(arguments);
  const WriteRules rules = rules_for(chat, file);
  const bool is_private = chat.storage.is_private() || chat.settings.now.is_private;
  if (!file.name.empty() && is_private && !rules.overwrite) {
    refuse(
        fmt::format("nothing is kept of this conversation, and a recording would keep it; {} records it all "
                    "the same",
                    rules.below.empty() ? "/record FILE!" : "--force"));
  }
  FrontEnd& front = chat.front_end();
  const bool recorded = front.recording();
  if (file.name.empty() && !recorded)
    return front.command_output("record", "Nothing is being recorded; /record FILE begins.");
  front.record(file.name, rules);
  front.command_output(
      "record", file.name.empty() ? "The recording is over."
                                  : fmt::format("{} is being recorded; /record off ends it.{}", file.name,
                                                recorded ? " The recording that ran before is over." : ""));
}

void do_replay(ChatParts& chat, std::string_view arguments) {
  auto [first, second] = split(arguments);
  if (first == "instant") std::swap(first, second);
  const std::optional<int64_t> number = optional_conversation(first);
  const double speed = replay_speed(second);
  if (number) take_conversation(chat, *number);
  Conversation& conversation = chat.conversation;
  if (conversation.branch().empty()) {
    if (number) conversation.show_all();
    const std::string before = conversation.before_first_turn();
    refuse(before.empty() ? "there is nothing to replay yet" : before);
  }
  std::vector<ShownMessage> messages;
  for (const BranchMessage& message : conversation.branch()) {
    const StoredMessage& m = message.stored;
    messages.push_back({m.id, m.role, m.text, m.finish, message.number, message.sibling, message.siblings});
  }
  chat.tasks.replay(std::make_unique<ReplayPlayer>(replay_branch(chat.storage.store(), std::move(messages)),
                                                   speed, chat.model ? &chat.model->text->tokenizer : nullptr,
                                                   chat.front_end()));
  if (number) chat.read_files.drop();
}

}  // namespace bitnet
