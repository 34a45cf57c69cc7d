#include "worker.h"

#include <fmt/format.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <chrono>
#include <stdexcept>
#include <utility>

namespace bitnet {
namespace {

// More than a loop that redraws 30 times a second leaves unread; a loop that is stopped holds the worker
// here.
constexpr size_t kMostEvents = 1024;

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

}  // namespace

Worker::Worker(OpenModel open) : open_(std::move(open)), wake_fd_(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {
  if (wake_fd_ < 0) throw std::runtime_error("eventfd failed: no file descriptors left");
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
  thread_.join();
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

std::vector<WorkerEvent> Worker::take() {
  uint64_t count = 0;
  [[maybe_unused]] const ssize_t got = read(wake_fd_, &count, sizeof count);
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
  const uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = write(wake_fd_, &one, sizeof one);
}

bool Worker::stop_asked(uint64_t job) const { return quit_ || interrupted_up_to_ >= job; }

void Worker::run() {
  if (!load()) return;
  while (true) {
    std::pair<uint64_t, Job> job;
    {
      std::unique_lock lock(mutex_);
      job_there_.wait(lock, [this] { return next_ || quit_; });
      if (quit_) break;
      job = std::move(*next_);
      next_.reset();
      cancellable_ = model_.session.get();
    }
    run_job(job.first, job.second);
    if (!model_.session && !load()) break;
  }
  const std::lock_guard lock(mutex_);
  cancellable_ = nullptr;
}

bool Worker::load() {
  try {
    model_ = open_([this](double done) {
      push(LoadProgress{done});
      return !quit_.load();
    });
    push(Loaded{model_.text, model_.engine->model(), model_.engine->device(), model_.session->n_ctx()});
    return true;
  } catch (const Error& error) {
    push(Failed{error});
  } catch (const std::bad_alloc&) {
    push(Failed{Error(ErrorKind::model, "not enough memory to load the model")});
  } catch (const std::exception& error) {
    push(Failed{Error(ErrorKind::runtime, error.what())});
  }
  return false;
}

void Worker::run_job(uint64_t id, const Job& job) {
  Finished finished{id, name_of(Finish::interrupted), "", {}};
  finished.stats.prompt_tokens = static_cast<uint32_t>(job.tokens.size());
  bool device_lost = false;
  auto started = Clock::now();
  bool decoding = false;
  try {
    Sampler sampler(job.sampler);
    SyncOptions sync;
    sync.on_progress = [&](uint32_t done, uint32_t total) {
      push(PrefillProgress{id, done, total});
      return !stop_asked(id);
    };
    // interrupt() may have come before the session could be cancelled, so the number is asked as well.
    if (!stop_asked(id)) {
      const SyncResult result = model_.session->sync(job.tokens, sync);
      finished.stats.prefill_seconds = seconds_since(started);
      finished.stats.reused_tokens = result.reused;
      push(Prefilled{id, result});
      if (!result.cancelled && !stop_asked(id)) {
        started = Clock::now();
        decoding = true;
        const Finish reason = model_.session->decode(sampler, job.decode, [&](const SampledToken& token) {
          if (stop_asked(id)) return false;
          ++finished.stats.answer_tokens;
          push(Token{id, token, seconds_since(started)});
          return true;
        });
        finished.reason = name_of(reason);
      }
    }
  } catch (const Error& error) {
    device_lost = error.kind() == ErrorKind::device;
    finished.reason = device_lost ? "device_lost" : "failed";
    finished.message = error.what();
  } catch (const std::exception& error) {
    finished.reason = "failed";
    finished.message = error.what();
  }
  (decoding ? finished.stats.decode_seconds : finished.stats.prefill_seconds) = seconds_since(started);
  {
    const std::lock_guard lock(mutex_);
    cancellable_ = nullptr;
  }
  const std::string message = finished.message;
  const bool lost_again = device_lost && lost_in_a_row_;
  lost_in_a_row_ = device_lost;
  push(std::move(finished));
  if (!device_lost) return;
  model_.session.reset();
  model_.engine.reset();
  if (lost_again) {
    open_ = [message](const std::function<bool(double)>&) -> LoadedModel {
      throw Error(ErrorKind::device, "the device was lost twice in a row: " + message);
    };
  }
}

}  // namespace bitnet
