#include <gtest/gtest.h>
#include <poll.h>

#include <atomic>

#include "app/worker.h"
#include "tests/app_fake_engine.h"

namespace bitnet {
namespace {

// Waits for events until one of type T is among them.
template <typename T>
T wait_for(Worker& worker, std::vector<WorkerEvent>* others = nullptr) {
  while (true) {
    pollfd ready = {worker.wake_fd(), POLLIN, 0};
    poll(&ready, 1, -1);
    std::optional<T> found;
    for (WorkerEvent& event : worker.take()) {
      if (const T* wanted = std::get_if<T>(&event)) {
        if (!found) found = *wanted;
      } else if (others != nullptr) {
        others->push_back(event);
      }
    }
    if (found) return *found;
  }
}

Job job_of(const std::string& text) {
  Job job;
  for (const char c : text) job.tokens.push_back(static_cast<uint8_t>(c));
  return job;
}

TEST(Worker, LoadsThenAnswers) {
  fake::Script script;
  script.answer("abc");
  Worker worker(fake::opener(script));
  const Loaded loaded = wait_for<Loaded>(worker);
  EXPECT_EQ(loaded.n_ctx, 512U);
  worker.submit(job_of("hello"));
  const Finished finished = wait_for<Finished>(worker);
  EXPECT_EQ(finished.reason, "stop");
  EXPECT_EQ(finished.stats.answer_tokens, 3U);
  EXPECT_EQ(finished.stats.prompt_tokens, 5U);
}

TEST(Worker, AJobMayBeSubmittedBeforeTheModelIsThere) {
  fake::Script script;
  script.hold_loading(true);
  Worker worker(fake::opener(script));
  worker.submit(job_of("hello"));
  script.hold_loading(false);
  EXPECT_EQ(wait_for<Finished>(worker).reason, "stop");
}

TEST(Worker, StopsWhileLoading) {
  fake::Script script;
  script.hold_loading(true);
  Worker worker(fake::opener(script));
}

TEST(Worker, StopsWhileAnswering) {
  fake::Script script;
  script.hold();
  Worker worker(fake::opener(script));
  worker.submit(job_of("hello"));
  script.wait_until_held();
}

TEST(Worker, StopsWithAQueueThatNobodyReads) {
  fake::Script script;
  script.answer(std::string(5000, 'x'));
  Worker worker(fake::opener(script, 8192));
  worker.submit(job_of("hello"));
  pollfd ready = {worker.wake_fd(), POLLIN, 0};
  poll(&ready, 1, -1);
}

// An interrupt that comes before, while or after the job runs ends it, and the next job runs whole.
TEST(Worker, InterruptsAtEveryMoment) {
  fake::Script script;
  Worker worker(fake::opener(script));
  wait_for<Loaded>(worker);
  for (int spins = 0; spins < 200; ++spins) {
    worker.submit(job_of("hello"));
    std::atomic<int> waited =
        0;  // not a wait for anything: it moves the interrupt to another moment each time
    while (waited < spins * 50) ++waited;
    worker.interrupt();
    const std::string reason = wait_for<Finished>(worker).reason;
    EXPECT_TRUE(reason == "interrupted" || reason == "stop") << reason;
    worker.submit(job_of("again"));
    EXPECT_EQ(wait_for<Finished>(worker).reason, "stop");
  }
}

TEST(Worker, InterruptedBeforeTheModelIsThere) {
  fake::Script script;
  script.hold_loading(true);
  Worker worker(fake::opener(script));
  worker.submit(job_of("hello"));
  worker.interrupt();
  script.hold_loading(false);
  EXPECT_EQ(wait_for<Finished>(worker).reason, "interrupted");
}

TEST(Worker, SaysWhyAModelCannotBeOpened) {
  fake::Script script;
  script.wrong_device(true);
  Worker worker(fake::opener(script));
  EXPECT_EQ(wait_for<Failed>(worker).error.kind(), ErrorKind::device);
}

TEST(Worker, AReopenThatFailsIsAFailure) {
  fake::Script script;
  script.lose_device_after(1);
  Worker worker(fake::opener(script));
  wait_for<Loaded>(worker);
  script.wrong_device(true);
  worker.submit(job_of("hello"));
  EXPECT_EQ(wait_for<Failed>(worker).error.kind(), ErrorKind::device);
}

}  // namespace
}  // namespace bitnet
