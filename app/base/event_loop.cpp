#include "event_loop.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <memory>
#include <stdexcept>
#include <utility>

namespace bitnet {
namespace {

// A signal handler may touch only these: one flag for each signal, the writing end of the wake pipe, and what
// is to be called at once.
constexpr int kSignals = 65;
std::atomic<bool> arrived[kSignals];
std::atomic<int> wake_fd{-1};
std::atomic<void (*)(int)> arrival_call{nullptr};

std::atomic<bool> ending{false};  // EventLoop::note_end was called

extern "C" void note_signal(int signal) {
  arrived[signal].store(true);
  if (const auto call = arrival_call.load()) call(signal);
  const int fd = wake_fd.load();
  if (fd < 0) return;
  const int saved_errno = errno;
  const char byte = 0;
  // A full pipe wakes the loop as well as one more byte would.
  [[maybe_unused]] const ssize_t written = write(fd, &byte, 1);
  errno = saved_errno;
}

}  // namespace

bool is_to_end() { return ending || arrived[SIGINT] || arrived[SIGTERM] || arrived[SIGHUP]; }

EventLoop::EventLoop() {
  int ends[2];
  if (pipe2(ends, O_NONBLOCK | O_CLOEXEC) != 0)
    throw std::runtime_error("pipe2 failed: no file descriptors left");
  wake_read_ = ends[0];
  wake_write_ = ends[1];
  wake_fd.store(wake_write_);
  std::signal(SIGPIPE, SIG_IGN);
}

EventLoop::~EventLoop() {
  while (!former_.empty()) default_signal(former_.begin()->first);
  ending = false;
  wake_fd.store(-1);
  close(wake_read_);
  close(wake_write_);
}

void EventLoop::watch(int fd, std::function<void()> ready) { watched_[fd] = std::move(ready); }
void EventLoop::unwatch(int fd) { watched_.erase(fd); }

void EventLoop::on_signal(int signal, std::function<void()> received) {
  if (former_.contains(signal)) {
    signals_[signal] = std::move(received);
    return;
  }
  struct sigaction action = {};
  action.sa_handler = note_signal;
  sigemptyset(&action.sa_mask);
  auto former = std::make_unique<struct sigaction>();
  if (sigaction(signal, &action, former.get()) != 0) throw std::runtime_error("sigaction refused a signal");
  if (signal == SIGHUP && former->sa_handler == SIG_IGN) {
    sigaction(signal, former.get(), nullptr);
    return;
  }
  signals_[signal] = std::move(received);
  former_[signal] = former.release();
}

void EventLoop::note_end() { ending = true; }
void EventLoop::at_arrival(void (*arrived)(int signal)) { arrival_call.store(arrived); }

void EventLoop::default_signal(int signal) {
  const auto found = former_.find(signal);
  if (found == former_.end()) return;
  const std::unique_ptr<struct sigaction> former(static_cast<struct sigaction*>(found->second));
  sigaction(signal, former.get(), nullptr);
  former_.erase(found);
  signals_.erase(signal);
}

uint64_t EventLoop::call_at(Clock::time_point when, std::function<void()> due) {
  const uint64_t id = next_timer_++;
  timers_[id] = {when, std::move(due)};
  return id;
}

uint64_t EventLoop::call_after(std::chrono::milliseconds delay, std::function<void()> due) {
  return call_at(Clock::now() + delay, std::move(due));
}

void EventLoop::cancel_timer(uint64_t id) { timers_.erase(id); }

int EventLoop::wait_time(std::chrono::milliseconds at_most) const {
  auto wait = at_most;
  for (const auto& [id, timer] : timers_) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(timer.when - Clock::now());
    const auto until = std::max(left, std::chrono::milliseconds(0));
    if (wait.count() < 0 || until < wait) wait = until;
  }
  return wait.count() < 0 ? -1 : static_cast<int>(std::min<int64_t>(wait.count(), 1'000'000));
}

void EventLoop::deliver_signals() {
  for (int signal = 1; signal < kSignals; ++signal) {
    if (!arrived[signal].exchange(false)) continue;
    const auto found = signals_.find(signal);
    if (found == signals_.end()) continue;
    const auto call = found->second;  // a copy, because the call may replace itself
    call();
  }
}

void EventLoop::run_once(std::chrono::milliseconds at_most) {
  std::vector<pollfd> fds = {{wake_read_, POLLIN, 0}};
  for (const auto& [fd, ready] : watched_) fds.push_back({fd, POLLIN, 0});
  const int n = poll(fds.data(), fds.size(), wait_time(at_most));
  if (n < 0 && errno != EINTR) throw std::runtime_error("poll failed");

  char bytes[256];
  while (read(wake_read_, bytes, sizeof bytes) == sizeof bytes) {
  }
  deliver_signals();

  // After EINTR poll has written no revents, so the next round asks about every fd again.
  for (size_t i = 1; n > 0 && i < fds.size(); ++i) {
    if (fds[i].revents == 0) continue;
    const auto found = watched_.find(fds[i].fd);
    if (found == watched_.end()) continue;  // an earlier call of this round unwatched it
    const auto call = found->second;
    call();
  }

  const auto now = Clock::now();
  std::vector<uint64_t> due;
  for (const auto& [id, timer] : timers_) {
    if (timer.when <= now) due.push_back(id);
  }
  for (const uint64_t id : due) {
    const auto found = timers_.find(id);
    if (found == timers_.end()) continue;
    const auto call = std::move(found->second.due);
    timers_.erase(found);
    call();
  }
}

}  // namespace bitnet
