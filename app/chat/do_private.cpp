// /private: going on in memory because the person wants it.
#include <fmt/format.h>

#include <utility>

#include "chat_core.h"

namespace bitnet {
namespace {

[[noreturn]] void refuse(const std::string& why) { throw Error(ErrorKind::usage, why); }

}  // namespace

void ChatCore::go_private(bool on) {
  if (store_.is_private()) {
    if (!on)
      refuse("nothing is stored in this session; start the program anew without --private to store again");
    front_.command_output("private", "Nothing is stored in this session.");
    return;
  }
  if (on == private_) {
    front_.command_output(
        "private", on         ? "Private already: nothing is stored. /private off stores again."
                   : unsaved_ ? fmt::format("Turns are stored as soon as the database can be written: {}. "
                                            "/private on stops that.",
                                            unsaved_->why)
                              : "Turns are stored. /private on stops that.");
    return;
  }
  std::string text;
  if (on) {
    public_conversation_ = conversation_;
    public_settings_ = {new_system_, settings_.stop};
    private_store_ = memory_copy(nullptr);
    private_ = true;
    text =
        "Private: nothing is stored from here on, nor the history of what is typed. /private off stores "
        "again.";
    if (public_conversation_ != 0 && unsaved_) {
      text += " What was said before is saved as soon as the database can be written.";
    } else if (public_conversation_ != 0) {
      text += fmt::format(" What was said before stays stored as conversation {0}; /delete {0} deletes it.",
                          public_conversation_);
    }
  } else {
    private_ = false;
    private_store_.reset();
    conversation_ = 0;
    branch_.clear();
    undone_.clear();
    forget_figures();
    settings_.system = new_system_ = public_settings_.system;
    settings_.stop = public_settings_.stop;
    text = unsaved_ ? fmt::format(
                          "Turns are stored as soon as the database can be written: {}. What was said in "
                          "private is gone.",
                          unsaved_->why)
                    : "Turns are stored again. What was said in private is gone.";
    const int64_t back = std::exchange(public_conversation_, 0);
    if (back != 0 && database().has_conversation(back)) {
      take_conversation(back);
      text += unsaved_ ? " This is the conversation as it was before."
                       : fmt::format(" This is conversation {} as it was stored.", back);
    } else {
      status_.title.clear();
    }
  }
  status_.is_private = on;
  status_.saved = !on && !unsaved_;
  update_context();
  show_all();
  drop_read_files();
  if (on && front_.recording()) {
    front_.record({}, {});
    text += " The recording is over; /record FILE! records in private too.";
  }
  front_.command_output("private", text);
}

}  // namespace bitnet
