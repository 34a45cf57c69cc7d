// /private: going on in memory because the person wants it.
#include <fmt/format.h>

#include <string>
#include <utility>

#include "do.h"
#include "refuse.h"

namespace bitnet {
namespace {

std::string begin_private(ChatParts& chat) {
  Storage& storage = chat.storage;
  const int64_t left = storage.number();
  chat.settings.before_private = {chat.settings.new_system, chat.settings.now.stop,
                                  chat.settings.new_persona};
  storage.go_private();
  std::string text =
      "Private: nothing is stored from here on, nor the history of what is typed. /private off stores again.";
  if (left != 0 && storage.unsaved_because() != nullptr) {
    text += " What was said before is saved as soon as the database can be written.";
  } else if (left != 0) {
    text +=
        fmt::format(" What was said before stays stored as conversation {0}; /delete {0} deletes it.", left);
  }
  chat.conversation.update_context();
  return text;
}

std::string end_private(ChatParts& chat) {
  Storage& storage = chat.storage;
  const int64_t back = storage.leave_private();
  chat.settings.new_system = chat.settings.before_private.system;
  chat.settings.new_persona = chat.settings.before_private.persona;
  chat.settings.now.stop = chat.settings.before_private.stop;
  chat.conversation.begin_new();
  chat.answer.forget_figures();
  const std::string* why = storage.unsaved_because();
  std::string text =
      why == nullptr ? "Turns are stored again. What was said in private is gone."
                     : fmt::format(
                           "Turns are stored as soon as the database can be written: {}. What was said in "
                           "private is gone.",
                           *why);
  if (back != 0 && storage.database().has_conversation(back)) {
    take_conversation(chat, back);
    text += why != nullptr ? " This is the conversation as it was before."
                           : fmt::format(" This is conversation {} as it was stored.", back);
  }
  return text;
}

// What is so already.
std::string state_text(const Storage& storage) {
  if (storage.is_private()) return "Private already: nothing is stored. /private off stores again.";
  const std::string* why = storage.unsaved_because();
  if (why == nullptr) return "Turns are stored. /private on stops that.";
  return fmt::format("Turns are stored as soon as the database can be written: {}. /private on stops that.",
                     *why);
}

}  // namespace

void do_private(ChatParts& chat, std::string_view arguments) {
  if (!arguments.empty() && arguments != "on" && arguments != "off")
    refuse(fmt::format("/private wants on or off, found '{}'", printable(arguments, 40)));
  const bool on = arguments != "off";
  FrontEnd& front = chat.front_end();
  const Storage& storage = chat.storage;
  if (storage.never_stores()) {
    if (!on)
      refuse(
          "nothing is stored: the program was started with --private; start it without --private to store "
          "again");
    return front.command_output("private", "Nothing is stored: the program was started with --private.");
  }
  if (on == storage.is_private()) return front.command_output("private", state_text(storage));
  std::string text = on ? begin_private(chat) : end_private(chat);
  chat.conversation.show_all();
  chat.read_files.drop();
  if (on && front.recording()) {
    front.record({}, {});
    text += " The recording is over; /record FILE! records in private too.";
  }
  front.command_output("private", text);
}

}  // namespace bitnet
