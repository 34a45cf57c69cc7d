#include "wake_timer.h"

#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <stdexcept>

namespace bitnet {

WakeTimer::WakeTimer(int other_fd)
    : epoll_(epoll_create1(EPOLL_CLOEXEC)),
      timer_(timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC)) {
  watch(other_fd);
  watch(timer_);
}

void WakeTimer::watch(int fd) {
  epoll_event event{};
  event.events = EPOLLIN;
  if (epoll_ < 0 || timer_ < 0 || epoll_ctl(epoll_, EPOLL_CTL_ADD, fd, &event) != 0) {
    throw std::runtime_error("epoll failed: no file descriptors left");
  }
}

WakeTimer::~WakeTimer() {
  close(timer_);
  close(epoll_);
}

void WakeTimer::set(std::optional<std::chrono::steady_clock::time_point> when) {
  itimerspec spec{};
  if (when) {
    const auto left =
        std::chrono::duration_cast<std::chrono::nanoseconds>(*when - std::chrono::steady_clock::now());
    const int64_t nanoseconds = std::max<int64_t>(left.count(), 1);  // zero would switch the timer off
    spec.it_value.tv_sec = nanoseconds / 1'000'000'000;
    spec.it_value.tv_nsec = nanoseconds % 1'000'000'000;
  }
  timerfd_settime(timer_, 0, &spec, nullptr);  // this also forgets that an earlier time has come
}

}  // namespace bitnet
