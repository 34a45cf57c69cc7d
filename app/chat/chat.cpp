#include "chat.h"

#include <fmt/format.h>

#include <utility>

#include "app/base/clock.h"
#include "app/store/message_tree.h"
#include "chat_core.h"
#include "commands.h"

namespace bitnet {
namespace {

constexpr char kReopenChoice[] =
    ". What was said is kept: /reopen tries again, /reopen cpu goes on without this device, /quit ends.";

}  // namespace

std::unique_ptr<Chat> make_chat(Store& store, Worker& worker, ChatSettings settings, FrontEnd& front_end) {
  return std::make_unique<ChatCore>(store, worker, std::move(settings), front_end);
}

ChatCore::ChatCore(Store& store, Worker& worker, ChatSettings settings, FrontEnd& front_end)
    : front_(front_end),
      worker_(worker),
      settings_(settings),
      defaults_(std::move(settings)),
      new_system_(defaults_.system),
      wake_(worker.wake_fd()),
      store_(store) {
  status_.saved = store.is_open() && !store.is_private();
  if (!store.is_open()) begin_unsaved("the database could not be opened");
  status_.is_private = settings_.is_private;
}

void ChatCore::submit(std::string_view text) {
  if (text.find_first_not_of(" \t\r\n") == std::string_view::npos) return;
  try {
    look_after_database();
    if (leave_deleted_conversation(text)) return;
    if (!is_command(text)) return add_user_turn(turn_of(text));
    const Command* command = nullptr;
    try {
      command = &checked_command(*this, text);
    } catch (const Error&) {
      front_.return_input(text);  // a slip: the person mends it
      throw;
    }
    command->run(*this, arguments_of(text));
  } catch (const Error& error) {
    tell_error(error.what());
  }
}

void ChatCore::interrupt_after(uint32_t tokens) {
  interrupt_after_ = tokens;
  if (running_ && running_->tokens >= tokens) interrupt();
}

bool ChatCore::is_command(std::string_view typed) const { return bitnet::is_command(typed); }

std::optional<std::string> ChatCore::take_error() { return std::exchange(error_, std::nullopt); }

std::vector<std::string> ChatCore::complete(std::string_view line) { return complete_command(*this, line); }

void ChatCore::tell_error(std::string_view text) {
  error_ = text;
  front_.error(text);
}

void ChatCore::interrupt() {
  if (player_) {
    player_.reset();
    wake_.set(std::nullopt);
    if (model_) status_.state = ChatState::idle;
    return show_all();
  }
  if (turn_waits_) {
    turn_waits_ = false;
    if (branch_.back().stored.role == Role::user) take_back_turn();
    return;
  }
  if (task_) worker_.interrupt();
  if (!running_) return;
  if (running_->reason.empty()) running_->reason = name_of(Finish::interrupted);
  worker_.interrupt();
}

void ChatCore::handle_events() {
  if (player_) advance_replay();
  const std::vector<WorkerEvent> events = worker_.take();
  if (events.empty()) return;
  struct Visitor {
    ChatCore& chat;
    void operator()(const LoadProgress& event) const {
      chat.status_.state = ChatState::loading;
      chat.status_.progress = event.done;
    }
    void operator()(const Loaded& event) const {
      chat.model_ = event;
      Status& status = chat.status_;
      status.state = ChatState::idle;
      status.progress = 1;
      status.model = event.model.name.empty() ? event.model.architecture : event.model.name;
      status.device = event.device.name;
      status.context_limit = event.n_ctx;
      if (chat.settings_.verbose) {
        chat.front_.notice(fmt::format("{} on {} ({}), context {}", event.text->path, event.device.name,
                                       event.device.driver, event.n_ctx));
        if (event.text->template_replaced) {
          chat.front_.notice(
              "The file's chat template is a converter's placeholder; the form the model was trained "
              "with is used instead.");
        }
      }
      if (const std::string warning = warning_about(event.model); !warning.empty()) {
        chat.front_.notice(warning);
      }
      if (!chat.read_files_.empty()) chat.count_read_files();
      const ModelSettings wishes = usable_wishes(event.text->wishes);
      adopt(wishes, chat.defaults_);
      adopt(wishes, chat.settings_);
      for (const std::string& wish : wishes.unusable) {
        chat.front_.notice(fmt::format("The model's file has a setting that is passed over: {}.", wish));
      }
      // What was set while it loaded; otherwise it was opened with the context that is wanted.
      if (chat.settings_.ctx != chat.defaults_.ctx) chat.fit_context();
      if (!chat.task_) chat.begin_waiting_turn();
    }
    void operator()(const NotReopened& event) const {
      chat.front_.error(event.message + ". The model goes on where it was.");
    }
    void operator()(const PrefillProgress& event) const {
      if (!chat.works_on(event.job)) return;
      chat.status_.state = ChatState::prefill;
      chat.status_.progress = event.total == 0 ? 1 : double{1} * event.done / event.total;
    }
    void operator()(const Prefilled& event) const {
      if (!chat.works_on(event.job)) return;
      chat.status_.state = ChatState::answering;
      chat.status_.progress = 1;
      chat.status_.reused = event.result.reused;
    }
    void operator()(const Token& event) const {
      if (chat.task_ && chat.task_->job == event.job) {
        if (chat.task_->on_token) chat.task_->on_token(event.token);
      } else {
        chat.take_token(event);
      }
    }
    void operator()(const Looked& event) const {
      if (chat.task_ && chat.task_->job == event.job) chat.looked_.looked.push_back(event);
    }
    void operator()(const ContextChanged& event) const {
      if (chat.model_) chat.model_->n_ctx = event.n_ctx;
      chat.status_.context_limit = event.n_ctx;
    }
    void operator()(const Finished& event) const {
      if (chat.task_ && chat.task_->job == event.job) {
        chat.finish_task(event);
      } else {
        chat.finish_answer(event);
      }
    }
    void operator()(const Failed& event) const {
      chat.failure_ = Error(event.kind, event.message);
      chat.model_.reset();
      chat.status_.state = ChatState::failed;
      chat.front_.error(event.message + (event.kind == ErrorKind::device ? kReopenChoice : ""));
      chat.interrupt();  // a turn that waits goes back to the input
    }
  };
  for (const WorkerEvent& event : events) std::visit(Visitor{*this}, event);
  send_status();
}

bool ChatCore::works_on(uint64_t job) const {
  return (running_ && running_->job == job) || (task_ && task_->job == job);
}

void ChatCore::begin_waiting_turn() {
  if (turn_waits_) {
    turn_waits_ = false;
    start_answer();
  } else {
    update_context();
  }
}

void ChatCore::start_task(AnyJob job, ModelTask task) {
  task.job = worker_.submit(std::move(job));
  task_ = std::move(task);
  status_.state = ChatState::prefill;
  status_.progress = 0;
  send_status();
}

void ChatCore::finish_task(const Finished& finished) {
  const ModelTask task = std::move(*task_);
  task_.reset();
  status_.state = ChatState::idle;
  status_.progress = 1;
  if (finished.reason == "device_lost") {
    tell_error(fmt::format("{} ({}): {}. The device is being opened again.", model_->device.name,
                           model_->device.driver, finished.message));
    model_.reset();
    status_.state = ChatState::loading;
    status_.progress = 0;
    return;
  }
  try {
    task.on_finish(finished);
  } catch (const Error& error) {
    tell_error(error.what());
  }
}

void ChatCore::show_all() {
  show_branch();
  send_status();
}

std::optional<int64_t> ChatCore::leaf() const {
  if (branch_.empty()) return std::nullopt;
  return branch_.back().stored.id;
}

ShownMessage ChatCore::shown(const BranchMessage& message) const {
  const StoredMessage& m = message.stored;
  const bool elsewhere = m.draft && !(running_ && running_->stored.message == m.id);
  return {m.id,           m.role,          m.text,          elsewhere ? "elsewhere" : m.finish,
          message.number, message.sibling, message.siblings};
}

void ChatCore::show_branch() {
  std::vector<ShownMessage> messages;
  for (const BranchMessage& message : branch_) messages.push_back(shown(message));
  front_.transcript(messages);
}

void ChatCore::send_status() {
  status_.conversation = stored_conversation();
  front_.status(status_);
}

void ChatCore::load_branch(std::optional<int64_t> leaf) {
  std::vector<BranchMessage> branch;  // the old one stays where the database cannot be read
  if (!leaf) return branch_.clear();
  auto tokens = store().answer_tokens(conversation_);
  std::vector<StoredMessage> messages = store().messages(conversation_);
  std::vector<OutlineMessage> outline;
  outline.reserve(messages.size());
  for (const StoredMessage& m : messages) outline.push_back({m.id, m.parent, m.role, false, m.created});
  const MessageTree tree(std::move(outline));
  for (const int64_t id : tree.path(*leaf)) {
    const MessageTree::Place place = tree.place(id);
    StoredMessage& message = messages[static_cast<size_t>(place.number - 1)];
    BranchMessage loaded;
    if (message.role == Role::assistant) loaded.tokens = std::move(tokens[id]);
    loaded.number = place.number;
    loaded.sibling = place.sibling;
    loaded.siblings = place.siblings;
    loaded.stored = std::move(message);
    branch.push_back(std::move(loaded));
  }
  branch_ = std::move(branch);
}

void ChatCore::push_message(StoredMessage message) {
  branch_.emplace_back();
  BranchMessage& added = branch_.back();  // there first: a database that fails now takes it along into memory
  added.stored = std::move(message);
  keep([&] {
    const MessageTree::Place place = MessageTree(store().outline(conversation_)).place(added.stored.id);
    added.number = place.number;
    added.sibling = place.sibling;
    added.siblings = place.siblings;
  });
  front_.message(shown(added));
}

void ChatCore::step_back_to(std::optional<int64_t> leaf) {
  keep([&] { store().set_leaf(conversation_, leaf); });
  while (!branch_.empty() && branch_.back().stored.id != leaf.value_or(0)) branch_.pop_back();
  rewinds_ = true;
  update_context();
  show_all();
}

void ChatCore::move_to(std::optional<int64_t> leaf) {
  keep([&] { store().set_leaf(conversation_, leaf); });
  load_branch(leaf);
  rewinds_ = true;
  update_context();
  show_all();
}

}  // namespace bitnet
