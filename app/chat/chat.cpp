// The chat as it is made of its parts: what is typed and what the worker says goes to the part that it
// concerns.
#include "chat.h"

#include <fmt/format.h>

#include <utility>

#include "app/base/counted.h"
#include "app/base/sizes.h"
#include "app/model/link_reads.h"
#include "arguments.h"
#include "chat_parts.h"
#include "command_line.h"
#include "model_menu.h"
#include "titles.h"

namespace bitnet {
namespace {

constexpr char kReopenChoice[] =
    ". What was said is kept: /reopen tries again, /reopen cpu goes on without this device, /quit ends.";

// Thread rule: that of Chat.
class LiveChat final : public Chat {
 public:
  LiveChat(Store& store, Worker& worker, ChatSettings settings, FrontEnd& front_end,
           const ModelSource& models);
  ~LiveChat() override { close(); }
  LiveChat(const LiveChat&) = delete;
  LiveChat& operator=(const LiveChat&) = delete;

  void submit(std::string_view text) override;
  void interrupt() override { bitnet::interrupt(parts_); }
  void interrupt_at_end() override { bitnet::interrupt_at_end(parts_); }
  void interrupt_after(uint32_t tokens) override { answer_.interrupt_after(tokens); }
  void handle_events() override;
  int wake_fd() const override { return tasks_.wake_fd(); }
  void new_conversation() override { bitnet::new_conversation(parts_); }
  void open_conversation(int64_t id) override { bitnet::open_conversation(parts_, id); }
  void show_all() override { conversation_.show_all(); }
  bool is_command(std::string_view typed) const override { return bitnet::is_command(typed); }
  // Whoever cannot look at the status line waits for a pull.
  bool busy() const override {
    return parts_.busy() || !queue_.empty() || models_.wants() || (models_.pulls() && !settings_.now.asks);
  }
  bool stoppable() const override { return bitnet::stoppable(parts_) || !queue_.empty() || models_.wants(); }
  bool take_back() override { return queue_.take_back_last(); }
  bool loading() const override { return model_.loading(); }
  bool quit_requested() const override { return parts_.quit; }
  std::string close() override;
  int64_t conversation() const override { return conversation_.storage().number_in_file(); }
  std::optional<std::string> take_error() override { return reporter_.take_error(); }
  const std::optional<Error>& failure() const override { return model_.failure(); }
  std::vector<std::string> complete(std::string_view line) override;
  void typing(std::string_view text) override;
  std::optional<std::string> without_last_file(std::string_view typed) override {
    return bitnet::without_last_file(parts_, typed);
  }
  std::vector<MenuEntry> menu(std::string_view line) override;

 private:
  bool leave_deleted_conversation(std::string_view typed);
  void refuse_old_number(std::string_view typed);
  bool may_run(Meanwhile meanwhile) const;
  void run_or_queue(std::string_view typed);
  void advance_queue();
  bool asks_to_leave(std::string_view typed);
  bool waits() const { return !queue_.empty() || models_.wants(); }
  bool works_on(uint64_t job) const {
    return answer_.is_shown(job) || (tasks_.is(job) && !tasks_.is_quiet());
  }

  // What the worker says.
  void handle(const LoadProgress& event);
  void handle(const Loaded& event);
  void handle(const NotReopened& event);
  void handle(const PrefillProgress& event);
  void handle(const Prefilled& event);
  void handle(const Token& event);
  void handle(const Looked& event);
  void handle(const ContextChanged& event);
  void handle(const Finished& event);
  void handle(const Failed& event);
  void tell_model(const Loaded& event);
  void adopt_wishes(const ModelSettings& of_file);

  Worker& worker_;
  SettingsInUse settings_;
  ModelState model_;
  Reporter reporter_;
  Conversation conversation_;
  Answer answer_;
  Tasks tasks_;
  ModelSwitch models_;
  ReadFiles read_files_;
  Queue queue_;
  bool asked_to_leave_ = false;  // the last line was a bare "quit"
  ChatParts parts_;
};

LiveChat::LiveChat(Store& store, Worker& worker, ChatSettings settings, FrontEnd& front_end,
                   const ModelSource& models)
    : worker_(worker),
      settings_{settings, settings, settings.system, settings.think, settings.persona, {}},
      reporter_(front_end,
                [this](Status& status) {
                  conversation_.describe(status);
                  answer_.describe(status);
                  models_.describe(status);
                  status.keeps_history = !status.is_private && !queue_.goes_private();
                  status.full = settings_.now.full_status;
                }),
      conversation_(store, settings_, model_, reporter_),
      answer_(conversation_, settings_, model_, worker, reporter_),
      tasks_(worker, model_, reporter_),
      models_(models, settings_, model_, worker, reporter_),
      read_files_(reporter_),
      queue_(read_files_, reporter_),
      parts_{conversation_, conversation_.storage(),
             answer_,       tasks_,
             read_files_,   queue_,
             settings_,     model_,
             worker,        reporter_,
             models_} {
  tasks_.also_wake(models_.wake_fd());
  parts_.submit = [this](std::string_view line) { submit(line); };
  wear(settings_.new_persona, settings_.now, settings_.defaults, SettingSource::command_line);
}

void LiveChat::submit(std::string_view text) {
  if (text.find_first_not_of(" \t\r\n") == std::string_view::npos) return;
  try {
    if (!busy()) conversation_.storage().look_after_database();
    if (conversation_.storage().take_renumbered()) refuse_old_number(text);
    if (leave_deleted_conversation(text)) return;
    if (asks_to_leave(text)) return;
    if (bitnet::is_command(text)) {
      run_or_queue(text);
    } else {
      add_user_turn(parts_, turn_of(text));
    }
    if (tasks_.is_quiet() && waits()) tasks_.interrupt();
  } catch (const Error& error) {
    reporter_.error(error.what());
  }
}

// What was typed names a conversation by a number that it had before another file took the database's place.
void LiveChat::refuse_old_number(std::string_view typed) {
  if (!names_conversation(typed)) return;
  reporter_.front_end().return_input(typed);
  throw Error(ErrorKind::runtime,
              "Not done, because conversations have other numbers now: /list shows them, and your text is in "
              "the input line.");
}

// Whoever types a bare "quit" hardly means it for the model; true: it was asked about, and not sent.
bool LiveChat::asks_to_leave(std::string_view typed) {
  const bool is_bare = typed == "quit" || typed == "exit";
  const bool again = std::exchange(asked_to_leave_, is_bare);
  if (!is_bare || !settings_.now.asks) return false;
  const std::string word(typed);
  Choices choices;
  choices.title = "End the program?";
  choices.enter = "chooses";
  choices.find = [word](std::string_view) {
    return std::vector<Choice>{{1, "Yes, leave", "/quit does so at once"},
                               {2, fmt::format("No, send \"{}\" to the model", word), ""}};
  };
  choices.chosen = [this, word](int64_t choice) {
    asked_to_leave_ = false;
    if (choice == 1) return submit("/quit");
    add_user_turn(parts_, word);
  };
  if (reporter_.front_end().choose(std::move(choices))) return true;
  if (again) {
    submit("/quit");
  } else {
    reporter_.front_end().notice(
        fmt::format("Not sent: {0} again ends the program, and so does /quit at once.", word));
  }
  return true;
}

Meanwhile meanwhile_of(const Command& command, std::string_view typed) {
  return arguments_of(typed).empty() ? command.bare.value_or(command.meanwhile) : command.meanwhile;
}

bool LiveChat::may_run(Meanwhile meanwhile) const {
  if (meanwhile == Meanwhile::runs || !parts_.busy()) return true;
  if (meanwhile == Meanwhile::waits || tasks_.busy() || answer_.waits()) return false;
  return !answer_.is_shown() || (meanwhile == Meanwhile::leaves && conversation_.storage().in_database());
}

void LiveChat::run_or_queue(std::string_view typed) {
  const Command* command = nullptr;
  try {
    command = &checked_command(typed);
  } catch (const Error&) {
    reporter_.front_end().return_input(typed);  // a slip: the person mends it
    throw;
  }
  const Meanwhile meanwhile = meanwhile_of(*command, typed);
  if (meanwhile == Meanwhile::runs || (may_run(meanwhile) && queue_.empty()))
    return command->run(parts_, arguments_of(typed));
  if (meanwhile == Meanwhile::stops && answer_.is_shown() && queue_.empty()) answer_.interrupt();
  queue_.add(typed, false);
}

// Runs what waits, as far as it may. What waits behind an answer or a command that failed goes back to the
// input: it was meant for what would have come of that.
void LiveChat::advance_queue() {
  Storage& storage = conversation_.storage();
  const bool renumbered = storage.take_renumbered();  // so a number in what waits may mean another one
  const bool failed = tasks_.take_trouble();
  if (answer_.take_trouble() || failed || storage.purged() != 0 || renumbered) queue_.take_back_all();
  while (!queue_.empty()) {
    const std::string typed = queue_.front().typed;
    const bool is_turn = !bitnet::is_command(typed);
    if (is_turn ? !can_begin_turn(parts_) : !may_run(meanwhile_of(checked_command(typed), typed))) return;
    try {
      if (is_turn) conversation_.catch_up();
    } catch (const Error& error) {
      reporter_.error(error.what());
      return queue_.take_back_all();
    }
    const Queue::Waiting next = queue_.pop();
    parts_.from_queue = true;
    bool refused = false;
    try {
      if (is_turn) {
        begin_turn(parts_, turn_of(typed), next.files);
      } else {
        checked_command(typed).run(parts_, arguments_of(typed));
      }
    } catch (const Error& error) {
      refused = true;
      reporter_.error(error.what());
    }
    parts_.from_queue = false;
    if (answer_.take_trouble() || refused) queue_.take_back_all();
  }
}

// Another program may have deleted what is shown here; true: it has, and what was typed is given back.
bool LiveChat::leave_deleted_conversation(std::string_view typed) {
  Storage& storage = conversation_.storage();
  const bool purged = storage.purged() != 0;
  const int64_t number = purged ? storage.purged() : storage.number_in_file();
  if (number == 0 || busy() || (storage.unsaved_because() != nullptr && !purged)) return false;
  Store& database = storage.database();
  try {
    if (!purged && database.has_conversation(number)) return false;
  } catch (const Error&) {
    return false;  // whoever needs the database says what is wrong with it
  }
  std::string way_back;
  if (!purged && database.conversation(number)) {
    way_back = fmt::format(" /undelete {} brings it back.", number);
  } else {
    worker_.forget_timelines();
  }
  if (purged) storage.leave_private();
  new_conversation();
  if (split(typed).first == "/quit") return false;
  reporter_.error(fmt::format(
      "Conversation {} was deleted by another program.{} What you send now begins a new one; your text is in "
      "the input line.",
      number, way_back));
  reporter_.front_end().return_input(typed);
  return true;
}

std::vector<std::string> LiveChat::complete(std::string_view line) {
  return complete_command(conversation_.storage().database(), models_.options().model_folders, line);
}

void LiveChat::typing(std::string_view text) {
  if (read_files_.named().empty() && text.find('@') == std::string_view::npos) return;
  name_files(parts_, bitnet::is_command(text) ? std::string_view() : text, false);
}

std::vector<MenuEntry> LiveChat::menu(std::string_view line) {
  if (!line.starts_with('/')) return file_menu(line);
  return line.starts_with("/model ") ? model_menu(models_.options().model_folders, line) : command_menu(line);
}

std::string LiveChat::close() {
  answer_.leave();
  tasks_.drop();
  Storage& storage = conversation_.storage();
  try {
    // Another program may have purged what was open here: then its timeline is not kept either.
    const int64_t number = storage.number_in_file();
    if (storage.purged() != 0 ||
        (number != 0 && storage.unsaved_because() == nullptr && !storage.database().conversation(number))) {
      worker_.forget_timelines();
    }
    storage.look_after_database();
    return storage.unsaved_text();
  } catch (const Error&) {
    return {};  // nobody is there to be told more
  }
}

void LiveChat::handle_events() {
  tasks_.advance_replay();
  models_.take_pull();
  const std::vector<WorkerEvent> events = worker_.take();
  for (const WorkerEvent& event : events) std::visit([this](const auto& known) { handle(known); }, event);
  if (!events.empty()) reporter_.send_status();
  models_.advance(parts_.busy());
  advance_queue();
  if (tasks_.is_quiet() && waits()) tasks_.interrupt();
}

void LiveChat::handle(const LoadProgress& event) { reporter_.set_state(ChatState::loading, event.done); }

void LiveChat::handle(const Loaded& event) {
  model_.set_loaded(event);
  reporter_.set_state(ChatState::idle, 1);
  tell_model(event);
  read_files_.count(event.text->tokenizer);
  adopt_wishes(event.text->wishes);
  if (const uint32_t most = event.model.n_ctx_train; settings_.now.ctx > most) {
    reporter_.front_end().notice(
        fmt::format("ctx is {}; the context holds {}, what this model was trained for.", settings_.now.ctx,
                    counted(most, "token")));
  }
  parts_.looked = {};
  if (models_.loaded(event))
    reporter_.front_end().notice(fmt::format("{} answers from here on.", models_.name_of(event.text->path)));
  // What was set while it loaded, or before it was opened again as it was at first.
  const uint32_t ctx = settings_.now.ctx;
  if (ctx != settings_.defaults.ctx || ctx != models_.opened_with()) fit_context(parts_);
  if (std::exchange(parts_.offers_model, false)) offer_model_of_conversation(parts_);
  if (!tasks_.runs()) answer_.begin_waiting();
}

void LiveChat::tell_model(const Loaded& event) {
  Status& status = reporter_.status();
  status.model = event.model.name.empty() ? event.model.architecture : event.model.name;
  status.device = event.device.name;
  status.context_limit = event.n_ctx;
  // Without experts: it is not known before an answer which of them have a place on the device.
  constexpr ExpertReads kAllThere{.uses = 1, .hits = 1};
  status.streamed = read_in_host(event.placement, kAllThere) + event.placement.read_in_file;
  FrontEnd& front = reporter_.front_end();
  if (settings_.now.verbose) {
    front.notice(fmt::format("{} on {} ({}), context {}", event.text->path, event.device.name,
                             event.device.driver, event.n_ctx));
    front.notice(fmt::format("chat template: {}", describe_template(*event.text)));
  }
  for (const std::string& warning : {warning_about(event.model), warning_about(event.text->tokenizer)}) {
    if (!warning.empty()) front.warning(warning);
  }
  if (!event.warning.empty()) front.warning(event.warning);
  if (!event.notice.empty()) front.notice(event.notice);
  if (event.placement.in_file != 0)
    front.notice(
        fmt::format("{} of the model stay in its file, and a token reads {} of them there: this is slow. {} "
                    "lie in memory; 'bitnet-chat plan' says more.",
                    size_text(event.placement.in_file), size_text(event.placement.read_in_file),
                    size_text(event.placement.on_device + event.placement.in_host)));
  else if (event.placement.in_host != 0)
    front.notice(
        fmt::format("{} of the model lie on the device and {} in host memory, of which a token reads {}; "
                    "'bitnet-chat plan' says more.",
                    size_text(event.placement.on_device), size_text(event.placement.in_host),
                    size_text(event.placement.read_in_host)));
  if (event.text->template_origin == TemplateOrigin::none) {
    front.warning(
        "This is a base model: its file has no chat template. It goes on with your text and answers no "
        "questions.");
  }
  if (const std::string warning = think_warning(settings_.now, *event.text); !warning.empty())
    front.warning(warning);
}

void LiveChat::adopt_wishes(const ModelSettings& of_file) {
  const ModelSettings wishes = usable_wishes(of_file);
  adopt(wishes, settings_.defaults);
  adopt(wishes, settings_.now);
  for (const std::string& wish : wishes.unusable) {
    reporter_.front_end().notice(
        fmt::format("The model's file has a setting that is passed over: {}.", wish));
  }
}

void LiveChat::handle(const NotReopened& event) {
  const std::string why = models_.not_opened();
  if (!why.empty() && answer_.waits()) answer_.stop_waiting();  // it was meant for the other model
  queue_.take_back_all();                                       // and so was this
  if (why.empty()) return reporter_.front_end().error(event.message + ". The model goes on where it was.");
  reporter_.error(fmt::format("{}: {}", why, event.message));
}

void LiveChat::handle(const PrefillProgress& event) {
  if (!works_on(event.job)) return;
  reporter_.set_state(ChatState::prefill, event.total == 0 ? 1 : double{1} * event.done / event.total);
}

void LiveChat::handle(const Prefilled& event) {
  if (!works_on(event.job)) return;
  reporter_.set_state(ChatState::answering, 1);
  reporter_.status().reused = event.result.reused;
}

void LiveChat::handle(const Token& event) {
  tasks_.take(event);
  answer_.take(event);
}

void LiveChat::handle(const Looked& event) { tasks_.take(event); }

void LiveChat::handle(const ContextChanged& event) {
  model_.set_context(event.n_ctx);
  reporter_.status().context_limit = event.n_ctx;
}

void LiveChat::handle(const Finished& event) {
  tasks_.finish(event);
  const bool answered = answer_.is_shown(event.job);
  answer_.finish(event);
  if (answered && !busy()) wish_title(parts_);
}

void LiveChat::handle(const Failed& event) {
  models_.not_opened();
  model_.set_failed(Error(event.kind, event.message));
  reporter_.status().state = ChatState::failed;
  reporter_.front_end().error(event.message + (event.kind == ErrorKind::device ? kReopenChoice : ""));
  interrupt();  // a turn that waits goes back to the input
}

}  // namespace

std::unique_ptr<Chat> make_chat(Store& store, Worker& worker, ChatSettings settings, FrontEnd& front_end) {
  return make_chat(store, worker, std::move(settings), front_end, ModelSource());
}

std::unique_ptr<Chat> make_chat(Store& store, Worker& worker, ChatSettings settings, FrontEnd& front_end,
                                const ModelSource& models) {
  return std::make_unique<LiveChat>(store, worker, std::move(settings), front_end, models);
}

}  // namespace bitnet
