#include "background_pull.h"

#include <sys/eventfd.h>

#include <exception>
#include <utility>

#include "app/base/signal_stack.h"
#include "pull.h"
#include "pull_progress.h"

namespace bitnet {

// Writes what the pull says into the state.
class BackgroundPull::Watcher final : public PullWatcher {
 public:
  explicit Watcher(BackgroundPull& pull) : pull_(pull) {}

  void show(const char* doing, uint64_t done, uint64_t total) override {
    if (!speed_.take(done)) return;
    {
      const std::lock_guard lock(pull_.mutex_);
      State& state = pull_.state_;
      state.doing = doing;
      state.done = done;
      state.total = total;
      state.bytes_a_second = speed_.bytes_a_second();
    }
    pull_.wake();
  }
  void say(const std::string&) override {}  // the chat says itself how it ended
  void restart() override { speed_.restart(); }
  bool keep_going() override { return !pull_.stop_; }

 private:
  BackgroundPull& pull_;
  PullSpeed speed_;
};

BackgroundPull::BackgroundPull(std::string name, int wake_fd) : name_(std::move(name)), wake_fd_(wake_fd) {
  thread_ = std::thread([this] { run(); });
}

BackgroundPull::~BackgroundPull() {
  stop();
  thread_.join();
}

BackgroundPull::State BackgroundPull::state() const {
  const std::lock_guard lock(mutex_);
  return state_;
}

void BackgroundPull::wake() const { eventfd_write(wake_fd_, 1); }

void BackgroundPull::run() {
  const SignalStack signal_stack;
  State end;
  try {
    Watcher watcher(*this);
    end.path = fetch_model(name_, watcher);
  } catch (const PullStopped& stopped) {
    end.stopped = true;
    end.kept = stopped.kept;
  } catch (const std::exception& error) {
    end.problem = error.what();
  }
  end.ended = true;
  {
    const std::lock_guard lock(mutex_);
    state_ = std::move(end);
  }
  wake();
}

}  // namespace bitnet
