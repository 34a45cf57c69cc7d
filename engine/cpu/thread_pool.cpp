#include "cpu/thread_pool.h"

#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <fstream>
#include <set>
#include <sstream>

namespace bitnet::cpu {
namespace {

// Waits until `changed`, in the way of a short wait; false when it has become a long one. No pause
// instruction between the looks: a hypervisor takes a row of them for a lock that is held elsewhere and gives
// the core away, which made a barrier 10 to 20 us long instead of 1. There is no second thread on the core to
// be kind to.
template <typename Changed>
bool spin(Changed changed) {
  constexpr std::chrono::microseconds kLong{100};
  constexpr int kLooks = 256;  // between looks at the clock
  const auto start = std::chrono::steady_clock::now();
  do {
    for (int i = 0; i < kLooks; ++i)
      if (changed()) return true;
  } while (std::chrono::steady_clock::now() - start < kLong);
  return false;
}

std::string first_line(const std::string& path) {
  std::string line;
  std::ifstream file(path);
  std::getline(file, line);
  return line;
}

double number_or(const std::string& text, double otherwise) {
  std::istringstream in(text);
  double value = 0;
  return in >> value ? value : otherwise;
}

// The least of the quotas of a group and of all above it; 0 = none.
template <typename Quota>
double least_quota(std::string group, Quota quota_of) {
  double least = 0;
  while (true) {
    const double quota = quota_of(group);
    if (quota > 0 && (least == 0 || quota < least)) least = quota;
    if (group.empty()) return least;
    group.resize(std::min(group.size(), group.rfind('/') == std::string::npos ? 0 : group.rfind('/')));
  }
}

}  // namespace

ThreadPool::ThreadPool(unsigned threads) : size_(std::max(1U, threads)) {
  for (unsigned i = 1; i < size_; ++i) threads_.emplace_back([this, i] { serve(i); });
}

ThreadPool::~ThreadPool() {
  stop_ = true;
  round_.fetch_add(1, std::memory_order_release);
  round_.notify_all();
  for (std::thread& t : threads_) t.join();
}

void ThreadPool::run(const std::function<void(unsigned)>& work) {
  work_ = &work;
  if (size_ > 1) {
    round_.fetch_add(1, std::memory_order_release);
    round_.notify_all();
  }
  work(0);
  barrier();
}

void ThreadPool::serve(unsigned thread) {
  uint32_t seen = 0;
  while (true) {
    if (!spin([&] { return round_.load(std::memory_order_acquire) != seen; }))
      round_.wait(seen, std::memory_order_acquire);
    ++seen;  // run does not return before all threads are past the barrier, so rounds come one by one
    if (stop_) return;
    (*work_)(thread);
    barrier();
  }
}

// One counter that only grows: who comes last wakes the others with the very write that says so.
void ThreadPool::barrier() {
  const uint64_t passed = (arrivals_.fetch_add(1, std::memory_order_acq_rel) / size_ + 1) * size_;
  while (!spin([&] { return arrivals_.load(std::memory_order_acquire) >= passed; })) sched_yield();
}

unsigned cgroup_processors(const std::string& proc, const std::string& root) {
  double least = 0;
  std::istringstream lines(proc);
  for (std::string line; std::getline(lines, line);) {  // "0::/group", or "4:cpu,cpuacct:/group" of version 1
    const size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = fmt::format(",{},", line.substr(first + 1, second - first - 1));
    std::string group = line.substr(second + 1);
    if (group == "/") group.clear();
    double quota = 0;
    if (controllers == ",,") {
      quota = least_quota(group, [&](const std::string& g) {
        const std::string text = first_line(root + g + "/cpu.max");  // "max 100000" or "150000 100000"
        const size_t space = text.find(' ');
        if (space == std::string::npos || text.starts_with("max")) return 0.0;
        return number_or(text, 0) / std::max(1.0, number_or(text.substr(space), 100'000));
      });
    } else if (controllers.find(",cpu,") != std::string::npos) {
      quota = least_quota(group, [&](const std::string& g) {
        const double period = number_or(first_line(root + "/cpu" + g + "/cpu.cfs_period_us"), 0);
        return period <= 0 ? 0 : number_or(first_line(root + "/cpu" + g + "/cpu.cfs_quota_us"), 0) / period;
      });
    }
    if (quota > 0 && (least == 0 || quota < least)) least = quota;
  }
  return static_cast<unsigned>(std::ceil(least));
}

unsigned usable_threads() {
  cpu_set_t set;
  unsigned cores = std::max(1U, std::thread::hardware_concurrency());
  if (sched_getaffinity(0, sizeof set, &set) == 0) {
    std::set<std::string> siblings;  // hardware threads of a core name the same set
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
      if (!CPU_ISSET(cpu, &set)) continue;
      const std::string name = std::to_string(cpu);
      const std::string core =
          first_line("/sys/devices/system/cpu/cpu" + name + "/topology/thread_siblings_list");
      siblings.insert(core.empty() ? name : core);
    }
    cores = std::max<unsigned>(1, static_cast<unsigned>(siblings.size()));
  }
  std::stringstream proc;
  proc << std::ifstream("/proc/self/cgroup").rdbuf();
  const unsigned limit = cgroup_processors(proc.str(), "/sys/fs/cgroup");
  return limit == 0 ? cores : std::min(cores, limit);
}

}  // namespace bitnet::cpu
