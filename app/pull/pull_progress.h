// What a person sees of a file that is being fetched.
//
// Thread rule: each belongs to one thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "app/base/output.h"

namespace bitnet {

std::string byte_amount(uint64_t bytes);  // "1.5 MB"

// What a pull tells while it runs, and what it asks.
class PullWatcher {
 public:
  virtual ~PullWatcher() = default;
  virtual void show(const char* doing, uint64_t done, uint64_t total) = 0;  // bytes; total 0 = not known
  virtual void say(const std::string& what) = 0;
  virtual void restart() = 0;     // the speed is measured anew
  virtual bool keep_going() = 0;  // asked ten times a second; false: the pull throws PullStopped
};

struct PullStopped {  // thrown where keep_going() said false
  bool kept = true;   // the same call continues with what came
};

// How many bytes come in a second, of late.
class PullSpeed {
 public:
  // Takes how much is there now; false where that was asked so lately that there is nothing new to show.
  bool take(uint64_t done);
  void restart();
  double bytes_a_second() const { return speed_; }  // 0: not known

 private:
  std::chrono::steady_clock::time_point taken_ = {};
  uint64_t last_done_ = 0;
  double speed_ = 0;
};

// One line on a terminal, drawn over itself. Anywhere else it writes nothing but what say() is given. SIGINT
// and SIGTERM stop the pull (StopSignals in pull_request.h).
class PullProgress final : public PullWatcher {
 public:
  PullProgress(Output& err, std::string name) : err_(err), name_(std::move(name)) {}
  ~PullProgress() override { clear(); }
  PullProgress(const PullProgress&) = delete;
  PullProgress& operator=(const PullProgress&) = delete;

  void show(const char* doing, uint64_t done, uint64_t total) override;
  void say(const std::string& what) override;  // also written if there is no terminal
  void restart() override { speed_.restart(); }
  bool keep_going() override;
  void clear();

 private:
  void draw(const std::string& line);

  Output& err_;
  std::string name_;
  PullSpeed speed_;
  bool on_screen_ = false;
};

}  // namespace bitnet
