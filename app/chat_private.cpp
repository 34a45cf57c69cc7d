// Going on in memory: because the person wants it (/private) or because the database failed.
#include <fmt/format.h>

#include <utility>

#include "chat_core.h"

namespace bitnet {
namespace {

[[noreturn]] void refuse(const std::string& why) { throw Error(ErrorKind::usage, why); }

}  // namespace

Store& ChatCore::database() { return private_ ? store_ : store(); }

void ChatCore::go_private(bool on) {
  if (store_.is_private()) {
    if (!on)
      refuse("nothing is stored in this session; start the program anew without --private to store again");
    front_.command_output("private", "Nothing is stored in this session.");
    return;
  }
  if (on == private_) {
    front_.command_output("private", on ? "Private already: nothing is stored. /private off stores again."
                                        : "Turns are stored. /private on stops that.");
    return;
  }
  if (own_store_ && !private_) refuse("the database failed, so nothing is stored already");
  std::string text;
  if (on) {
    public_conversation_ = conversation_;
    public_settings_ = {new_system_, settings_.stop};
    private_ = true;
    copy_to_memory();
    text =
        "Private: nothing is stored from here on, nor the history of what is typed. /private off stores "
        "again.";
    if (public_conversation_ != 0) {
      text += fmt::format(" What was said before stays stored as conversation {0}; /delete {0} deletes it.",
                          public_conversation_);
    }
  } else {
    private_ = false;
    own_store_.reset();
    conversation_ = 0;
    branch_.clear();
    undone_.clear();
    forget_figures();
    settings_.system = new_system_ = public_settings_.system;
    settings_.stop = public_settings_.stop;
    text = "Turns are stored again. What was said in private is gone.";
    const int64_t back = std::exchange(public_conversation_, 0);
    if (back != 0 && store_.conversation(back)) {
      take_conversation(back);
      text += fmt::format(" This is conversation {} as it was stored.", back);
    } else {
      status_.title.clear();
    }
  }
  status_.is_private = on;
  status_.saved = !on;
  update_context();
  show_all();
  drop_read_files();
  if (on && front_.recording()) {
    front_.record({}, {});
    text += " The recording is over; /record FILE! records in private too.";
  }
  front_.command_output("private", text);
}

// The branch that is shown, as a conversation of its own in memory; what is written from now on goes there.
void ChatCore::copy_to_memory() {
  std::vector<std::vector<StoredToken>> tokens;
  for (const BranchMessage& message : branch_) {
    tokens.emplace_back();
    for (const int32_t id : message.tokens) tokens.back().push_back({id, 0, 0});
  }
  own_store_ = Store::in_memory();
  undone_.clear();
  looked_ = {};
  if (conversation_ == 0) return;
  conversation_ = own_store_->add_conversation(settings_.system);
  own_store_->set_title(conversation_, status_.title);
  std::optional<int64_t> parent;
  for (size_t i = 0; i < branch_.size(); ++i) {
    StoredMessage& message = branch_[i].stored;
    if (running_ && running_->stored.message == message.id) {
      running_->stored.message = 0;
      running_->stored = own_store_->begin_turn(conversation_, parent, running_->stored);
      own_store_->append(running_->stored, message.text, {});
      message.id = running_->stored.message;
    } else if (message.role == Role::assistant) {
      message.id = own_store_->add_answer(conversation_, parent, message.text, message.finish, tokens[i]);
    } else {
      message.id = own_store_->add_message(conversation_, parent, message.role, message.text);
    }
    message.parent = parent;
    branch_[i].number = static_cast<int64_t>(i) + 1;
    branch_[i].sibling = branch_[i].siblings = 1;
    parent = message.id;
  }
}

// The database failed in the middle of a conversation: it goes on in memory, from what is shown.
void ChatCore::lose_store(const Error& error) {
  status_.saved = false;
  front_.error(fmt::format("{}. This conversation goes on, but nothing more of it is saved.", error.what()));
  copy_to_memory();
}

void ChatCore::keep(const std::function<void()>& write) {
  try {
    write();
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::database || own_store_) throw;
    lose_store(error);
    write();
  }
}

}  // namespace bitnet
