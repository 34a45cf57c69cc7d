// A pull on a thread of its own, for a chat that goes on meanwhile.
//
// Thread rule: all calls belong to the thread that made it. Its own thread tells it by a state that is taken.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>
#include <thread>

namespace bitnet {

class BackgroundPull {
 public:
  // Begins to fetch the model of this name (pull.h), and makes `wake_fd`, an eventfd that its owner keeps,
  // readable whenever something has changed: at most five times a second, and at the end.
  BackgroundPull(std::string name, int wake_fd);
  ~BackgroundPull();  // stops and joins
  BackgroundPull(const BackgroundPull&) = delete;
  BackgroundPull& operator=(const BackgroundPull&) = delete;

  struct State {
    bool ended = false;
    bool stopped = false;          // it ended because of stop()
    bool kept = false;             // then: another pull goes on with what came
    std::string path;              // of the file, once it is there
    std::string problem;           // why it failed
    std::string doing;             // "checking", or empty while it comes
    uint64_t done = 0, total = 0;  // bytes; total 0: not known
    double bytes_a_second = 0;     // 0: not known
  };
  State state() const;
  const std::string& name() const { return name_; }
  void stop() { stop_ = true; }  // it ends soon

 private:
  class Watcher;
  void run();
  void wake() const;

  const std::string name_;
  const int wake_fd_;
  std::atomic<bool> stop_ = false;
  mutable std::mutex mutex_;
  State state_;  // guarded by mutex_
  std::thread thread_;
};

}  // namespace bitnet
