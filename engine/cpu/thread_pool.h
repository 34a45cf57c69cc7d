// Threads that run one function together, again and again, with barriers inside it.
//
// Thread rule: one thread at a time owns a pool and calls run; barrier is for the threads inside run.
//
// Between runs the threads sleep in the kernel: they spin for about a tenth of a millisecond in case the
// next token comes at once, and take no time afterwards. At a barrier they spin, and give way to others after
// a while, so that a machine with less cores free than threads still gets on.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <thread>
#include <vector>

namespace bitnet::cpu {

class ThreadPool {
 public:
  explicit ThreadPool(unsigned threads);  // the caller of run included, so at least 1
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  unsigned size() const { return size_; }
  // work(0) here and work(1) ... work(size() - 1) on the threads; returns when all have. It must not throw.
  void run(const std::function<void(unsigned thread)>& work);
  void barrier();

 private:
  void serve(unsigned thread);

  const unsigned size_;
  const std::function<void(unsigned)>* work_ = nullptr;
  // On lines of their own: all threads look at them all the time.
  alignas(64) std::atomic<uint32_t> round_ = 0;     // counts runs
  alignas(64) std::atomic<uint64_t> arrivals_ = 0;  // at barriers, of all threads together
  alignas(64) bool stop_ = false;  // written before round_ moves
  std::vector<std::thread> threads_;
};

// How many threads make sense here: the cores (not their hardware threads) this process may run on, and no
// more than the control group's share of processor time.
unsigned usable_threads();

// Whole processors that the limits of a control group leave, rounded up; 0 where there is no limit. `proc` is
// the text of /proc/self/cgroup, `root` where the cgroup file systems are mounted (/sys/fs/cgroup).
unsigned cgroup_processors(const std::string& proc, const std::string& root);

}  // namespace bitnet::cpu
