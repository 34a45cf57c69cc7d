// A turn's way: stored, rendered, encoded, handed to the worker; then token by token to the screen and the
// store.
#include <fmt/format.h>

#include <algorithm>
#include <random>
#include <utility>

#include "app/base/clock.h"
#include "app/base/counted.h"
#include "app/store/exchange.h"
#include "chat_core.h"
#include "commands.h"

namespace bitnet {
namespace {

using Clock = std::chrono::steady_clock;
constexpr auto kFlushEvery = std::chrono::milliseconds(250);
constexpr size_t kFlushTokens = 32;

// 53 bits, so that the seed survives every JSON reader.
uint64_t new_seed() {
  std::random_device device;
  return ((uint64_t{device()} << 32) | device()) >> 11;
}

// How many bytes at the end of `text` could become one of the stop texts.
size_t open_stop(std::string_view text, const std::vector<std::string>& stops) {
  size_t longest = 0;
  for (const std::string& stop : stops) {
    for (size_t n = std::min(text.size(), stop.size() - 1); n > longest; --n) {
      if (text.ends_with(std::string_view(stop).substr(0, n))) longest = n;
    }
  }
  return longest;
}

size_t first_stop(std::string_view text, const std::vector<std::string>& stops) {
  size_t first = std::string_view::npos;
  for (const std::string& stop : stops) first = std::min(first, text.find(stop));
  return first;
}

}  // namespace

std::vector<PromptMessage> ChatCore::prompt_messages(size_t count) const {
  std::vector<PromptMessage> messages;
  for (size_t i = 0; i < count; ++i) {
    messages.push_back({branch_[i].stored.role, branch_[i].stored.text, branch_[i].tokens});
  }
  return messages;
}

std::vector<int32_t> ChatCore::prompt_for(size_t count) const {
  return build_prompt(*model_->text, settings_.system, prompt_messages(count), created_ / 1000);
}

// What the context held after the last answer, if that was made with this model and prompt: a long
// conversation is shown without being rendered and encoded.
std::optional<uint32_t> ChatCore::used_then() {
  const StoredMessage& last = branch_.back().stored;
  if (last.role != Role::assistant) return std::nullopt;
  const std::vector<StoredTurn> turns = store().turns(last.id);
  if (turns.empty()) return std::nullopt;
  const StoredTurn& turn = turns.back();
  // Tokenizer and template are told apart by the old fingerprint just as well.
  const ModelInfo& model = model_->model;
  const bool same_model = turn.model_hash == model.fingerprint || turn.model_hash == model.old_fingerprint;
  if (!same_model || turn.system != settings_.system ||
      turn.template_hash != hash_text(model_->text->chat_template.source())) {
    return std::nullopt;
  }
  return turn.prompt_tokens + turn.answer_tokens;
}

void ChatCore::update_context() {
  status_.context_used = 0;
  if (!model_ || branch_.empty()) return;
  if (const auto used = used_then()) {
    status_.context_used = *used;
    return;
  }
  try {
    status_.context_used = static_cast<uint32_t>(prompt_for(branch_.size()).size());
  } catch (const Error&) {
    // A template may refuse an unfinished conversation; the next turn will say so.
  }
}

void ChatCore::add_user_turn(std::string_view typed) {
  const char* why = failure_ ? "the model cannot be used; /reopen opens it again"
                    : busy() ? "an answer is still being made"
                             : nullptr;
  if (why != nullptr) {
    front_.notice(fmt::format("Not sent: {}.", why));
    front_.return_input(typed_form(typed));
    return;
  }
  quit_warned_ = false;
  const std::string text = with_read_files(typed);
  if (conversation_ == 0) {
    keep([&] {
      conversation_ = store().add_conversation(settings_.system);
      status_.title = title_from(typed);
      store().set_title(conversation_, status_.title);
    });
    created_ = now_milliseconds();
    keep([&] {
      if (const auto row = store().conversation(conversation_)) created_ = row->created;
    });
  }
  StoredMessage message;
  message.text = text;
  keep([&] {
    message.parent = leaf();
    message.id = store().add_message(conversation_, message.parent, Role::user, text);
  });
  push_message(message);
  if (model_) {
    start_answer();
  } else {
    turn_waits_ = true;
    front_.notice("The model is still loading; this turn starts when it is there.");
  }
  send_status();
}

void ChatCore::take_back_turn() {
  const StoredMessage turn = branch_.back().stored;
  step_back_to(turn.parent);
  if (store().children(conversation_, turn.id).empty()) {
    keep([&] { store().remove_message(turn.id); });
    if (store().outline(conversation_).empty()) {
      keep([&] { store().remove_conversation(conversation_); });
      conversation_ = 0;
      status_.title.clear();
      send_status();
    }
  }
  front_.return_input(typed_form(turn.text));
}

void ChatCore::start_answer() {
  const bool continues = branch_.back().stored.role == Role::assistant;
  const BranchMessage last = branch_.back();
  std::vector<int32_t> prompt;
  std::string refusal;
  try {
    prompt = prompt_for(continues ? branch_.size() - 1 : branch_.size());
    if (continues) {
      const std::vector<int32_t> said =
          last.tokens.empty() ? model_->text->tokenizer.encode(last.stored.text, false) : last.tokens;
      prompt.insert(prompt.end(), said.begin(), said.end());
    }
    if (prompt.size() >= model_->n_ctx) {
      refusal = fmt::format(
          "Not sent: the conversation would take {} of {} tokens and leave no room for an answer. Nothing "
          "was dropped: shorten the turn, make room with /compact, step back with /undo, or begin anew with "
          "/new.",
          prompt.size(), model_->n_ctx);
    } else if (prompt.empty()) {
      refusal = "Not sent: the chat template gives an empty prompt.";
    }
  } catch (const Error& error) {
    refusal = fmt::format("Not sent: {}", error.what());
  }
  if (!refusal.empty()) {
    // First the branch, whose redraw takes earlier news off the screen.
    if (!continues) take_back_turn();
    tell_error(refusal);
    return;
  }
  undone_.clear();

  StoredTurn turn;
  turn.seed = settings_.seed.value_or(new_seed());
  // With a fixed seed another answer to the same message would be the same answer.
  if (settings_.seed && !continues)
    keep([&] {
      turn.seed = *settings_.seed + store().children(conversation_, branch_.back().stored.id).size();
    });
  turn.sampler = to_json(settings_, turn.seed);
  turn.system = settings_.system;
  turn.build = BITNET_VERSION;
  turn.device = model_->device.name;
  turn.driver = model_->device.driver;
  turn.model = model_->text->path;
  turn.model_hash = model_->model.fingerprint;
  turn.template_hash = hash_text(model_->text->chat_template.source());
  turn.prompt_hash = hash_tokens(prompt);
  turn.prompt_tokens = static_cast<uint32_t>(prompt.size());
  if (continues) turn.message = last.stored.id;
  const StoredTurn wanted = turn;
  keep([&] {
    turn = wanted;
    if (continues) turn.message = branch_.back().stored.id;
    turn = store().begin_turn(conversation_, continues ? branch_.back().stored.parent : leaf(), turn);
  });
  StreamDecoder decoder(model_->text->tokenizer);
  // What is continued may have ended in the middle of a character.
  if (continues) {
    for (const int32_t token : last.tokens) decoder.push(token);
  }
  running_.emplace(RunningTurn{0, turn, std::move(decoder), "", "", {}, Clock::now(), 0, 0, ""});
  if (continues) {
    branch_.back().stored.finish.clear();
    branch_.back().stored.draft = true;
    show_branch();
  } else {
    StoredMessage answer;
    answer.id = turn.message;
    answer.parent = leaf();
    answer.role = Role::assistant;
    answer.draft = true;
    push_message(answer);
  }

  Job job;
  job.tokens = std::move(prompt);
  job.sampler = sampler_for_turn(settings_, turn.seed);
  job.decode.max_tokens = settings_.max_tokens;
  const auto ends = model_->text->tokenizer.end_of_turn();
  job.decode.stop_tokens.assign(ends.begin(), ends.end());
  job.keep = !store().is_private();
  job.restore = job.keep && (branch_.size() > 2 || continues);  // a first turn is nowhere on disk
  last_seed_ = turn.seed;
  if (settings_.verbose)
    front_.notice(fmt::format("prompt of {}, seed {}", counted(turn.prompt_tokens, "token"), turn.seed));
  status_.state = ChatState::prefill;
  status_.progress = 0;
  status_.tokens_per_second = 0;
  status_.reused = 0;
  status_.rewound = std::exchange(rewinds_, false);
  status_.prompt_tokens = turn.prompt_tokens;
  status_.context_used = turn.prompt_tokens;
  running_->job = worker_.submit(std::move(job));
  send_status();
}

void ChatCore::show_text(std::string_view text, const SampledToken& token) {
  branch_.back().stored.text += text;
  running_->batch_text += text;
  front_.answer_text(text, token.id, token.logprob);
}

void ChatCore::take_token(const Token& event) {
  // Tokens that were on their way when the answer was stopped are not part of it.
  if (!running_ || running_->job != event.job || !running_->reason.empty()) return;
  RunningTurn& turn = *running_;
  ++turn.tokens;
  branch_.back().tokens.push_back(event.token.id);
  turn.batch.push_back({event.token.id, event.token.logprob, static_cast<float>(event.seconds)});
  turn.held += turn.decoder.push(event.token.id);
  const size_t stop = first_stop(turn.held, settings_.stop);
  if (stop != std::string::npos) {
    turn.held.resize(stop);
    turn.reason = name_of(Finish::stop);
    worker_.interrupt();
  }
  const size_t keep_back = turn.reason.empty() ? open_stop(turn.held, settings_.stop) : 0;
  const std::string text = turn.held.substr(0, turn.held.size() - keep_back);
  turn.held.erase(0, text.size());
  show_text(text, event.token);
  flush_batch(false);

  status_.state = ChatState::answering;
  status_.context_used = status_.prompt_tokens + turn.tokens;
  // The first token comes of the prompt and costs hardly anything.
  if (turn.tokens == 1) turn.first_token = event.seconds;
  if (const double seconds = event.seconds - turn.first_token; seconds > 0) {
    status_.tokens_per_second = (turn.tokens - 1) / seconds;
  }
  if (interrupt_after_ != 0 && turn.tokens >= interrupt_after_) interrupt();
}

void ChatCore::flush_batch(bool now) {
  RunningTurn& turn = *running_;
  if (turn.batch.empty() && turn.batch_text.empty()) return;
  if (!now && turn.batch.size() < kFlushTokens && Clock::now() - turn.last_flush < kFlushEvery) return;
  const bool was_unsaved = unsaved_.has_value();
  keep([&] {
    // After a lost database the text of the whole answer was copied already.
    const bool copied = !was_unsaved && unsaved_.has_value();
    store().append(turn.stored, copied ? std::string_view() : std::string_view(turn.batch_text), turn.batch);
  });
  turn.batch.clear();
  turn.batch_text.clear();
  turn.last_flush = Clock::now();
}

void ChatCore::finish_answer(const Finished& finished) {
  if (!running_ || running_->job != finished.job) return;
  RunningTurn& turn = *running_;
  if (turn.reason.empty()) {
    const std::string rest = turn.held + turn.decoder.finish();
    if (!rest.empty()) show_text(rest, {-1, 0});
    turn.reason = finished.reason;
  } else if (!turn.held.empty()) {
    show_text(turn.held, {-1, 0});
  }
  flush_batch(true);
  turn.stored.finish = turn.reason;
  turn.stored.reused_tokens = finished.stats.reused_tokens;
  turn.stored.answer_tokens = turn.tokens;
  turn.stored.prefill_seconds = finished.stats.prefill_seconds;
  turn.stored.decode_seconds = finished.stats.decode_seconds;
  keep([&] { store().finish_turn(turn.stored); });

  StoredMessage& answer = branch_.back().stored;
  answer.finish = turn.reason;
  answer.draft = false;
  last_stats_ = finished.stats;
  last_stats_.answer_tokens = turn.tokens;
  const std::string reason = turn.reason;
  running_.reset();
  interrupt_after_ = 0;
  status_.state = ChatState::idle;
  status_.progress = 1;
  status_.reused = last_stats_.reused_tokens;
  status_.context_used = status_.prompt_tokens + last_stats_.answer_tokens;
  if (last_stats_.decode_seconds > 0 && last_stats_.answer_tokens > 0) {
    status_.tokens_per_second = last_stats_.answer_tokens / last_stats_.decode_seconds;
  }
  front_.answer_end(shown(branch_.back()),
                    {last_stats_.prompt_tokens, last_stats_.reused_tokens, last_stats_.answer_tokens,
                     last_stats_.prefill_seconds, last_stats_.decode_seconds});
  if (settings_.verbose) {
    front_.notice(fmt::format("reused {} of {} tokens, prefill {:.2f} s; {} in {:.2f} s; {}",
                              last_stats_.reused_tokens, last_stats_.prompt_tokens,
                              last_stats_.prefill_seconds, counted(last_stats_.answer_tokens, "token"),
                              last_stats_.decode_seconds, reason));
  }
  if (reason == "context") {
    front_.notice(fmt::format(
        "The context is full: {} of {} tokens. Nothing was dropped: make room with /compact, step back with "
        "/undo, or begin anew with /new.",
        status_.context_used, status_.context_limit));
  } else if (reason == "numeric") {
    tell_error(
        "The model's output is not a number (NaN or Inf), so the answer ends here. Try /regen; if it stays, "
        "the file or the device's driver is at fault.");
  } else if (reason == "device_lost") {
    tell_error(fmt::format("{} ({}): {}. The answer so far is kept; the device is being opened again.",
                           model_->device.name, model_->device.driver, finished.message));
    model_.reset();
    status_.state = ChatState::loading;
    status_.progress = 0;
  } else if (reason == "failed") {
    tell_error(finished.message);
  }
  save_again();
}

}  // namespace bitnet
