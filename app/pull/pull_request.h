// What the requests of a pull share: signals that stop it, the hub's token, and when to try again.
//
// Thread rule: the signals are of main's thread; the rest is of any thread, one object each.
#pragma once

#include <csignal>
#include <string>

#include "http.h"
#include "pull_progress.h"

namespace bitnet {

// While one of these lives, SIGINT and SIGTERM only ask the pull to stop.
class StopSignals {
 public:
  StopSignals();
  ~StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

 private:
  struct sigaction former_interrupt_ = {};
  struct sigaction former_terminate_ = {};
};

int stop_signal_seen();  // the number of the signal that came; 0: none did

HttpRequest request_for(const std::string& url);  // with the hub's token, which is sent to no other host

// The message for a request that the server refused; `what` is what was asked for.
std::string refusal(const std::string& what, long status, bool on_hub);
bool may_pass(long status);  // whether another attempt may get another answer

[[noreturn]] void fail_pull(const std::string& message);  // Error(runtime)

// How often, and how long, to try again.
class Patience {
 public:
  Patience(PullWatcher& watcher, std::string what) : watcher_(watcher), what_(std::move(what)) {}

  void brought_something() { in_vain_ = 0; }

  // Waits before the next attempt; throws if there should be none. `kept` says that another call continues
  // with what came.
  void after(const HttpResult& result, bool ever_received, bool kept);

 private:
  void wait(double seconds);

  PullWatcher& watcher_;
  std::string what_;
  int in_vain_ = 0;
};

}  // namespace bitnet
