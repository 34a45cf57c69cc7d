// What a person sees of a file that is being fetched.
//
// Thread rule: belongs to one thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "app/base/output.h"

namespace bitnet {

std::string byte_amount(uint64_t bytes);  // "1.5 MB"

// One line on a terminal, drawn over itself. Anywhere else it writes nothing but what say() is given.
class PullProgress {
 public:
  PullProgress(Output& err, std::string name) : err_(err), name_(std::move(name)) {}
  ~PullProgress() { clear(); }
  PullProgress(const PullProgress&) = delete;
  PullProgress& operator=(const PullProgress&) = delete;

  void show(const char* doing, uint64_t done, uint64_t total);  // bytes; total 0 = not known
  void say(const std::string& what);                            // also written if there is no terminal
  void restart();                                               // the speed is measured anew
  void clear();

 private:
  void draw(const std::string& line);

  Output& err_;
  std::string name_;
  std::chrono::steady_clock::time_point drawn_ = {};
  uint64_t last_done_ = 0;
  double speed_ = 0;
  bool on_screen_ = false;
};

}  // namespace bitnet
