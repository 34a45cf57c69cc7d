// /help and /quit.
#include <fmt/format.h>

#include <string>
#include <utility>

#include "commands.h"
#include "do.h"
#include "refuse.h"

namespace bitnet {
namespace {

std::string usage_line(const Command& command) {
  return *command.arguments == '\0' ? std::string(command.name)
                                    : fmt::format("{} {}", command.name, command.arguments);
}

std::string help_of(std::string_view asked) {
  const std::string name = asked.starts_with('/') ? std::string(asked) : fmt::format("/{}", asked);
  const Command* command = find_command(name);
  if (command == nullptr) refuse(fmt::format("there is no command {}", printable(name, 40)));
  std::string text = fmt::format("{}\n  {}", usage_line(*command), command->help);
  if (*command->more != '\0') text += fmt::format("\n  {}", command->more);
  if (*command->aliases != '\0') text += fmt::format("\n  also: {}", command->aliases);
  return text;
}

std::string all_help() {
  std::string text;
  for (const Command& command : command_table())
    text += fmt::format("{:<26} {}\n", usage_line(command), command.help);
  return text + "A line that begins with // is a turn that begins with a slash; /help keys lists the keys.";
}

// What is not sent or answered yet; nothing where /quit cuts nothing short.
std::string left_undone(const ChatParts& chat) {
  if (!chat.queue.empty())
    return chat.queue.size() == 1 ? "One message is not sent yet" : "Messages are not sent yet";
  const int64_t elsewhere = chat.answer.elsewhere();
  return elsewhere == 0 ? "" : fmt::format("The answer to conversation {} is still being made", elsewhere);
}

// What would be lost; nothing where nothing would be.
std::string quit_warning(ChatParts& chat) {
  Storage& storage = chat.storage;
  if (!chat.busy()) storage.save_again();
  const std::string undone = left_undone(chat), unsaved = storage.unsaved_text();
  if (unsaved.empty()) return undone;
  return fmt::format("{}{}{}. {}", undone, undone.empty() ? "" : ". ", unsaved, storage.way_to_keep());
}

}  // namespace

void do_help(ChatParts& chat, std::string_view arguments) {
  std::string text;
  if (arguments.empty()) {
    text = all_help();
  } else if (arguments == "keys") {
    text = chat.front_end().keys_text();
    if (text.empty()) text = "There are no keys here.";
  } else {
    text = help_of(arguments);
  }
  chat.front_end().command_output("help", text);
}

// The first /quit says what would be lost, and so does each where that is something else; the next one ends
// the program all the same.
void do_quit(ChatParts& chat, std::string_view) {
  if (const std::string warning = quit_warning(chat);
      !warning.empty() && std::exchange(chat.quit_warning, warning) != warning)
    return chat.reporter.error(fmt::format("{}; /quit again ends the program without.", warning));
  interrupt_at_end(chat);
  chat.quit = true;
}

}  // namespace bitnet
