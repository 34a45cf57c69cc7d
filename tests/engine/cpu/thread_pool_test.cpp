// Tests the threads of the CPU backend.
#include "engine/cpu/thread_pool.h"

#include <gtest/gtest.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <latch>
#include <mutex>
#include <numeric>
#include <set>
#include <thread>

namespace bitnet::cpu {
namespace {

TEST(ThreadPool, AStepSeesAllThatTheStepBeforeItWrote) {
  for (const unsigned threads : {1U, 2U, 5U}) {
    ThreadPool pool(threads);
    for (uint32_t units = 1; units <= 40; ++units) {
      std::vector<uint32_t> values(units), sums(units), again(1);
      const Step steps[] = {
          {units, each([&](uint32_t unit, CacheLine*) { values[unit] = unit + units; })},
          {0, each([&](uint32_t, CacheLine*) { ADD_FAILURE(); })},
          {.units = units,
           .work = each(
               [&](uint32_t unit, CacheLine*) { sums[unit] = std::reduce(values.begin(), values.end()); }),
           .together = 3},
          {1, each([&](uint32_t, CacheLine*) { again[0] = std::reduce(sums.begin(), sums.end()); })},
          {units, each([&](uint32_t unit, CacheLine*) { values[unit] = again[0]; })},
      };
      for (int round = 0; round < 20; ++round) {
        pool.run(steps);
        const uint32_t sum = units * units + units * (units - 1) / 2;
        ASSERT_EQ(sums, std::vector<uint32_t>(units, sum));
        ASSERT_EQ(values, std::vector<uint32_t>(units, sum * units));
      }
    }
    pool.run({});
  }
}

TEST(ThreadPool, EveryUnitIsDoneOnceWithMemoryOfItsOwn) {
  ThreadPool pool(7);
  pool.reserve_scratch(3);
  std::vector<std::atomic<int>> done(1000);
  std::mutex mutex;
  std::set<CacheLine*> scratch;
  const auto work = each([&](uint32_t unit, CacheLine* own) {
    own[2].bytes[63] = std::byte{1};
    ++done[unit];
    const std::lock_guard lock(mutex);
    scratch.insert(own);
  });
  const Step step{.units = 1000, .work = work, .together = ThreadPool::kMostTogether};
  pool.run({&step, 1});
  for (const auto& times : done) EXPECT_EQ(times, 1);
  EXPECT_LE(scratch.size(), 7U);
}

TEST(ThreadPool, AThreadPreparesEachStepOnceBeforeItsFirstUnit) {
  constexpr uint32_t kUnits = 50, kSteps = 20;
  for (const unsigned threads : {1U, 4U}) {
    ThreadPool pool(threads);
    std::atomic<uint32_t> prepared = 0, done = 0;
    std::vector<Step> steps;
    for (uint32_t i = 1; i <= kSteps; ++i) {
      const auto mark = static_cast<std::byte>(i);
      steps.push_back({i % 3 == 0 ? 1 : kUnits,
                       each([&, mark](uint32_t, CacheLine* own) { done += own[0].bytes[0] == mark ? 1 : 0; }),
                       [&, mark](CacheLine* own) {
                         ++prepared;
                         own[0].bytes[0] = mark;
                       }});
    }
    uint32_t units = 0;
    for (const Step& step : steps) units += step.units;
    pool.run(steps);
    EXPECT_EQ(done, units);
    EXPECT_GE(prepared, kSteps);
    EXPECT_LE(prepared, kSteps * threads);
  }
}

// stand_still() stops a thread wherever it is, as if another program had pushed it off its core, until the
// gate has an end.
std::atomic<int> standing;
int gate[2];
void stand_still(int) {
  ++standing;
  char byte = 0;
  while (read(gate[0], &byte, 1) < 0 && errno == EINTR) {
  }
  --standing;
}

TEST(ThreadPool, AThreadThatIsAwayHoldsUpNoOther) {
  constexpr unsigned kThreads = 6;
  ThreadPool pool(kThreads);
  std::vector<pthread_t> ids(kThreads);
  std::latch all_there(kThreads);
  const Step meet{kThreads, each([&](uint32_t unit, CacheLine*) {
                    ids[unit] = pthread_self();
                    all_there.arrive_and_wait();  // so no thread takes two
                  })};
  pool.run({&meet, 1});
  ASSERT_EQ(pipe(gate), 0);
  struct sigaction action {};
  action.sa_handler = stand_still;
  ASSERT_EQ(sigaction(SIGUSR1, &action, nullptr), 0);
  // Again and again: ThreadSanitizer keeps a signal that comes while a thread falls asleep until it wakes.
  while (standing != kThreads - 1) {
    for (const pthread_t id : ids)
      if (id != pthread_self()) pthread_kill(id, SIGUSR1);
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }

  std::atomic<int> done = 0;
  const std::vector<Step> steps(10, Step{50, each([&](uint32_t, CacheLine*) { ++done; })});
  pool.run(steps);
  EXPECT_EQ(done, 500);

  close(gate[1]);
  std::latch again(kThreads);
  const Step meet_again{kThreads, each([&](uint32_t, CacheLine*) { again.arrive_and_wait(); })};
  pool.run({&meet_again, 1});  // they are back
  while (standing != 0) std::this_thread::yield();
  signal(SIGUSR1, SIG_IGN);  // one may still be on its way
  close(gate[0]);
}

TEST(ThreadPool, AsManyThreadsAsThereAreCoresAreUsable) {
  EXPECT_GE(usable_threads(), 1U);
  EXPECT_GE(most_threads(), usable_threads());
}

}  // namespace
}  // namespace bitnet::cpu
