// What the requests of a pull share: signals that stop it, the hub's token, and when to try again.
//
// Thread rule: main's thread.
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

struct Stopped {     // thrown when one of these signals came
  bool kept = true;  // the same command continues with what came
};
int stop_signal_seen();  // the number of the signal; 0: none came
bool keep_going();

HttpRequest request_for(const std::string& url);  // with the hub's token, which is sent to no other host

// The message for a request that the server refused; `what` is what was asked for.
std::string refusal(const std::string& what, long status, bool on_hub);
bool may_pass(long status);  // whether another attempt may get another answer

[[noreturn]] void fail_pull(const std::string& message);  // Error(runtime)

// How often, and how long, to try again.
class Patience {
 public:
  Patience(PullProgress& progress, std::string what) : progress_(progress), what_(std::move(what)) {}

  void brought_something() { in_vain_ = 0; }

  // Waits before the next attempt; throws if there should be none. `kept` says that another call continues
  // with what came.
  void after(const HttpResult& result, bool ever_received, bool kept);

 private:
  PullProgress& progress_;
  std::string what_;
  int in_vain_ = 0;
};

}  // namespace bitnet
