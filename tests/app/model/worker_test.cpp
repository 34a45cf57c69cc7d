#include "app/model/worker.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>

#include <atomic>
#include <cmath>
#include <csignal>

#include "tests/support/fake_engine.h"

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

DecodeJob job_of(const std::string& text) {
  DecodeJob job;
  for (const char c : text) job.tokens.push_back(static_cast<uint8_t>(c));
  return job;
}

TEST(Worker, LoadsNothingBeforeItIsStarted) {
  fake::Script script;
  {
    Worker never(fake::opener(script));
    never.submit(DecodeJob{{1}, {}, {}});
  }
  EXPECT_EQ(script.opened(), 0);
}

// A crash handler can then give the terminal back even where the model's thread has used up its stack.
TEST(Worker, ItsThreadHasAStackForSignalHandlers) {
  fake::Script script;
  const OpenModel open = fake::opener(script);
  std::atomic<bool> has_one = false;
  Worker worker([&](const auto& progress, const auto& device) {
    stack_t stack = {};
    has_one = sigaltstack(nullptr, &stack) == 0 && (stack.ss_flags & SS_DISABLE) == 0;
    return open(progress, device);
  });
  worker.start();
  wait_for<Loaded>(worker);
  EXPECT_TRUE(has_one);
}

TEST(Worker, LoadsThenAnswers) {
  fake::Script script;
  script.answer("abc");
  Worker worker(fake::opener(script));
  worker.start();
  const Loaded loaded = wait_for<Loaded>(worker);
  EXPECT_EQ(loaded.n_ctx, 512U);
  worker.submit(job_of("hello"));
  const Finished finished = wait_for<Finished>(worker);
  EXPECT_EQ(finished.reason, "stop");
  EXPECT_EQ(finished.stats.answer_tokens, 3U);
  EXPECT_EQ(finished.stats.prompt_tokens, 5U);
}

TEST(Worker, TellsHowFarLoadingAndPrefillAre) {
  fake::Script script;
  script.hold_loading(true);
  Worker worker(fake::opener(script));
  worker.start();
  EXPECT_EQ(wait_for<LoadProgress>(worker).done, 0.5);
  script.hold_loading(false);
  wait_for<Loaded>(worker);
  worker.submit(job_of("hello"));
  const PrefillProgress progress = wait_for<PrefillProgress>(worker);
  EXPECT_EQ(progress.done, 5U);
  EXPECT_EQ(progress.total, 5U);
}

TEST(Worker, AJobMayBeSubmittedBeforeTheModelIsThere) {
  fake::Script script;
  script.hold_loading(true);
  Worker worker(fake::opener(script));
  worker.start();
  worker.submit(job_of("hello"));
  script.hold_loading(false);
  EXPECT_EQ(wait_for<Finished>(worker).reason, "stop");
}

TEST(Worker, StopsWhileLoading) {
  fake::Script script;
  script.hold_loading(true);
  Worker worker(fake::opener(script));
  worker.start();
}

TEST(Worker, StopsWhileAnswering) {
  fake::Script script;
  script.hold();
  Worker worker(fake::opener(script));
  worker.start();
  worker.submit(job_of("hello"));
  script.wait_until_held();
}

TEST(Worker, StopsWithAQueueThatNobodyReads) {
  fake::Script script;
  script.answer(std::string(5000, 'x'));
  Worker worker(fake::opener(script, 8192));
  worker.start();
  worker.submit(job_of("hello"));
  pollfd ready = {worker.wake_fd(), POLLIN, 0};
  poll(&ready, 1, -1);
}

// An interrupt that comes before, while or after the job runs ends it, and the next job runs whole.
TEST(Worker, InterruptsAtEveryMoment) {
  fake::Script script;
  Worker worker(fake::opener(script));
  worker.start();
  wait_for<Loaded>(worker);
  for (int spins = 0; spins < 200; ++spins) {
    worker.submit(job_of("hello"));
    std::atomic<int> waited =
        0;  // nothing is waited for: this moves the interrupt to another moment each time
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
  worker.start();
  worker.submit(job_of("hello"));
  worker.interrupt();
  script.hold_loading(false);
  EXPECT_EQ(wait_for<Finished>(worker).reason, "interrupted");
}

TEST(Worker, SaysWhyAModelCannotBeOpened) {
  fake::Script script;
  script.wrong_device(true);
  Worker worker(fake::opener(script));
  worker.start();
  EXPECT_EQ(wait_for<Failed>(worker).kind, ErrorKind::device);
}

TEST(Worker, AReopenThatFailsIsAFailure) {
  fake::Script script;
  script.lose_device_after(1);
  Worker worker(fake::opener(script));
  worker.start();
  wait_for<Loaded>(worker);
  script.wrong_device(true);
  worker.submit(job_of("hello"));
  EXPECT_EQ(wait_for<Failed>(worker).kind, ErrorKind::device);
}

TEST(Worker, OpensAgainAfterAFailure) {
  fake::Script script;
  script.wrong_device(true);
  Worker worker(fake::opener(script));
  worker.start();
  wait_for<Failed>(worker);
  worker.submit(job_of("hello"));
  EXPECT_EQ(wait_for<Finished>(worker).reason, "failed");
  script.wrong_device(false);
  worker.reopen("there");
  wait_for<Loaded>(worker);
  EXPECT_EQ(script.device(), "there");
  worker.submit(job_of("hello"));
  EXPECT_EQ(wait_for<Finished>(worker).reason, "stop");
}

// A model that works is not given up before there is a place for it.
TEST(Worker, AReopenOnADeviceThatIsNotThereLeavesTheModelWhereItIs) {
  fake::Script script;
  Worker worker(fake::opener(script), {}, [](const std::string& device) {
    if (device == "9") throw Error(ErrorKind::device, "no device \"9\"");
  });
  worker.start();
  wait_for<Loaded>(worker);
  const DecodeJob job = job_of("hello");
  worker.submit(job);
  wait_for<Finished>(worker);
  worker.reopen("9");
  EXPECT_EQ(wait_for<NotReopened>(worker).message, "no device \"9\"");
  EXPECT_EQ(script.opened(), 1);
  worker.submit(job);  // its keys and values are still there
  EXPECT_EQ(wait_for<Finished>(worker).stats.reused_tokens, job.tokens.size() - 1);
  worker.reopen("8");
  wait_for<Loaded>(worker);
  EXPECT_EQ(script.opened(), 2);
  EXPECT_EQ(script.device(), "8");
}

TEST(Worker, AReopenThatFailsOpensTheModelWhereItWas) {
  fake::Script script;
  Worker worker(fake::opener(script));
  worker.start();
  wait_for<Loaded>(worker);
  script.no_room_on("too small");
  worker.reopen("too small");
  EXPECT_THAT(wait_for<NotReopened>(worker).message, testing::HasSubstr("no usable device"));
  worker.submit(job_of("hello"));
  EXPECT_EQ(wait_for<Finished>(worker).reason, "stop");
  EXPECT_EQ(script.opened(), 3);
  EXPECT_EQ(script.device(), "");
}

std::vector<Looked> looked_of(const std::vector<WorkerEvent>& events) {
  std::vector<Looked> all;
  for (const WorkerEvent& event : events) {
    if (const Looked* looked = std::get_if<Looked>(&event)) all.push_back(*looked);
  }
  return all;
}

TEST(Worker, LooksAtTokensThatAreThere) {
  fake::Script script;
  Worker worker(fake::opener(script));
  worker.start();
  wait_for<Loaded>(worker);
  worker.submit(job_of("xyz"));  // this leaves a timeline that differs
  wait_for<Finished>(worker);
  worker.submit(LookJob{job_of("pabd").tokens, 1, 3});
  std::vector<WorkerEvent> events;
  EXPECT_EQ(wait_for<Finished>(worker, &events).reason, "stop");
  const std::vector<Looked> looked = looked_of(events);
  ASSERT_EQ(looked.size(), 3U);
  // After 'a' the fake model has b and c with logits 7 and 6 among 259: log softmax of each.
  const double sum = std::exp(7.0) + std::exp(6.0) + 257;
  EXPECT_EQ(looked[1].token.id, 'b');
  EXPECT_NEAR(looked[1].token.logprob, 7 - std::log(sum), 1e-5);
  ASSERT_EQ(looked[1].best.size(), 3U);
  EXPECT_EQ(looked[1].best[0].id, 'b');
  EXPECT_EQ(looked[1].best[1].id, 'c');
  EXPECT_NEAR(looked[1].best[1].logprob, 6 - std::log(sum), 1e-5);
  EXPECT_EQ(looked[1].best[2].id, 0);  // equal ones are in the order of their ids
  EXPECT_EQ(looked[2].token.id, 'd');  // after b comes c, then d
  EXPECT_EQ(looked[2].best[1].id, 'd');
  EXPECT_EQ(looked[0].token.id, 'a');
  EXPECT_NEAR(looked[0].token.logprob, -std::log(sum), 1e-5);
}

TEST(Worker, ChangesTheContextAndKeepsTheOldOneWhereThatFails) {
  fake::Script script;
  script.answer(std::string(100, 'x'));
  Worker worker(fake::opener(script, 512));
  worker.start();
  wait_for<Loaded>(worker);
  std::vector<WorkerEvent> events;
  worker.submit(ContextJob{16});
  EXPECT_EQ(wait_for<Finished>(worker, &events).reason, "stop");
  EXPECT_EQ(std::get<ContextChanged>(events.back()).n_ctx, 16U);
  worker.submit(job_of("hello"));
  EXPECT_EQ(wait_for<Finished>(worker).reason, "context");
  worker.submit(ContextJob{fake::kTrainedFor + 1});
  const Finished finished = wait_for<Finished>(worker, &events);
  EXPECT_EQ(finished.reason, "failed");
  EXPECT_NE(finished.message, "");
  worker.submit(ContextJob{0});
  EXPECT_EQ(wait_for<ContextChanged>(worker).n_ctx, fake::kTrainedFor);
}

}  // namespace
}  // namespace bitnet
