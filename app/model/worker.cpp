#include "worker.h"

#include <fmt/format.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <numeric>
#include <span>
#include <stdexcept>
#include <utility>

#include "app/base/clock.h"
#include "app/base/signal_stack.h"
#include "prompt.h"

namespace bitnet {
namespace {

// A loop that redraws 30 times a second leaves fewer unread; a loop that is stopped holds the worker here.
constexpr size_t kMostEvents = 1024;

// Reading fewer tokens again takes less time than a file is worth.
constexpr size_t kLeastKept = 64;
// The timeline is written once nothing has happened for so long, so that nobody waits for that, and once one
// token in so many is new, so that a long conversation is not written again for every turn.
constexpr auto kQuiet = std::chrono::milliseconds(1500);
constexpr size_t kNewPart = 4;

using Clock = std::chrono::steady_clock;

// Writes how long it lived into `seconds`, also where what it measures throws.
class Stopwatch {
 public:
  explicit Stopwatch(double& seconds) : seconds_(seconds) {}
  ~Stopwatch() { seconds_ = seconds_since(started_); }
  Stopwatch(const Stopwatch&) = delete;
  Stopwatch& operator=(const Stopwatch&) = delete;

 private:
  double& seconds_;
  Clock::time_point started_ = Clock::now();
};

// What the model thought of a token: the log softmax of it and of the likeliest ones.
Looked looked_at(uint64_t job, int32_t token, std::span<const float> logits, uint32_t candidates) {
  if (std::any_of(logits.begin(), logits.end(), [](float logit) { return std::isnan(logit); })) {
    throw Error(ErrorKind::runtime, "the model's output is not a number (NaN)");
  }
  std::vector<int32_t> best(logits.size());
  std::iota(best.begin(), best.end(), 0);
  const size_t count = std::min<size_t>(candidates, best.size());
  const auto likelier = [&](int32_t a, int32_t b) {
    return logits[a] != logits[b] ? logits[a] > logits[b] : a < b;
  };
  std::partial_sort(best.begin(), best.begin() + static_cast<std::ptrdiff_t>(count), best.end(), likelier);
  best.resize(count);
  const float top = *std::max_element(logits.begin(), logits.end());
  double sum = 0;
  for (const float logit : logits) sum += std::exp(double{logit} - top);
  const auto logprob = [&](int32_t id) {
    return static_cast<float>(double{logits[id]} - top - std::log(sum));
  };
  Looked looked{job, {token, logprob(token)}, {}};
  for (const int32_t id : best) looked.best.push_back({id, logprob(id)});
  return looked;
}

}  // namespace

Worker::Worker(OpenModel open, KvFiles kv_files, CheckDevice check_device)
    : open_(std::move(open)),
      check_device_(std::move(check_device)),
      kv_files_(std::move(kv_files)),
      wake_fd_(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {
  if (wake_fd_ < 0) throw std::runtime_error("eventfd failed: no file descriptors left");
}

void Worker::start() {
  thread_ = std::thread([this] { run(); });
}

Worker::~Worker() {
  {
    const std::lock_guard lock(mutex_);
    quit_ = true;
    if (cancellable_ != nullptr) cancellable_->cancel();
  }
  job_there_.notify_all();
  space_.notify_all();
  if (thread_.joinable()) thread_.join();
  close(wake_fd_);
}

uint64_t Worker::submit(Job job) {
  const uint64_t id = ++last_job_;
  {
    const std::lock_guard lock(mutex_);
    next_.emplace(id, std::move(job));
  }
  job_there_.notify_all();
  return id;
}

void Worker::interrupt() {
  interrupted_up_to_ = last_job_;
  const std::lock_guard lock(mutex_);
  if (cancellable_ != nullptr) cancellable_->cancel();
}

void Worker::reopen(std::string device) { ask_reopening({std::move(device), {}}); }

void Worker::switch_model(MakeModel other) { ask_reopening({{}, std::move(other)}); }

void Worker::ask_reopening(Reopening wanted) {
  {
    const std::lock_guard lock(mutex_);
    reopen_ = std::move(wanted);
  }
  job_there_.notify_all();
}

std::vector<WorkerEvent> Worker::take() {
  eventfd_t count = 0;
  eventfd_read(wake_fd_, &count);
  std::vector<WorkerEvent> taken;
  {
    const std::lock_guard lock(mutex_);
    taken.assign(std::make_move_iterator(events_.begin()), std::make_move_iterator(events_.end()));
    events_.clear();
  }
  space_.notify_all();
  return taken;
}

void Worker::push(WorkerEvent event) {
  {
    std::unique_lock lock(mutex_);
    space_.wait(lock, [this] { return events_.size() < kMostEvents || quit_; });
    if (quit_) return;
    events_.push_back(std::move(event));
  }
  eventfd_write(wake_fd_, 1);
}

bool Worker::stop_asked(uint64_t job) const { return quit_ || interrupted_up_to_ >= job; }

void Worker::run() {
  const SignalStack signal_stack;
  load();
  while (true) {
    std::pair<uint64_t, Job> job;
    std::optional<Reopening> elsewhere;
    {
      std::unique_lock lock(mutex_);
      const auto asked = [this] { return next_ || reopen_ || quit_; };
      const size_t fresh = unsaved();
      if (fresh >= kLeastKept && fresh >= model_.session->tokens().size() / kNewPart) {
        if (!job_there_.wait_for(lock, kQuiet, asked)) {
          lock.unlock();
          save();
          continue;
        }
      } else {
        job_there_.wait(lock, asked);
      }
      if (quit_) break;
      if (reopen_) {
        elsewhere = std::exchange(reopen_, std::nullopt);
      } else {
        job = std::move(*next_);
        next_.reset();
        // A context job throws the session away.
        cancellable_ = std::holds_alternative<ContextJob>(job.second) ? nullptr : model_.session.get();
      }
    }
    if (elsewhere) {
      load_elsewhere(*std::move(elsewhere));
    } else if (model_.session) {
      run_job(job.first, job.second);
    } else {
      push(Finished{job.first, "failed", "the model cannot be used", {}});
    }
  }
  {
    const std::lock_guard lock(mutex_);
    cancellable_ = nullptr;
  }
  if (unsaved() >= kLeastKept) save();
}

void Worker::forget_timelines() {
  const std::lock_guard lock(files_mutex_);
  keep_ = false;
  kv_files_.clear();
}

// Of a job, before it changes the one that is there.
void Worker::begin_timeline(bool keep) {
  const int64_t last_clear = kv_files_.last_clear();
  if (last_clear != last_clear_) saved_.clear();
  last_clear_ = last_clear;
  keep_ = keep;
}

// What keys and values on disk belong to: only what would compute the same bits uses them again.
std::string Worker::computation() const {
  return hash_text(fmt::format("{}\n{}\n{}", model_.engine->model().fingerprint,
                               model_.engine->device().arithmetic, BITNET_VERSION));
}

void Worker::restore(const std::vector<int32_t>& tokens) {
  Session& session = *model_.session;
  const auto differ =
      std::mismatch(tokens.begin(), tokens.end(), session.tokens().begin(), session.tokens().end());
  const auto common = static_cast<size_t>(differ.first - tokens.begin());
  const auto file = kv_files_.find(computation(), tokens, common + kLeastKept - 1);
  if (!file) return;
  try {
    session.load(kv_files_.read(*file));
    saved_.assign(session.tokens().begin(), session.tokens().end());
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::device) throw;
    kv_files_.remove(*file);  // nothing in it can be trusted; the session is empty now and reads all
  }
}

size_t Worker::unsaved() const {
  if (!keep_ || !model_.session || kv_files_.most_bytes() == 0) return 0;
  const auto tokens = model_.session->tokens();
  // A timeline that is longer than what may be kept is not even asked for.
  if (model_.session->save_bytes() > kv_files_.most_bytes()) return 0;
  const auto differ = std::mismatch(tokens.begin(), tokens.end(), saved_.begin(), saved_.end());
  return static_cast<size_t>(tokens.end() - differ.first);
}

void Worker::save() {
  try {
    // Another program may have purged what it is of.
    if (kv_files_.last_clear() != last_clear_) keep_ = false;
    if (!keep_) return;
    const auto tokens = model_.session->tokens();
    const std::vector<std::byte> payload = model_.session->save();
    const std::lock_guard lock(files_mutex_);
    if (!keep_) return;
    const auto file = kv_files_.write(computation(), tokens, payload);
    if (file && kv_files_.last_clear() != last_clear_) kv_files_.remove(*file);
    saved_.assign(tokens.begin(), tokens.end());
  } catch (const std::exception&) {
    keep_ = false;  // a lost device shows with the next job
  }
}

void Worker::load() {
  if (auto failed = try_load()) push(*std::move(failed));
}

std::optional<Failed> Worker::try_load() {
  try {
    const auto tell = [this](double done) {
      push(LoadProgress{done});
      return !quit_.load();
    };
    model_ = open_(tell, device_);
    push(loaded());
    return std::nullopt;
  } catch (const Error& error) {
    return Failed{error.kind(), error.what()};
  } catch (const std::bad_alloc&) {
    return Failed{ErrorKind::model, "not enough memory to load the model"};
  } catch (const std::exception& error) {
    return Failed{ErrorKind::runtime, error.what()};
  }
}

Loaded Worker::loaded() const {
  return {model_.text,
          model_.engine->model(),
          model_.engine->device(),
          model_.session->n_ctx(),
          model_.engine->placement(),
          model_.notice,
          model_.warning};
}

void Worker::load_elsewhere(Reopening wanted) {
  const std::string before = device_;
  const OpenModel former = open_;
  if (!wanted.device.empty()) device_ = std::move(wanted.device);
  lost_in_a_row_ = false;
  const bool works = model_.session != nullptr;
  try {
    if (wanted.other) open_ = wanted.other();
    if (works && check_device_) check_device_(device_);
  } catch (const Error& error) {
    device_ = before;
    open_ = former;
    return works ? stay(error.what()) : push(Failed{error.kind(), error.what()});
  } catch (const std::exception& error) {
    device_ = before;
    open_ = former;
    return works ? stay(error.what()) : push(Failed{ErrorKind::runtime, error.what()});
  }
  if (!works) return load();
  if (wanted.other && unsaved() >= kLeastKept) save();
  close_model();
  const auto failed = try_load();
  if (!failed) return;
  close_model();
  device_ = before;
  open_ = former;
  push(NotReopened{failed->message});
  load();
}

// Nothing was closed.
void Worker::stay(std::string message) {
  push(NotReopened{std::move(message)});
  push(loaded());
}

void Worker::close_model() {
  model_.session.reset();
  model_.engine.reset();
  saved_.clear();
}

void Worker::do_job(const DecodeJob& job, Finished& finished) {
  const uint64_t id = finished.job;
  Sampler sampler(job.sampler);
  SyncResult result;
  begin_timeline(job.keep);
  {
    const Stopwatch stopwatch(finished.stats.prefill_seconds);
    if (job.restore) restore(job.tokens);
    result = model_.session->sync(job.tokens, reporting(id));
  }
  finished.stats.reused_tokens = result.reused;
  push(Prefilled{id, result});
  if (result.cancelled || stop_asked(id)) return;
  const Stopwatch stopwatch(finished.stats.decode_seconds);
  const auto started = Clock::now();
  DecodeOptions how = job.decode;
  how.drafts = drafts_for(job);
  const SessionStats before = model_.session->stats();
  const ExpertReads experts = model_.engine->expert_reads();
  const Finish reason = model_.session->decode(sampler, how, [&](const SampledToken& token) {
    if (stop_asked(id)) return false;
    ++finished.stats.answer_tokens;
    push(Token{id, token, seconds_since(started)});
    return true;
  });
  const SessionStats after = model_.session->stats();
  finished.stats.drafted_tokens = static_cast<uint32_t>(after.drafted_tokens - before.drafted_tokens);
  finished.stats.right_tokens = static_cast<uint32_t>(after.right_tokens - before.right_tokens);
  finished.stats.differing_pass = after.differing_pass - before.differing_pass;
  const ExpertReads read = model_.engine->expert_reads();
  finished.stats.experts = {read.uses - experts.uses, read.hits - experts.hits, read.copies - experts.copies};
  finished.reason = name_of(reason);
  if (reason == Finish::numeric) keep_ = false;
}

// Null where the job wants no guesses.
Drafts* Worker::drafts_for(const DecodeJob& job) {
  if (!job.draft) return nullptr;
  if (drafts_learned_ != job.others) {
    drafts_.forget();
    for (const std::vector<int32_t>& text : job.others.tokens) drafts_.learn(text);
    drafts_learned_ = job.others;
  }
  if (job.others.ends_with_sibling) drafts_.expect_latest();
  return &drafts_;
}

void Worker::do_job(const LookJob& job, Finished& finished) {
  const uint64_t id = finished.job;
  Session& session = *model_.session;
  begin_timeline(job.keep);
  const auto tell = [&](size_t position, std::span<const float> logits) {
    push(looked_at(id, job.tokens[position], logits, job.candidates));
  };
  // The timeline is cut back to before the first token, so that every later one is evaluated anew.
  SyncResult result = session.sync(std::span(job.tokens).first(job.first), reporting(id));
  if (result.cancelled || stop_asked(id)) return;
  tell(job.first, session.logits());
  SyncOptions options = reporting(id);
  options.on_logits = [&](uint32_t position, std::span<const float> logits) {
    if (position >= job.first && position + 1 < job.tokens.size()) tell(position + 1, logits);
  };
  result = session.sync(job.tokens, options);
  if (!result.cancelled && !stop_asked(id)) finished.reason = name_of(Finish::stop);
}

void Worker::do_job(const ContextJob& job, Finished& finished) {
  if (!model_.create_session) throw Error(ErrorKind::usage, "the context of this model cannot be changed");
  const uint32_t old = model_.session->n_ctx();
  model_.session.reset();  // this goes first, so that both need not fit the device at once
  try {
    model_.session = model_.create_session(job.n_ctx);
    finished.reason = name_of(Finish::stop);
  } catch (const Error& error) {
    finished.reason = "failed";
    finished.message = error.what();
    model_.session = model_.create_session(old);
  }
  push(ContextChanged{finished.job, model_.session->n_ctx()});
}

SyncOptions Worker::reporting(uint64_t job) {
  SyncOptions options;
  options.on_progress = [this, job](uint32_t done, uint32_t total) {
    push(PrefillProgress{job, done, total});
    return !stop_asked(job);
  };
  return options;
}

void Worker::run_job(uint64_t id, const Job& job) {
  Finished finished{id, name_of(Finish::interrupted), "", {}};
  if (const DecodeJob* asked = std::get_if<DecodeJob>(&job)) {
    finished.stats.prompt_tokens = static_cast<uint32_t>(asked->tokens.size());
  }
  bool device_lost = false;
  try {
    // interrupt() may have come before the session could be cancelled, so the job's number is looked at too.
    if (!stop_asked(id)) std::visit([&](const auto& work) { do_job(work, finished); }, job);
  } catch (const Error& error) {
    device_lost = error.kind() == ErrorKind::device;
    finished.reason = device_lost ? "device_lost" : "failed";
    finished.message = error.what();
  } catch (const std::exception& error) {
    finished.reason = "failed";
    finished.message = error.what();
  }
  {
    const std::lock_guard lock(mutex_);
    cancellable_ = nullptr;
  }
  const std::string message = finished.message;
  const bool lost_again = device_lost && lost_in_a_row_;
  lost_in_a_row_ = device_lost;
  push(std::move(finished));
  if (!device_lost) return;
  close_model();
  if (lost_again) {
    push(Failed{ErrorKind::device, "the device was lost twice in a row: " + message});
  } else {
    load();
  }
}

}  // namespace bitnet
