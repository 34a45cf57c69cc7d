// The one engine of the server, and who has it: answers take turns on one session.
//
// Thread rule: any thread, except where a call says otherwise. The engine, its session and what is kept of
// timelines belong to the scheduler's own thread.
//
// clang-format off
//   submit() --> queue, first come first served --> a turn on the session --> Answering::add, finish
//                  ^                                      |
//                  └── back to the end, where its turn is over, others wait, and its state can be kept
// clang-format on
//
// A turn lasts a second, and longer where saving and loading keys and values takes more than a tenth of that.
// So a long answer holds up a short one for its turn, not for its length. Where there is no memory to keep
// what was interrupted (its state: keys and values), an answer has the session until its end. The sequence of
// tokens does not depend on turns.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "answering.h"
#include "app/model/worker.h"
#include "kept_timelines.h"

namespace bitnet {

struct SchedulerOptions {
  uint64_t kept_bytes = uint64_t{1} << 30;  // of timelines that are not on the session
  size_t most_waiting = 256;                // answers, with the one that has its turn
  std::chrono::milliseconds turn{1000};
  std::chrono::seconds longest{3600};                // from the question to the end of its answer
  std::function<void(const std::string&)> log = {};  // of a line for people; on the scheduler's own thread
};

class Scheduler {
 public:
  // What is known once the model is loaded.
  struct Model {
    std::shared_ptr<const ModelText> text;
    std::string device;
    uint32_t n_ctx = 0;
    std::vector<std::string> notices;  // about the file, the options or the device
  };

  // Begins to load the model on its own thread. `changed` is called there when it is loaded and when it has
  // failed.
  Scheduler(OpenModel open, const SchedulerOptions& options, std::function<void()> changed);
  ~Scheduler();  // closes and waits for its thread
  Scheduler(const Scheduler&) = delete;
  Scheduler& operator=(const Scheduler&) = delete;

  std::optional<Model> model() const;    // empty while it loads
  std::optional<Error> failure() const;  // why the model cannot be used any more

  // False where as many answers wait as may, or after close().
  bool submit(std::shared_ptr<Answering> answer);
  // Ends an answer within a token; its end is "interrupted".
  void stop(Answering& answer);
  void close();  // ends all answers with "closed", and loading too

 private:
  using Clock = std::chrono::steady_clock;
  // An answer and how far it is. The scheduler's thread has it while it has its turn, the queue otherwise.
  struct Job {
    uint64_t id = 0;
    std::shared_ptr<Answering> answer;
    Clock::time_point asked_at;
    std::optional<Sampler> sampler;  // once it has begun
    std::vector<int32_t> tokens;     // the prompt and what was made
    uint32_t made = 0;
    bool has_read = false;    // some of the prompt, so that what is reused may be its own work
    uint64_t held_bytes = 0;  // of its timeline, while it waits for its next turn
  };
  enum class After { ended, yielded };

  void run();
  void load();
  void serve(Job job);
  After take_turn(Job& job, AnswerEnd& end);
  std::optional<After> read_prompt(Job& job, AnswerEnd& end);
  After decode(Job& job, AnswerEnd& end);
  bool must_end(const Job& job, AnswerEnd& end) const;
  bool yields(Job& job);
  void tell_of_no_turns(uint64_t bytes);
  void bring_timeline(const Job& job);
  void keep_timeline();
  std::vector<SampledToken> likeliest(uint32_t n);
  void lose_device(const std::string& message);
  void end_all(const std::string& reason, const std::string& message);

  const OpenModel open_;
  const SchedulerOptions options_;
  const std::function<void()> changed_;

  // The scheduler's thread only.
  LoadedModel loaded_;
  KeptTimelines kept_;
  uint64_t holder_ = 0;      // of the timeline on the session: the job that will go on with it; 0: none
  uint64_t held_bytes_ = 0;  // of all jobs that wait for another turn
  double swap_seconds_ = 0;  // the last save and load took so long
  double save_seconds_ = 0;
  Clock::time_point turn_end_;
  bool told_of_no_turns_ = false;

  mutable std::mutex mutex_;
  std::condition_variable something_;
  std::deque<Job> queue_;           // guarded by mutex_
  Answering* running_ = nullptr;    // guarded by mutex_
  Session* cancellable_ = nullptr;  // guarded by mutex_: alive while set
  std::optional<Model> model_;      // guarded by mutex_
  std::optional<Error> failure_;    // guarded by mutex_
  uint64_t last_job_ = 0;           // guarded by mutex_
  std::atomic<bool> closed_ = false;
  std::thread thread_;
};

}  // namespace bitnet
