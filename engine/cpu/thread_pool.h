// Threads that work through a list of steps together. Each step is cut into units that may be done in any
// order and on any thread. All units of a step are done before the next step begins.
//
// Thread rule: one thread at a time owns a pool. It calls run, in which it does its share of the work.
//
// A step waits for its units and not for the threads: a thread that another program has pushed off its core
// delays no more than the unit that it was working on, and the others take the units that it had not begun. A
// thread that finds nothing to do polls for 50 microseconds, in case the next step or the next token comes at
// once; then it sleeps in the kernel and uses no processor time.
//
// While it polls it fetches the weights that its share of a later step begins with into its second cache, so
// that memory is not idle while one thread works alone or the last units are being done.
//
//   hand_out      one thread cuts the step into a share of neighbouring units for each thread
//   take_units    every thread takes units from its own share, then from those of the others
//   go_on         whoever reports the last unit done hands out the next step
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <thread>
#include <vector>

namespace bitnet::cpu {

struct alignas(64) CacheLine {
  std::byte bytes[64];
};
using Scratch = std::vector<CacheLine>;  // a thread's own working memory

// Up to two runs of memory.
struct Weights {
  std::array<std::span<const std::byte>, 2> parts;
};

// work(unit, scratch) for every unit below `units`. It must not throw.
struct Step {
  uint32_t units = 0;
  std::function<void(uint32_t unit, CacheLine* scratch)> work;
  // [threads of the pool]: what the share of a thread reads, from its first unit on. Empty where a step has
  // nothing that is worth fetching.
  std::vector<Weights> weights = {};
};

// The units [begin, end) that are handed to a thread first.
struct UnitRange {
  uint32_t begin, end;
};
inline UnitRange share_of(uint32_t units, unsigned thread, unsigned threads) {
  return {static_cast<uint32_t>(uint64_t{units} * thread / threads),
          static_cast<uint32_t>(uint64_t{units} * (thread + 1) / threads)};
}

class ThreadPool {
 public:
  explicit ThreadPool(unsigned threads);  // the caller of run included, so at least 1
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  unsigned size() const { return size_; }
  void reserve_scratch(size_t lines);  // for each thread, at least; not during run
  // Returns when all steps are done; `steps` is not needed after that.
  void run(std::span<const Step> steps);

 private:
  // Lies on a cache line of its own, since its thread polls it.
  struct alignas(64) Share {
    // The upper half is the step's number, the lower half how many units are left, so that a thread which was
    // delayed cannot take a unit of a later step for one of its own.
    std::atomic<uint64_t> left = 0;
    std::atomic<uint32_t> end = 0;  // behind the last unit; belongs to the step of `left`
    // Weights of the next step that has any. They may be out of date, or no longer there: fetching does no
    // harm then.
    struct Run {
      std::atomic<const std::byte*> begin = nullptr;
      std::atomic<uint32_t> bytes = 0;
    };
    std::array<Run, 2> next;
  };
  // How much of its share's `next` a thread has fetched
  struct alignas(64) Fetched {
    std::array<std::span<const std::byte>, 2> parts;
  };

  void serve(unsigned thread);
  void take_units(unsigned thread);
  void go_on(const Step* step, unsigned thread);
  void hand_out(const Step& step);
  void tell();
  void wait_for_change(uint32_t seen, unsigned thread);
  bool fetch_next(uint32_t seen, unsigned thread);

  const unsigned size_;
  std::vector<Share> shares_;
  std::vector<Scratch> scratch_;
  std::vector<Fetched> fetched_;  // each belongs to its thread
  // The step that is being done; written only while none of its units is being worked on.
  const Step* step_ = nullptr;
  const Step* first_ = nullptr;                     // of the list
  const Step* end_ = nullptr;                       // of the list
  uint32_t number_ = 0;                             // counts steps
  alignas(64) std::atomic<uint32_t> done_ = 0;      // units
  alignas(64) std::atomic<uint32_t> changes_ = 0;   // counts what threads may wait for
  alignas(64) std::atomic<uint32_t> sleepers_ = 0;  // threads that may be waiting in the kernel
  std::atomic<bool> running_ = false;
  std::atomic<bool> stop_ = false;
  std::vector<std::thread> threads_;
};

// How many threads are useful here: as many as this process has cores to run on (not counting the hardware
// threads of a core), and no more than the control group's share of processor time allows.
unsigned usable_threads();

// How many threads can run here at once: as above, but every hardware thread of a core counts.
unsigned most_threads();

// Whole processors that the limits of a control group leave, rounded up; 0 where there is no limit. `proc` is
// the text of /proc/self/cgroup, `root` where the cgroup file systems are mounted (/sys/fs/cgroup).
unsigned cgroup_processors(const std::string& proc, const std::string& root);

}  // namespace bitnet::cpu
