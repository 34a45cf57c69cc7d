// One file descriptor to wait for: readable when another one is, or when a time has come.
//
// Thread rule: belongs to one thread. Linux: epoll and timerfd.
#pragma once

#include <chrono>
#include <optional>

namespace bitnet {

class WakeTimer {
 public:
  explicit WakeTimer(int other_fd);  // which stays its owner's and must outlive this
  ~WakeTimer();
  WakeTimer(const WakeTimer&) = delete;
  WakeTimer& operator=(const WakeTimer&) = delete;

  int fd() const { return epoll_; }
  // Readable from `when` on, until set again; empty: only when the other is.
  void set(std::optional<std::chrono::steady_clock::time_point> when);

 private:
  int epoll_;
  int timer_;
};

}  // namespace bitnet
