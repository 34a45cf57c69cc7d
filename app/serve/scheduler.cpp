#include "scheduler.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "app/base/clock.h"
#include "app/base/signal_stack.h"
#include "app/base/sizes.h"
#include "engine/error.h"

namespace bitnet {
namespace {

constexpr size_t kLeastKept = 32;  // tokens: fewer are read again as fast as they are loaded
constexpr double kTurnsOfSwaps = 10;

std::vector<std::string> notices_about(const LoadedModel& loaded) {
  std::vector<std::string> all = {warning_about(loaded.text->tokenizer), loaded.warning, loaded.notice};
  if (loaded.engine) all.insert(all.begin(), warning_about(loaded.engine->model()));
  std::erase(all, "");
  return all;
}

}  // namespace

Scheduler::Scheduler(OpenModel open, const SchedulerOptions& options, std::function<void()> changed)
    : open_(std::move(open)), options_(options), changed_(std::move(changed)), kept_(options.kept_bytes) {
  thread_ = std::thread([this] { run(); });
}

Scheduler::~Scheduler() {
  close();
  thread_.join();
}

std::optional<Scheduler::Model> Scheduler::model() const {
  const std::lock_guard lock(mutex_);
  return model_;
}

std::optional<Error> Scheduler::failure() const {
  const std::lock_guard lock(mutex_);
  return failure_;
}

bool Scheduler::submit(std::shared_ptr<Answering> answer) {
  {
    const std::lock_guard lock(mutex_);
    const size_t waiting = queue_.size() + (running_ != nullptr ? 1 : 0);
    if (closed_ || failure_ || waiting >= options_.most_waiting) return false;
    Job job;
    job.id = ++last_job_;
    job.answer = std::move(answer);
    job.asked_at = Clock::now();
    queue_.push_back(std::move(job));
  }
  something_.notify_one();
  return true;
}

void Scheduler::stop(Answering& answer) {
  answer.stop();
  const std::lock_guard lock(mutex_);
  if (running_ == &answer && cancellable_ != nullptr) cancellable_->cancel();
}

void Scheduler::close() {
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    if (cancellable_ != nullptr) cancellable_->cancel();
  }
  something_.notify_one();
}

void Scheduler::load() {
  try {
    loaded_ = open_([this](double) { return !closed_.load(); }, "");
    const std::lock_guard lock(mutex_);
    model_ = Model{loaded_.text, loaded_.engine ? loaded_.engine->device().name : "",
                   loaded_.session->n_ctx(), notices_about(loaded_)};
  } catch (const Error& error) {
    const std::lock_guard lock(mutex_);
    failure_ = error;
  } catch (const std::exception& error) {
    const std::lock_guard lock(mutex_);
    failure_ = Error(ErrorKind::runtime, error.what());
  }
  changed_();
}

void Scheduler::run() {
  const SignalStack signal_stack;
  load();
  while (!failure()) {
    Job job;
    {
      std::unique_lock lock(mutex_);
      something_.wait(lock, [this] { return closed_ || !queue_.empty(); });
      if (closed_) break;
      job = std::move(queue_.front());
      queue_.pop_front();
      running_ = job.answer.get();
      cancellable_ = loaded_.session.get();
    }
    serve(std::move(job));
  }
  const auto why = failure();
  end_all(why ? "failed" : "closed", why ? why->what() : "");
}

void Scheduler::end_all(const std::string& reason, const std::string& message) {
  std::deque<Job> left;
  {
    const std::lock_guard lock(mutex_);
    left.swap(queue_);
  }
  for (const Job& job : left) job.answer->finish({reason, message});
}

// Gives a job its turn, and puts it back into the queue or ends it.
void Scheduler::serve(Job job) {
  held_bytes_ -= std::exchange(job.held_bytes, 0);
  AnswerEnd end;
  After after = After::ended;
  bool device_lost = false;
  try {
    after = take_turn(job, end);
  } catch (const Error& error) {
    device_lost = error.kind() == ErrorKind::device;
    end = {"failed", error.what()};
  } catch (const std::exception& error) {
    end = {"failed", error.what()};
  }
  if (after == After::yielded) {
    job.held_bytes = loaded_.session->save_bytes();
    held_bytes_ += job.held_bytes;
    holder_ = job.id;
  } else {
    if (holder_ == job.id) holder_ = 0;
    kept_.release(job.id);
  }
  {
    const std::lock_guard lock(mutex_);
    running_ = nullptr;
    cancellable_ = nullptr;
    if (after == After::yielded) {
      queue_.push_back(std::move(job));
      return;
    }
  }
  job.answer->finish(end);
  if (device_lost) lose_device(end.message);
}

Scheduler::After Scheduler::take_turn(Job& job, AnswerEnd& end) {
  if (must_end(job, end)) return After::ended;
  if (!job.sampler) {
    job.sampler.emplace(job.answer->asked.sampler);
    job.tokens = job.answer->asked.prompt;
  }
  bring_timeline(job);
  holder_ = 0;
  kept_.release(job.id);
  const double seconds =
      std::max(std::chrono::duration<double>(options_.turn).count(), kTurnsOfSwaps * swap_seconds_);
  turn_end_ =
      Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
  if (const auto over = read_prompt(job, end)) return *over;
  return decode(job, end);
}

// Whether there is a reason to end that does not come from the model.
bool Scheduler::must_end(const Job& job, AnswerEnd& end) const {
  if (job.answer->stopped()) {
    end.reason = name_of(Finish::interrupted);
  } else if (closed_) {
    end.reason = "closed";
  } else if (Clock::now() - job.asked_at > options_.longest) {
    end.reason = "timeout";
  } else {
    return false;
  }
  return true;
}

// Whether the turn is over and somebody else has use for it.
bool Scheduler::yields(Job& job) {
  if (Clock::now() < turn_end_) return false;
  {
    const std::lock_guard lock(mutex_);
    if (queue_.empty()) return false;
  }
  const uint64_t bytes = loaded_.session->save_bytes();
  // Without keys and values it would begin anew with each turn.
  if (job.tokens.size() < kLeastKept || held_bytes_ + bytes <= kept_.most_bytes()) return true;
  tell_of_no_turns(bytes);
  return false;
}

// Once, for the person who has started the server.
void Scheduler::tell_of_no_turns(uint64_t bytes) {
  if (std::exchange(told_of_no_turns_, true) || !options_.log) return;
  options_.log(
      fmt::format("an answer goes on to its end although others wait: its keys and values ({}) do not fit "
                  "--cache ({}, of which others hold {}); with more, answers take turns",
                  size_text(bytes), size_text(kept_.most_bytes()), size_text(held_bytes_)));
}

std::optional<Scheduler::After> Scheduler::read_prompt(Job& job, AnswerEnd& end) {
  bool yielded = false;
  SyncOptions options;
  options.on_progress = [&](uint32_t, uint32_t) {
    AnswerEnd ignored;
    if (must_end(job, ignored)) return false;
    yielded = yields(job);
    return !yielded;
  };
  const SyncResult result = loaded_.session->sync(job.tokens, options);
  if (!std::exchange(job.has_read, true)) job.answer->set_reused(result.reused);
  if (!result.cancelled) return std::nullopt;
  if (must_end(job, end)) return After::ended;
  // Or somebody cancelled what had ended by itself; then it goes on with its next turn.
  return After::yielded;
}

Scheduler::After Scheduler::decode(Job& job, AnswerEnd& end) {
  const AskedFor& asked = job.answer->asked;
  while (true) {
    DecodeOptions options;
    options.stop_tokens = asked.stop_tokens;
    if (asked.max_tokens != 0) {
      if (job.made >= asked.max_tokens) {
        end.reason = name_of(Finish::length);
        return After::ended;
      }
      options.max_tokens = asked.max_tokens - job.made;
    }
    bool yielded = false;
    std::vector<SampledToken> best;
    if (asked.candidates != 0) best = likeliest(asked.candidates);
    const Finish finish = loaded_.session->decode(*job.sampler, options, [&](const SampledToken& token) {
      job.tokens.push_back(token.id);
      ++job.made;
      for (SampledToken& candidate : best) {  // the two are calculated in different orders
        if (candidate.id == token.id) candidate.logprob = token.logprob;
      }
      job.answer->add({token, std::move(best)});
      AnswerEnd ignored;
      if (must_end(job, ignored)) return false;
      yielded = yields(job);
      return !yielded && asked.candidates == 0;
    });
    if (must_end(job, end)) return After::ended;
    if (yielded) return After::yielded;
    if (finish != Finish::interrupted) {
      end.reason = name_of(finish);
      return After::ended;
    }
    if (loaded_.session->tokens().size() < job.tokens.size()) loaded_.session->sync(job.tokens);
  }
}

std::vector<SampledToken> Scheduler::likeliest(uint32_t n) {
  const std::span<const float> logits = loaded_.session->logits();
  std::vector<int32_t> ids(logits.size());
  std::iota(ids.begin(), ids.end(), 0);
  const auto end = ids.begin() + static_cast<ptrdiff_t>(std::min<size_t>(n, ids.size()));
  std::partial_sort(ids.begin(), end, ids.end(), [&](int32_t a, int32_t b) {
    const float left = logits[static_cast<size_t>(a)];
    const float right = logits[static_cast<size_t>(b)];
    return left != right ? left > right : a < b;
  });
  const float top = logits[static_cast<size_t>(ids.front())];
  double sum = 0;
  for (const float logit : logits) sum += std::exp(double{logit} - top);
  std::vector<SampledToken> best;
  for (auto it = ids.begin(); it != end; ++it)
    best.push_back({*it, static_cast<float>(double{logits[static_cast<size_t>(*it)]} - top - std::log(sum))});
  return best;
}

// Puts the timeline onto the session that shares most with the job, and keeps what that would overwrite.
void Scheduler::bring_timeline(const Job& job) {
  Session& session = *loaded_.session;
  const size_t here = common_beginning(session.tokens(), job.tokens);
  if (here == session.tokens().size() && here == job.tokens.size()) return;
  save_seconds_ = 0;
  if (here < session.tokens().size()) keep_timeline();
  const KeptTimelines::Found found = kept_.find(job.tokens);
  if (found.common < here + kLeastKept) return;
  const auto begin = Clock::now();
  try {
    session.load(found.payload);
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::device) throw;  // what cannot be loaded is read again
  }
  swap_seconds_ = save_seconds_ + seconds_since(begin);
}

void Scheduler::keep_timeline() {
  Session& session = *loaded_.session;
  const std::span<const int32_t> tokens = session.tokens();
  const uint64_t holder = holder_;
  holder_ = 0;
  if (tokens.size() < kLeastKept || session.save_bytes() > kept_.most_bytes()) return;
  if (holder == 0 && kept_.has(tokens)) return;
  const auto begin = Clock::now();
  kept_.keep({tokens.begin(), tokens.end()}, session.save(), holder);
  save_seconds_ = seconds_since(begin);
}

// Opens the model once more; where that fails, the server has none.
void Scheduler::lose_device(const std::string& message) {
  holder_ = 0;
  try {
    loaded_.session.reset();
    loaded_.engine.reset();
    loaded_ = open_([this](double) { return !closed_.load(); }, "");
  } catch (const std::exception& error) {
    {
      const std::lock_guard lock(mutex_);
      failure_ = Error(ErrorKind::device, message + "; opening it again: " + error.what());
    }
    changed_();
  }
}

}  // namespace bitnet
