// Going on while the database cannot be written, and saving what was said meanwhile once it can be again.
//
// What fails is taken over by a store in memory that begins as a copy of what is shown (memory_copy). With
// every line that is typed and after every answer the database is opened anew and given what it lacks
// (Store::take_over); then the conversation goes on there. A database whose file was removed or replaced is
// noticed with the next line: what it held of this conversation is still open here, and is stored anew.
#include <fmt/format.h>

#include <utility>

#include "chat_core.h"

namespace bitnet {
namespace {

std::string counted(size_t messages) {
  return fmt::format("{} message{} {}", messages, messages == 1 ? "" : "s", messages == 1 ? "is" : "are");
}

}  // namespace

Store& ChatCore::database() { return unsaved_ ? *unsaved_->memory : store_; }

int64_t ChatCore::stored_conversation() const {
  if (private_) return 0;
  if (!unsaved_) return conversation_;
  const auto known = unsaved_->conversations.find(conversation_);
  return known == unsaved_->conversations.end() ? 0 : known->second;
}

void ChatCore::keep(const std::function<void()>& write) {
  try {
    write();
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::database || unsaved_ || private_store_) throw;
    lose_store(error.what());
    write();
  }
}

void ChatCore::lose_store(const std::string& why) {
  status_.saved = false;
  begin_unsaved(why);
  front_.error(
      fmt::format("{}. This conversation goes on, but nothing more of it is saved until the database can be "
                  "written again, which "
                  "is tried with each turn. /export json FILE keeps it meanwhile.",
                  why));
}

void ChatCore::begin_unsaved(const std::string& why) {
  Unsaved unsaved;
  unsaved.why = why;
  unsaved.file = store_.file();
  unsaved.memory = memory_copy(&unsaved);
  unsaved_ = std::move(unsaved);
}

// The branch that is shown, as a conversation of its own in memory; what is written from now on goes there.
std::unique_ptr<Store> ChatCore::memory_copy(Unsaved* unsaved) {
  std::unique_ptr<Store> memory = Store::in_memory();
  undone_.clear();
  looked_ = {};
  if (conversation_ == 0) return memory;
  const int64_t copy = memory->add_conversation(settings_.system);
  if (unsaved != nullptr) unsaved->conversations[copy] = conversation_;
  conversation_ = copy;
  memory->set_title(conversation_, status_.title);
  std::optional<int64_t> parent;
  for (size_t i = 0; i < branch_.size(); ++i) {
    StoredMessage& message = branch_[i].stored;
    Unsaved::Known known{message.id, 0, {}};
    if (running_ && running_->stored.message == message.id) {
      known.open_turn = running_->stored.id;
      running_->stored.message = 0;
      running_->stored = memory->begin_turn(conversation_, parent, running_->stored);
      memory->append(running_->stored, message.text, {});
      message.id = running_->stored.message;
    } else if (message.role == Role::assistant) {
      std::vector<StoredToken> tokens;
      for (const int32_t id : branch_[i].tokens) tokens.push_back({id, 0, 0});
      known.turns = tokens.empty() ? 0 : 1;
      message.id = memory->add_answer(conversation_, parent, message.text, message.finish, tokens);
    } else {
      message.id = memory->add_message(conversation_, parent, message.role, message.text);
    }
    if (unsaved != nullptr) unsaved->messages[message.id] = known;
    message.parent = parent;
    branch_[i].number = static_cast<int64_t>(i) + 1;
    branch_[i].sibling = branch_[i].siblings = 1;
    parent = message.id;
  }
  return memory;
}

// True where nothing waits in memory any more.
bool ChatCore::save_again() {
  if (!unsaved_) return true;
  if (busy()) return false;
  size_t count = 0;
  try {
    store_.reopen();
    if (store_.file() != unsaved_->file) {  // of another file the numbers mean nothing
      unsaved_->conversations.clear();
      unsaved_->messages.clear();
      unsaved_->file = store_.file();
    }
    count = unsaved_->count();
    store_.take_over(*unsaved_);
  } catch (const Error& error) {
    unsaved_->why = error.what();
    return false;
  }
  const Unsaved saved = std::move(*unsaved_);
  unsaved_.reset();
  int64_t& conversation = private_ ? public_conversation_ : conversation_;
  if (conversation != 0) conversation = saved.conversations.at(conversation);
  status_.saved = !private_;
  if (!private_) {
    std::optional<int64_t> leaf = this->leaf();
    if (leaf) leaf = saved.messages.at(*leaf).id;
    undone_.clear();
    looked_ = {};
    load_branch(leaf);
    show_all();
  }
  if (count > 0) {
    front_.notice(fmt::format("The database can be written again: {} saved now that {} not.", counted(count),
                              count == 1 ? "was" : "were"));
  } else {
    front_.notice("The database can be written again: what you say is saved.");
  }
  return true;
}

// Before anything that is typed is done.
void ChatCore::look_after_database() {
  if (busy()) return;
  if (unsaved_) {
    save_again();
    return;
  }
  if (!store_.moved()) return;
  std::string text = fmt::format("The database {} was {} while this program ran.", printable(store_.path()),
                                 store_.is_gone() ? "removed" : "replaced");
  int64_t& conversation = private_ ? public_conversation_ : conversation_;
  std::optional<WholeConversation> whole;
  try {
    if (conversation != 0) whole = store_.whole(conversation);  // what was removed is open here still
  } catch (const Error&) {
  }
  try {
    store_.reopen();
    if (whole) {
      conversation = store_.add_whole(*whole);
    } else if (private_) {
      conversation = 0;
    }
  } catch (const Error& error) {
    if (!private_) return lose_store(fmt::format("{} {}", text, error.what()));
    conversation = 0;
    begin_unsaved(error.what());
    return front_.error(fmt::format("{} {}", text, error.what()));
  }
  if (conversation != 0 && !whole) {  // what is shown is all there is of it
    begin_unsaved(text);
    unsaved_->file = {};
    save_again();
  } else if (conversation != 0 && !private_) {
    undone_.clear();
    looked_ = {};
    load_branch(store_.conversation(conversation)->leaf);
    show_all();
  }
  text += " Saving goes on in the file that is there now";
  if (conversation != 0) {
    text += fmt::format(
        ", and this conversation is stored in it from its beginning, as number {0}; /delete {0} now "
        "takes it out",
        conversation);
  }
  front_.error(text + ".");
}

// /quit: true where the program may end.
bool ChatCore::may_quit() {
  if (std::exchange(quit_warned_, true)) return true;
  save_again();
  const size_t count = unsaved_ ? unsaved_->count() : 0;
  if (count == 0) return true;
  tell_error(
      fmt::format("{} not saved: {}. /export json FILE writes this conversation elsewhere; /quit again ends "
                  "the program without.",
                  counted(count), unsaved_->why));
  return false;
}

// What is in the database is told what to do with by commands that would only touch the copy in memory.
void ChatCore::refuse_while_unsaved(int64_t conversation) const {
  if (!unsaved_ || !unsaved_->conversations.contains(conversation)) return;
  throw Error(ErrorKind::usage, fmt::format("the database cannot be written: {}", unsaved_->why));
}

std::string ChatCore::close() {
  if (running_) {
    try {
      flush_batch(true);
      running_->stored.finish = name_of(Finish::interrupted);
      running_->stored.answer_tokens = running_->tokens;
      store().finish_turn(running_->stored);
    } catch (const Error&) {
      // What was stored before is there, and the next open marks it.
    }
    running_.reset();
  }
  turn_waits_ = false;
  task_.reset();
  player_.reset();
  std::string text;
  try {
    // Another program may have purged what was open here: then its timeline is not kept either.
    const int64_t id = stored_conversation();
    if (id != 0 && !unsaved_ && !store_.conversation(id)) worker_.forget_timelines();
    save_again();
    const size_t count = unsaved_ ? unsaved_->count() : 0;
    if (count > 0) text = fmt::format("{} not saved: {}", counted(count), unsaved_->why);
  } catch (const Error&) {
    // Nobody is there to be told more.
  }
  return text;
}

ChatCore::~ChatCore() { close(); }

}  // namespace bitnet
