// What runs beside the conversation: work of the model that is no answer of it (/tokens, /alt, /compact, a
// context of another size), and /replay.
//
// Thread rule: it lives on the loop's thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "app/base/wake_timer.h"
#include "app/model/worker.h"
#include "model_state.h"
#include "replay_player.h"
#include "reporter.h"

namespace bitnet {

// What is done with the outcome of a job of the worker. The first two may be empty.
struct Task {
  std::function<void(const SampledToken&)> on_token;
  std::function<void(const Looked&)> on_looked;
  std::function<void(const Finished&)> on_finish;  // throws Error for what the person should read
  bool quiet =
      false;  // the person did not ask for it: the status says nothing, and whatever else comes stops it
};

class Tasks {
 public:
  // All of these must live as long as it does.
  Tasks(Worker& worker, ModelState& model, Reporter& reporter);
  Tasks(const Tasks&) = delete;
  Tasks& operator=(const Tasks&) = delete;

  bool busy() const { return task_.has_value() || player_ != nullptr; }
  int wake_fd() const { return wake_.fd(); }  // readable when the worker has something, or the replay has

  void also_wake(int fd) { wake_.watch(fd); }  // when this can be read

  // Requires that nothing runs. A lost device ends a task without its on_finish.
  void start(Job job, Task task);
  bool runs() const { return task_.has_value(); }
  bool is_quiet() const { return task_ && task_->quiet; }
  bool is(uint64_t job) const { return task_ && job_ == job; }
  void take(const Token& token);  // these three do nothing where the job is another
  void take(const Looked& looked);
  void finish(const Finished& finished);
  void interrupt();  // the job; its task finishes soon

  void replay(std::unique_ptr<ReplayPlayer> player);
  void advance_replay();  // shows what is due
  bool stop_replay();     // false where none runs

  // Whether a task that the person asked for has failed since the last call: what waits behind it is not
  // done.
  bool take_trouble() { return std::exchange(trouble_, false); }

  void drop();  // at the end of the program

 private:
  Worker& worker_;
  ModelState& model_;
  Reporter& reporter_;
  uint64_t job_ = 0;
  std::optional<Task> task_;
  bool trouble_ = false;
  std::unique_ptr<ReplayPlayer> player_;  // while a conversation is replayed
  WakeTimer wake_;
};

}  // namespace bitnet
