// Asking a server for what a pull wants, and asking again while that may help.
//
// Thread rule: main's thread.
#pragma once

#include <csignal>
#include <string>

#include "http.h"
#include "pull_progress.h"

namespace bitnet {

// SIGINT and SIGTERM only ask to stop while one of these lives.
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

struct Stopped {     // thrown where one of these signals came
  bool kept = true;  // the same command goes on with what came
};
int stop_signal_seen();  // its number; 0: none came
bool keep_going();

HttpRequest request_for(const std::string& url);  // with the hub's token, which goes to no other host

// What a refused request says of `what`.
std::string refusal(const std::string& what, long status, bool on_hub);
bool may_pass(long status);  // another attempt may find another answer

[[noreturn]] void fail_pull(const std::string& message);  // Error(runtime)

// How often, and how long, to try again.
class Patience {
 public:
  Patience(PullProgress& progress, std::string what) : progress_(progress), what_(std::move(what)) {}

  void brought_something() { in_vain_ = 0; }

  // Waits before the next attempt; throws where there should be none. `kept`: another call goes on with what
  // came.
  void after(const HttpResult& result, bool ever_received, bool kept);

 private:
  PullProgress& progress_;
  std::string what_;
  int in_vain_ = 0;
};

}  // namespace bitnet
