#include "answer.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "app/base/counted.h"
#include "app/model/driver_check.h"
#include "app/text/stop_text.h"
#include "command_line.h"
#include "read_files.h"

namespace bitnet {
namespace {

using Clock = std::chrono::steady_clock;
constexpr auto kFlushEvery = std::chrono::milliseconds(250);
constexpr size_t kFlushTokens = 32;

}  // namespace

Answer::Answer(Conversation& conversation, const SettingsInUse& settings, ModelState& model, Worker& worker,
               Reporter& reporter)
    : conversation_(conversation), settings_(settings), model_(model), worker_(worker), reporter_(reporter) {}

void Answer::describe(Status& status) const {
  status.elsewhere = elsewhere();
  status.waits = waits_ && aside_;
}

bool Answer::begin_or_wait(Unanswered unanswered) {
  unanswered_ = unanswered;
  waits_ = !model_ || running_;
  if (!waits_) begin();
  return !waits_;
}

void Answer::begin_waiting() {
  if (std::exchange(waits_, false)) {
    begin();
  } else {
    conversation_.update_context();
  }
}

void Answer::stop_waiting() {
  waits_ = false;
  if (conversation_.branch().back().stored.role == Role::user) leave_unanswered();
}

void Answer::leave_unanswered() {
  if (unanswered_.taken_back) {
    const std::string text = conversation_.take_back();
    reporter_.front_end().return_input(typed_form(settings_.now.asks ? without_named_files(text) : text));
  }
  if (unanswered_.redone) conversation_.redo();
}

// The tokens of the last answer, which goes on after this prompt.
std::vector<int32_t> Answer::said_so_far(const std::vector<int32_t>& prompt) const {
  const BranchMessage& last = conversation_.branch().back();
  return tokens_behind(model_->text->tokenizer, prompt, {Role::assistant, last.stored.text, last.tokens});
}

std::vector<int32_t> Answer::prompt(bool continues) const {
  const std::vector<BranchMessage>& branch = conversation_.branch();
  std::vector<int32_t> tokens = conversation_.prompt_of(continues ? branch.size() - 1 : branch.size());
  if (continues) {
    const std::vector<int32_t> said = said_so_far(tokens);
    tokens.insert(tokens.end(), said.begin(), said.end());
  }
  return tokens;
}

// Makes the prompt; returns why it cannot be answered, or an empty text.
std::string Answer::refusal(bool continues, std::vector<int32_t>& prompt) const {
  std::string why;
  try {
    prompt = this->prompt(continues);
    if (prompt.size() >= model_->n_ctx) why = refusal_of(prompt.size(), continues);
    if (prompt.empty()) why = "the chat template gives an empty prompt.";
  } catch (const Error& error) {
    why = error.what();
  }
  if (why.empty()) return why;
  const char* what = continues ? "continued" : unanswered_.taken_back ? "sent" : "answered";
  return fmt::format("Not {}: {}", what, why);
}

// Why a prompt of so many tokens is none.
std::string Answer::refusal_of(size_t tokens, bool continues) const {
  const bool may_grow = model_->n_ctx < model_->model.n_ctx_train;
  if (conversation_.branch().size() == 1)
    return fmt::format(
        "the turn would take {} of {} tokens and leave no room for an answer. Shorten it, or ask {}.", tokens,
        model_->n_ctx,
        may_grow ? "for a larger context (--ctx N, /set ctx N)"
                 : "another model: this one was trained for no more tokens");
  const bool is_typed = !continues && unanswered_.taken_back;
  return fmt::format(
      "the conversation would take {} of {} tokens and leave no room for an answer. Nothing was dropped: "
      "{}{}.",
      tokens, model_->n_ctx, is_typed ? "shorten the turn, " : "", ways_on());
}

// /compact keeps the last turn, and so wants another one before it. A turn that goes back to the input line,
// and takes no other one's place, is none.
bool Answer::may_compact() const {
  const std::vector<BranchMessage>& branch = conversation_.branch();
  size_t turns = 0;
  for (const BranchMessage& message : branch) turns += message.stored.role == Role::user ? 1 : 0;
  const bool goes = branch.back().stored.role == Role::user && unanswered_.taken_back && !unanswered_.redone;
  return turns > (goes ? 2 : 1);
}

// What a person can do where the context is full.
std::string Answer::ways_on() const {
  std::string text;
  if (may_compact()) text += "make room with /compact, ";
  if (const uint32_t most = model_->model.n_ctx_train; model_->n_ctx < most)
    text += fmt::format("take a larger context with /set ctx N (up to {}), ", most);
  return text + "step back with /undo, or begin anew with /new";
}

// With a fixed seed another answer to the same message would be the same answer.
uint64_t Answer::next_seed(bool continues) {
  const std::optional<uint64_t> fixed = settings_.now.seed;
  if (!fixed) return random_seed();
  uint64_t seed = *fixed;
  if (!continues) {
    Storage& storage = conversation_.storage();
    storage.keep([&] {
      const int64_t last = conversation_.branch().back().stored.id;
      seed = *fixed + storage.store().children(storage.number(), last).size();
    });
  }
  return seed;
}

StoredTurn Answer::describe(const std::vector<int32_t>& prompt, uint64_t seed) const {
  StoredTurn turn;
  turn.seed = seed;
  turn.sampler = to_json(settings_.now, seed, model_->n_ctx);
  turn.system = settings_.now.system;
  turn.build = BITNET_VERSION;
  turn.device = model_->device.name;
  turn.driver = model_->device.driver;
  turn.model = model_->text->path;
  turn.model_hash = model_->model.fingerprint;
  turn.template_hash = hash_text(model_->text->chat_template.source());
  turn.prompt_hash = hash_tokens(prompt);
  turn.prompt_tokens = static_cast<uint32_t>(prompt.size());
  return turn;
}

void Answer::begin() {
  const bool continues = conversation_.branch().back().stored.role == Role::assistant;
  std::vector<int32_t> prompt;
  if (const std::string why = refusal(continues, prompt); !why.empty()) {
    // First the branch, whose redraw takes earlier news off the screen.
    if (!continues) leave_unanswered();
    trouble_ = true;
    return reporter_.error(why);
  }
  if (continues && conversation_.is_followed()) conversation_.copy_answer();
  seed_ = next_seed(continues);
  begin_stored(describe(prompt, seed_), prompt, continues);
  running_->seed = seed_;
  running_->prompt_tokens = static_cast<uint32_t>(prompt.size());

  Status& status = reporter_.status();
  const auto prompt_tokens = static_cast<uint32_t>(prompt.size());
  if (settings_.now.verbose) {
    reporter_.front_end().notice(
        fmt::format("prompt of {}, seed {}", counted(prompt_tokens, "token"), seed_));
  }
  reporter_.set_state(ChatState::prefill, 0);
  status.tokens_per_second = 0;
  status.thinks = false;
  status.thought_tokens = 0;
  status.reused = status.drafted = status.right = 0;
  status.prompt_tokens = prompt_tokens;
  status.context_used = prompt_tokens;
  submit(std::move(prompt), continues);
  reporter_.send_status();
}

void Answer::begin_stored(const StoredTurn& turn, const std::vector<int32_t>& prompt, bool continues) {
  const Tokenizer& tokenizer = model_->text->tokenizer;
  StreamDecoder decoder(tokenizer, prompt.back());
  if (continues) {  // it may have ended in the middle of a character
    const BranchMessage& last = conversation_.branch().back();
    if (has_own_tokens(tokenizer, {Role::assistant, last.stored.text, last.tokens}))
      for (const int32_t token : last.tokens) decoder.push(token);
  }
  running_.emplace(
      Running{0, std::move(decoder), "", "", {}, Clock::now(), 0, 0, "", 0, 0, settings_.now.stop});
  try {
    conversation_.begin_answer(turn, continues);
  } catch (const Error&) {
    running_.reset();
    throw;
  }
  if (model_->text->template_origin == TemplateOrigin::none || continues) return;
  if (const std::string opened = opened_thought(tokenizer, prompt); !opened.empty()) show(opened, {-1, 0});
}

void Answer::submit(std::vector<int32_t> prompt, bool continues) {
  DecodeJob job;
  job.tokens = std::move(prompt);
  job.sampler = sampler_for_turn(settings_.now, seed_);
  job.decode.max_tokens = settings_.now.max_tokens;
  const auto ends = model_->text->tokenizer.end_of_turn();
  job.decode.stop_tokens.assign(ends.begin(), ends.end());
  job.draft = settings_.now.draft;
  if (job.draft) job.others = conversation_.other_answers();
  if (continues) job.others.ends_with_sibling = false;
  job.keep = !conversation_.storage().store().is_private();
  // A first turn is nowhere on disk.
  job.restore = job.keep && (conversation_.branch().size() > 2 || continues);
  running_->job = worker_.submit(std::move(job));
}

void Answer::show(std::string_view text, const SampledToken& token) {
  running_->batch_text += text;
  place().grow_answer(text, token);
}

void Answer::take(const Token& event) {
  // Tokens that were on their way when the answer was stopped are not part of it.
  if (!is(event.job) || !running_->reason.empty()) return;
  Running& running = *running_;
  ++running.tokens;
  running.batch.push_back({event.token.id, event.token.logprob, static_cast<float>(event.seconds)});
  running.held += running.decoder.push(event.token.id);
  const size_t stop = first_stop(running.held, running.stops);
  if (stop != std::string::npos) {
    running.held.resize(stop);
    running.reason = name_of(Finish::stop);
    worker_.interrupt();
  }
  const size_t keep_back = running.reason.empty() ? open_stop(running.held, running.stops) : 0;
  const std::string text = running.held.substr(0, running.held.size() - keep_back);
  running.held.erase(0, text.size());
  show(text, event.token);
  flush(false);
  if (running.tokens == 1) running.first_token = event.seconds;  // it comes of the prompt and costs little
  if (aside_) return;

  Status& status = reporter_.status();
  status.state = ChatState::answering;
  status.context_used = status.prompt_tokens + running.tokens;
  status.thinks = conversation_.thinks();
  status.thought_tokens = conversation_.thought_tokens();
  if (const double seconds = event.seconds - running.first_token; seconds > 0) {
    status.tokens_per_second = (running.tokens - 1) / seconds;
  }
  if (interrupt_after_ != 0 && running.tokens >= interrupt_after_) interrupt();
}

void Answer::flush(bool now) {
  Running& running = *running_;
  if (running.batch.empty() && running.batch_text.empty()) return;
  if (!now && running.batch.size() < kFlushTokens && Clock::now() - running.last_flush < kFlushEvery) return;
  place().store_answer(running.batch_text, running.batch);
  if (aside_ && !aside_->problem().empty()) interrupt();
  running.batch.clear();
  running.batch_text.clear();
  running.last_flush = Clock::now();
}

void Answer::interrupt() {
  if (!running_) return;
  if (running_->reason.empty()) running_->reason = name_of(Finish::interrupted);
  worker_.interrupt();
}

void Answer::interrupt_after(uint32_t tokens) {
  interrupt_after_ = tokens;
  if (is_shown() && running_->tokens >= tokens) interrupt();
}

void Answer::finish(const Finished& finished) {
  if (!is(finished.job)) return;
  show_rest(finished);
  flush(true);
  JobStats stats = finished.stats;
  stats.answer_tokens = running_->tokens;
  const std::string reason = running_->reason;
  place().finish_answer(reason, stats);
  running_.reset();
  tell_differing_pass(stats.differing_pass);
  if (aside_) return finish_aside(reason, finished.message);
  stats_ = stats;
  interrupt_after_ = 0;
  tell_figures();
  tell_reason(reason, finished.message);
  conversation_.storage().save_again();
}

void Answer::finish_aside(const std::string& reason, const std::string& message) {
  const int64_t number = aside_->conversation();
  const std::string problem = aside_->problem();
  aside_.reset();
  if (!problem.empty()) {
    reporter_.front_end().error(fmt::format(
        "The answer to conversation {} was stopped because it could not be stored: {}", number, problem));
  } else if (reason == name_of(Finish::stop) || reason == name_of(Finish::length)) {
    reporter_.front_end().notice(fmt::format("Conversation {0} has its answer; /open {0} shows it.", number));
  } else {
    reporter_.front_end().notice(
        fmt::format("The answer to conversation {0} ended early ({1}); /open {0} shows it.", number, reason));
    if (reason == "device_lost" || reason == "failed") tell_reason(reason, message);
  }
  if (model_ && waits_) begin_waiting();
}

void Answer::put_aside() {
  aside_.emplace(conversation_.put_answer_aside());
  reporter_.set_state(ChatState::idle, 1);
}

void Answer::take_in() {
  if (!aside_ || !conversation_.take_in_answer(*aside_)) return;
  aside_.reset();
  seed_ = running_->seed;
  Status& status = reporter_.status();
  status.prompt_tokens = running_->prompt_tokens;
  status.context_used = running_->prompt_tokens + running_->tokens;
  reporter_.set_state(running_->tokens == 0 ? ChatState::prefill : ChatState::answering, 1);
}

// What was held back is shown, as no stop text came of it.
void Answer::show_rest(const Finished& finished) {
  Running& running = *running_;
  if (running.reason.empty()) {
    std::string rest = running.held;
    // After another end /continue may go on inside a character.
    if (finished.reason == name_of(Finish::stop)) rest += running.decoder.finish();
    if (!rest.empty()) show(rest, {-1, 0});
    running.reason = finished.reason;
  } else if (!running.held.empty()) {
    show(running.held, {-1, 0});
  }
}

void Answer::tell_figures() {
  Status& status = reporter_.status();
  reporter_.set_state(ChatState::idle, 1);
  status.reused = stats_.reused_tokens;
  status.drafted = stats_.drafted_tokens;
  status.right = stats_.right_tokens;
  status.context_used = status.prompt_tokens + stats_.answer_tokens;
  status.thinks = false;
  status.thought_tokens = conversation_.thought_tokens();
  if (stats_.decode_seconds > 0 && stats_.answer_tokens > 0) {
    status.tokens_per_second = stats_.answer_tokens / stats_.decode_seconds;
  }
  const BranchMessage& answer = conversation_.branch().back();
  reporter_.front_end().answer_end(conversation_.shown(answer),
                                   {stats_.prompt_tokens, stats_.reused_tokens, stats_.answer_tokens,
                                    stats_.prefill_seconds, stats_.decode_seconds});
  if (settings_.now.verbose) {
    reporter_.front_end().notice(fmt::format("reused {} of {} tokens, prefill {:.2f} s; {} in {:.2f} s; {}",
                                             stats_.reused_tokens, stats_.prompt_tokens,
                                             stats_.prefill_seconds, counted(stats_.answer_tokens, "token"),
                                             stats_.decode_seconds, answer.stored.finish));
  }
}

void Answer::tell_differing_pass(uint32_t tokens) {
  if (tokens == 0 || !model_) return;
  reporter_.front_end().warning(differing_pass_warning(model_->device, tokens));
}

// An end that the person should know more of than its name.
void Answer::tell_reason(const std::string& reason, const std::string& message) {
  trouble_ = reason == "context" || reason == "numeric" || reason == "device_lost" || reason == "failed";
  if (reason == "context") {
    reporter_.front_end().notice(fmt::format("The context is full: {} of {} tokens. Nothing was dropped: {}.",
                                             reporter_.status().context_used,
                                             reporter_.status().context_limit, ways_on()));
  } else if (reason == "numeric") {
    reporter_.error(
        "The model's output is not a number (NaN or Inf), so the answer ends here. Try /regen; if it stays, "
        "the file or the device's driver is at fault.");
  } else if (reason == "device_lost") {
    reporter_.error(fmt::format("{} ({}): {}. The answer so far is kept; the device is being opened again.",
                                model_->device.name, model_->device.driver, message));
    model_.set_loading();
    reporter_.set_state(ChatState::loading, 0);
  } else if (reason == "failed") {
    reporter_.error(message);
  }
}

void Answer::leave() {
  waits_ = false;
  if (!running_) return;
  try {
    if (!running_->held.empty()) show(running_->held, {-1, 0});  // no stop text comes of it any more
    flush(true);
  } catch (const Error&) {
    // What was stored before is there.
  }
  place().leave_answer(running_->tokens);
  running_.reset();
}

void Answer::forget_figures() {
  Status& status = reporter_.status();
  status.tokens_per_second = 0;
  status.thinks = false;
  status.thought_tokens = 0;
  status.reused = status.drafted = status.right = 0;
  status.prompt_tokens = 0;
  stats_ = {};
  seed_ = 0;
}

}  // namespace bitnet
