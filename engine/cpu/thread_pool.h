// Threads that work through a list of steps together. Each step is cut into units that may be done in any
// order and on any thread. All units of a step are done before the next step begins.
//
// Thread rule: one thread at a time owns a pool. It calls run, in which it does its share of the work.
//
// A step waits for its units and not for the threads: a thread that another program has pushed off its core
// delays no more than the units that it was working on, and the others take the units that it had not begun.
// A thread that finds nothing to do polls for 50 microseconds, in case the next step or the next token comes
// at once; then it sleeps in the kernel and uses no processor time.
//
// While it polls it fetches into its second cache what the next step reads of other threads' results, which
// are there but for those of the last units, and the weights that its share of a later step begins with, so
// that memory is not idle while one thread works alone or the last units are being done.
//
// Each thread has a share of neighbouring units of a step. Whatever all threads write or wait for costs
// microseconds where there are many of them, so nobody hands the shares out: a share is begun by the first
// thread that takes a unit of it, which is its own thread if that is not away.
//
//   take_units    every thread takes units from its own share, then from those of the others
//   report        counts units that are done, some threads together on a cache line
//   go_on         whoever reports the last unit done tells all of the next step
#pragma once

#include <array>
#include <atomic>
#include <bit>
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

// Results of other threads that every thread reads.
using Results = std::array<std::span<const std::byte>, 4>;

// The units [begin, end)
struct UnitRange {
  uint32_t begin, end;
};

// work(units, scratch) for all below `units`, some at a time. It must not throw.
struct Step {
  uint32_t units = 0;
  std::function<void(UnitRange units, CacheLine* scratch)> work;
  // What a thread does before the first unit that it takes of the step; it finds the same scratch in `work`.
  std::function<void(CacheLine* scratch)> prepare = {};
  // [threads of the pool]: what the share of a thread reads, from its first unit on. Empty where a step has
  // nothing that is worth fetching.
  std::vector<Weights> weights = {};
  // What `prepare` reads; asked for while the step before is being worked on.
  std::function<Results()> inputs = {};
  // As many neighbouring units are done by one call of `work`, but no more than half of those that are left
  // of a share. At most ThreadPool::kMostTogether.
  uint32_t together = 1;
};

// The `work` of a step that does its units one by one.
template <typename Work>
auto each(Work work) {
  return [work = std::move(work)](UnitRange units, CacheLine* scratch) {
    for (uint32_t unit = units.begin; unit != units.end; ++unit) work(unit, scratch);
  };
}

// The units that are handed to a thread first.
inline UnitRange share_of(uint32_t units, unsigned thread, unsigned threads) {
  return {static_cast<uint32_t>(uint64_t{units} * thread / threads),
          static_cast<uint32_t>(uint64_t{units} * (thread + 1) / threads)};
}

class ThreadPool {
 public:
  static constexpr uint32_t kMostTogether = 15, kMostUnits = (1U << 24) - 1;  // of a step

  // The caller of run included, so at least 1. Throws Error(runtime) where so many cannot be had.
  explicit ThreadPool(unsigned threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  unsigned size() const { return size_; }
  void reserve_scratch(size_t lines);  // for each thread, at least; not during run
  // Returns when all steps are done; `steps` is not needed after that.
  void run(std::span<const Step> steps);

 private:
  void stop();
  // What the threads work on: the number of the step in the upper bits, then how many units are taken
  // together, and in the lower ones how many it has, or 0 where the list is done; in one word, so that a
  // thread which was delayed cannot take the units of one step for another's.
  class Now {
   public:
    explicit Now(uint64_t word) : word_(word) {}
    Now(Now of, uint32_t units) : word_(of.word_ >> kUnitBits << kUnitBits | units) {}
    Now next(uint32_t units, uint32_t together) const {
      return Now((number() + 1) << kNumberBit | uint64_t{together} << kUnitBits | units);
    }
    uint64_t word() const { return word_; }
    uint64_t number() const { return word_ >> kNumberBit; }
    uint32_t units() const { return static_cast<uint32_t>(word_) & kMostUnits; }
    uint32_t together() const { return static_cast<uint32_t>(word_ >> kUnitBits) & kMostTogether; }
    bool is_after(Now o) const { return static_cast<int64_t>((number() - o.number()) << kNumberBit) > 0; }

   private:
    static constexpr int kUnitBits = static_cast<int>(std::bit_width(kMostUnits)), kNumberBit = kUnitBits + 4;
    uint64_t word_;
  };

  struct alignas(64) Share {
    // A Now: the last step of which a unit was taken, and how many of its units are left
    std::atomic<uint64_t> left = 0;
  };
  struct alignas(64) Count {
    std::atomic<uint32_t> done = 0;  // units of the step; whoever counts the last one sets it to 0
  };
  // What belongs to a thread alone
  struct alignas(64) Own {
    Scratch scratch = Scratch(1);
    uint64_t prepared = 0;  // the number of the last step that it prepared
    // Inputs of the next step and weights of the next one that has any, and how much of them was fetched.
    // They may be out of date, or no longer there: fetching does no harm then.
    struct Run {
      const std::byte* begin = nullptr;
      size_t bytes = 0, fetched = 0;
    };
    std::array<Run, std::tuple_size_v<Results>> inputs;
    std::array<Run, 2> next;
  };

  void serve(unsigned thread);
  void take_units(unsigned thread, Now now);
  uint32_t take_from(unsigned share, unsigned thread, Now now);
  bool report(unsigned share, uint32_t taken, Now now);
  void go_on(const Step* step, unsigned thread);
  void choose_next(const Step& step, unsigned thread);
  void tell(uint32_t units, uint32_t together);
  void wait_for_change(uint64_t seen, unsigned thread);
  bool fetch_next(uint64_t seen, Own& own);

  const unsigned size_;
  std::vector<Own> own_;
  std::vector<Share> shares_;
  std::vector<Count> counts_;  // of kTogether shares each
  Count all_;                  // units that are done, of those of counts_ that are complete
  // All threads poll this line. The step that is being done is written only while none of its units is being
  // worked on.
  alignas(64) std::atomic<uint64_t> now_ = 0;  // a Now
  const Step* step_ = nullptr;
  const Step* first_ = nullptr;                     // of the list
  const Step* end_ = nullptr;                       // of the list
  alignas(64) std::atomic<uint32_t> changes_ = 0;   // what sleeping threads wait for
  alignas(64) std::atomic<uint32_t> sleepers_ = 0;  // threads that may be waiting in the kernel
  std::atomic<bool> stop_ = false;
  std::vector<std::thread> threads_;
};

// How many threads are useful here: as many as this process has cores to run on (not counting the hardware
// threads of a core), and no more than the control group's share of processor time allows.
unsigned usable_threads();

// How many threads can run here at once: as above, but every hardware thread of a core counts.
unsigned most_threads();

}  // namespace bitnet::cpu
