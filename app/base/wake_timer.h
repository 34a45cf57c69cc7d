// One file descriptor that can be read when another one can, or when a time has come (Linux: epoll and
// timerfd).
//
// Thread rule: belongs to one thread.
#pragma once

#include <chrono>
#include <optional>

namespace bitnet {

class WakeTimer {
 public:
  explicit WakeTimer(int other_fd);  // its owner keeps it, and it must outlive this
  ~WakeTimer();
  WakeTimer(const WakeTimer&) = delete;
  WakeTimer& operator=(const WakeTimer&) = delete;

  void watch(int fd);  // this one too
  int fd() const { return epoll_; }
  // From `when` on, fd() can be read until set() is called again. Empty: only while the other fd can be read.
  void set(std::optional<std::chrono::steady_clock::time_point> when);

 private:
  int epoll_;
  int timer_;
};

}  // namespace bitnet
