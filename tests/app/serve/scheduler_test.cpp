#include "app/serve/scheduler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>

#include <future>

#include "app/model/model_open.h"
#include "app/serve/kept_timelines.h"

namespace bitnet {
namespace {

using testing::ElementsAre;

std::vector<std::byte> payload(size_t bytes) { return std::vector<std::byte>(bytes); }

TEST(KeptTimelines, TheLongestBeginningIsFound) {
  KeptTimelines kept(100);
  kept.keep({1, 2, 3}, payload(10));
  kept.keep({1, 5}, payload(20));
  const std::vector<int32_t> prompt{1, 2, 9};
  EXPECT_EQ(kept.find(prompt).common, 2U);
  EXPECT_EQ(kept.find(prompt).payload.size(), 10U);
  EXPECT_EQ(kept.find(std::vector<int32_t>{7}).common, 0U);
  EXPECT_TRUE(kept.has(std::vector<int32_t>{1, 2}));
  EXPECT_FALSE(kept.has(prompt));
  kept.keep({1, 2, 3, 4}, payload(11));  // in place of its beginning
  EXPECT_EQ(kept.count(), 2U);
  EXPECT_EQ(kept.bytes(), 31U);
}

TEST(KeptTimelines, TheOneNotUsedForLongestGivesWayUnlessItIsHeld) {
  KeptTimelines kept(30);
  kept.keep({1}, payload(10), /*holder=*/7);
  kept.keep({2}, payload(10));
  kept.keep({3}, payload(10));
  kept.find(std::vector<int32_t>{2});
  kept.keep({4}, payload(10));
  EXPECT_FALSE(kept.has(std::vector<int32_t>{3}));
  for (const int32_t id : {1, 2, 4}) EXPECT_TRUE(kept.has(std::vector<int32_t>{id})) << id;
  kept.release(7);
  kept.keep({5}, payload(10));
  EXPECT_FALSE(kept.has(std::vector<int32_t>{1}));
  kept.keep({6}, payload(31));
  EXPECT_FALSE(kept.has(std::vector<int32_t>{6}));
  EXPECT_LE(kept.bytes(), 30U);
}

// A scheduler with the model of random weights, once it is loaded.
struct Loaded {
  explicit Loaded(SchedulerOptions options) {
    ModelOptions model;
    model.model = BITNET_TEST_MODEL;
    model.device = "cpu";
    model.threads = 1;
    scheduler.emplace(opener_for(model), options, [this] { changed.notify_all(); });
    std::unique_lock lock(mutex);
    while (!scheduler->model() && !scheduler->failure())
      changed.wait_for(lock, std::chrono::milliseconds(10));
  }
  std::mutex mutex;
  std::condition_variable changed;
  std::optional<Scheduler> scheduler;
};

AskedFor question(int32_t first, uint32_t max_tokens, float temperature = 0.8F, uint32_t candidates = 0) {
  AskedFor asked;
  for (int32_t i = 0; i < 40; ++i) asked.prompt.push_back((first + i * 7) % 600);
  asked.sampler.temperature = temperature;
  asked.sampler.seed = static_cast<uint64_t>(first);
  asked.max_tokens = max_tokens;
  asked.candidates = candidates;
  return asked;
}

struct Whole {
  std::vector<int32_t> ids;
  AnswerEnd end;
  uint32_t reused = 0;
};

Whole wait_for(Answering& answer, size_t tokens = SIZE_MAX) {
  Whole whole;
  while (true) {
    pollfd watched{answer.wake_fd(), POLLIN, 0};
    poll(&watched, 1, -1);
    Answering::News news = answer.take();
    for (const MadeToken& made : news.tokens) whole.ids.push_back(made.token.id);
    if (news.end) whole.end = *news.end;
    whole.reused = answer.reused();
    if (news.end || whole.ids.size() >= tokens) return whole;
  }
}

TEST(Scheduler, AnswersDoNotDependOnTurns) {
  std::vector<std::vector<int32_t>> alone;
  {
    Loaded loaded({});
    for (int32_t i = 0; i < 3; ++i) {
      const auto answer = std::make_shared<Answering>(question(i, 20));
      ASSERT_TRUE(loaded.scheduler->submit(answer));
      alone.push_back(wait_for(*answer).ids);
      EXPECT_EQ(alone.back().size(), 20U);
    }
  }
  // A turn of a token each; and the same without room for keys and values, where nobody is interrupted.
  for (const uint64_t kept : {uint64_t{1} << 30, uint64_t{0}}) {
    Loaded loaded({.kept_bytes = kept, .turn = std::chrono::milliseconds(0)});
    std::vector<std::shared_ptr<Answering>> answers;
    for (int32_t i = 0; i < 3; ++i) {
      answers.push_back(std::make_shared<Answering>(question(i, 20, 0.8F, i == 1 ? 2 : 0)));
      ASSERT_TRUE(loaded.scheduler->submit(answers.back()));
    }
    for (size_t i = 0; i < 3; ++i) EXPECT_EQ(wait_for(*answers[i]).ids, alone[i]) << i << ", " << kept;
  }
}

// Opens the model once asked() was called, so that all answers wait when the first one begins.
struct LaterModel {
  LaterModel() {
    options.model = BITNET_TEST_MODEL;
    options.device = "cpu";
    options.threads = 1;
  }
  OpenModel opener() {
    return [this](const std::function<bool(double)>& go_on, const std::string& text) {
      all_asked.get_future().wait();
      return opener_for(options)(go_on, text);
    };
  }
  void asked() { all_asked.set_value(); }

  ModelOptions options;
  std::promise<void> all_asked;
};

TEST(Scheduler, WhereAnswersCannotTakeTurnsItIsToldOnce) {
  LaterModel model;
  std::vector<std::string> lines;  // which the scheduler's thread adds to before the answer's end
  SchedulerOptions options{.kept_bytes = 0, .turn = std::chrono::milliseconds(0)};
  options.log = [&](const std::string& line) { lines.push_back(line); };
  Scheduler scheduler(model.opener(), options, [] {});
  std::vector<std::shared_ptr<Answering>> answers;
  for (int32_t i = 0; i < 3; ++i) {
    answers.push_back(std::make_shared<Answering>(question(i, 5)));
    EXPECT_TRUE(scheduler.submit(answers.back()));
  }
  model.asked();
  for (const auto& answer : answers) EXPECT_EQ(wait_for(*answer).ids.size(), 5U);
  EXPECT_THAT(lines, ElementsAre(testing::HasSubstr("do not fit --cache (0.0 MiB")));
}

TEST(Scheduler, AShortAnswerComesBeforeTheEndOfALongOne) {
  LaterModel model;
  Scheduler scheduler(model.opener(), {.most_waiting = 2, .turn = std::chrono::milliseconds(1)}, [] {});
  const auto endless = std::make_shared<Answering>(question(1, 0));
  const auto brief = std::make_shared<Answering>(question(2, 1));
  EXPECT_TRUE(scheduler.submit(endless));
  EXPECT_TRUE(scheduler.submit(brief));
  EXPECT_FALSE(scheduler.submit(std::make_shared<Answering>(question(3, 1))));  // two wait already
  model.asked();
  EXPECT_EQ(wait_for(*brief).end.reason, "length");
  EXPECT_EQ(wait_for(*endless).end.reason, "context");
}

TEST(Scheduler, WhoIsStoppedOrClosedSaysSo) {
  Loaded loaded({});
  const auto stopped = std::make_shared<Answering>(question(1, 0));
  const auto waits = std::make_shared<Answering>(question(2, 0));
  ASSERT_TRUE(loaded.scheduler->submit(stopped));
  wait_for(*stopped, 2);
  ASSERT_TRUE(loaded.scheduler->submit(waits));
  loaded.scheduler->stop(*stopped);
  const Whole rest = wait_for(*stopped);
  EXPECT_THAT(rest.end.reason, testing::AnyOf("interrupted", "context"));
  loaded.scheduler->close();
  EXPECT_THAT(wait_for(*waits).end.reason, testing::AnyOf("closed", "context"));
  EXPECT_FALSE(loaded.scheduler->submit(std::make_shared<Answering>(question(3, 1))));
}

TEST(Scheduler, TimelinesOfEarlierConversationsAreUsedAgain) {
  Loaded loaded({});
  const auto ask = [&](const AskedFor& asked) {
    const auto answer = std::make_shared<Answering>(asked);
    EXPECT_TRUE(loaded.scheduler->submit(answer));
    return wait_for(*answer);
  };
  const Whole first = ask(question(1, 8));
  EXPECT_EQ(first.reused, 0U);
  EXPECT_LT(ask(question(2, 8)).reused, 40U);
  AskedFor more = question(1, 8);
  more.prompt.insert(more.prompt.end(), first.ids.begin(), first.ids.end());
  more.prompt.push_back(5);
  EXPECT_EQ(ask(more).reused, 48U);
}

TEST(Scheduler, AModelThatCannotBeOpenedIsAFailure) {
  ModelOptions model;
  model.model = BITNET_TEST_MODEL;
  OpenModel open = [](const std::function<bool(double)>&, const std::string&) -> LoadedModel {
    throw Error(ErrorKind::device, "there is none");
  };
  std::atomic<int> told = 0;
  Scheduler scheduler(open, {}, [&] { ++told; });
  while (!scheduler.failure()) std::this_thread::yield();
  EXPECT_STREQ(scheduler.failure()->what(), "there is none");
  EXPECT_FALSE(scheduler.submit(std::make_shared<Answering>(question(1, 1))));
}

}  // namespace
}  // namespace bitnet
