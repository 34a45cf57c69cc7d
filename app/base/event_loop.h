// The one place where the program waits: for file descriptors, signals and timers, with poll(2).
//
// Thread rule: a loop belongs to one thread. Only one loop may exist in a process at a time, because it owns
// the signal handlers. is_to_end is for any thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <vector>

namespace bitnet {

// Whether the program was told to end: note_end was called, or SIGINT, SIGTERM or SIGHUP has come and the
// call for it was not made yet. Who waits for others outside of the loop asks this now and then.
bool is_to_end();

class EventLoop {
 public:
  using Clock = std::chrono::steady_clock;

  // SIGPIPE is ignored from here on, so that write(2) to a closed pipe fails with EPIPE.
  EventLoop();
  ~EventLoop();  // puts the former signal handlers back
  EventLoop(const EventLoop&) = delete;
  EventLoop& operator=(const EventLoop&) = delete;

  // `ready` is called when `fd` can be read, has ended or is broken. Watching an fd again replaces the call.
  void watch(int fd, std::function<void()> ready);
  void unwatch(int fd);

  // `received` is called from run_once, never inside a signal handler. Several arrivals may cause one call. A
  // SIGHUP that is ignored, as nohup has it, stays so.
  void on_signal(int signal, std::function<void()> received);
  // `arrived` is called inside of the handler of each such signal, so it may do only what signal-safety(7)
  // allows; nullptr ends that. It is for what cannot wait until the loop runs.
  static void at_arrival(void (*arrived)(int signal));
  void default_signal(int signal);  // gives a signal its former handler back
  void note_end();                  // is_to_end from here on, as long as the loop is there

  // `due` is called once, at or after `when`. Returns an id for cancel_timer.
  uint64_t call_at(Clock::time_point when, std::function<void()> due);
  uint64_t call_after(std::chrono::milliseconds delay, std::function<void()> due);
  void cancel_timer(uint64_t id);

  // Waits until something happens or is due, but no longer than `at_most` (negative: without limit), then
  // makes the calls for it.
  void run_once(std::chrono::milliseconds at_most = std::chrono::milliseconds(-1));

 private:
  struct Timer {
    Clock::time_point when;
    std::function<void()> due;
  };

  void deliver_signals();
  int wait_time(std::chrono::milliseconds at_most) const;

  int wake_read_ = -1;
  int wake_write_ = -1;
  std::map<int, std::function<void()>> watched_;
  std::map<int, std::function<void()>> signals_;
  std::map<int, void*> former_;  // struct sigaction by signal
  std::map<uint64_t, Timer> timers_;
  uint64_t next_timer_ = 1;
};

}  // namespace bitnet
