#include "thread_pool.h"

#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <fstream>
#include <numeric>
#include <set>
#include <sstream>

namespace bitnet::cpu {
namespace {

// Polls until `changed`, and returns false when that takes long. There is no pause instruction in the loop: a
// hypervisor takes a series of them for a lock that is held elsewhere and gives the core away, which made a
// wait 10 to 20 us long instead of 1. No other thread shares the core that would profit from a pause.
template <typename Changed>
bool spin(Changed changed) {
  constexpr std::chrono::microseconds kLong{50};
  constexpr int kLooks = 256;  // between looks at the clock
  const auto start = std::chrono::steady_clock::now();
  do {
    for (int i = 0; i < kLooks; ++i)
      if (changed()) return true;
  } while (std::chrono::steady_clock::now() - start < kLong);
  return false;
}

// A thread fetches at most so much of each of two runs ahead of its step; second caches have 256 KB and more.
constexpr size_t kMostFetched = 96 << 10;

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

// The smallest of the quotas of a group and of all groups above it; 0 = none.
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

// The numbers of the processors that this process may run on.
std::vector<int> processors() {
  // A machine may have more processors than cpu_set_t has room for; then the kernel returns EINVAL.
  for (int room = CPU_SETSIZE; room <= 64 * CPU_SETSIZE; room *= 2) {
    cpu_set_t* set = CPU_ALLOC(static_cast<size_t>(room));
    if (set == nullptr) break;
    const size_t bytes = CPU_ALLOC_SIZE(static_cast<size_t>(room));
    std::vector<int> found;
    const bool known = sched_getaffinity(0, bytes, set) == 0;
    for (int cpu = 0; known && cpu < room; ++cpu)
      if (CPU_ISSET_S(static_cast<size_t>(cpu), bytes, set)) found.push_back(cpu);
    CPU_FREE(set);
    if (known && !found.empty()) return found;
  }
  std::vector<int> all(std::max(1U, std::thread::hardware_concurrency()));
  std::iota(all.begin(), all.end(), 0);
  return all;
}

unsigned within_quota(size_t threads) {
  std::stringstream proc;
  proc << std::ifstream("/proc/self/cgroup").rdbuf();
  const unsigned limit = cgroup_processors(proc.str(), "/sys/fs/cgroup");
  return limit == 0 ? static_cast<unsigned>(threads) : std::min(static_cast<unsigned>(threads), limit);
}

}  // namespace

ThreadPool::ThreadPool(unsigned threads)
    : size_(std::max(1U, threads)), shares_(size_), scratch_(size_, Scratch(1)), fetched_(size_) {
  for (unsigned i = 1; i < size_; ++i) threads_.emplace_back([this, i] { serve(i); });
}

ThreadPool::~ThreadPool() {
  stop_ = true;
  tell();
  for (std::thread& t : threads_) t.join();
}

void ThreadPool::reserve_scratch(size_t lines) {
  for (Scratch& s : scratch_) s.resize(std::max(s.size(), lines));
}

void ThreadPool::run(std::span<const Step> steps) {
  first_ = steps.data();
  end_ = steps.data() + steps.size();
  running_.store(true, std::memory_order_relaxed);
  go_on(steps.data(), 0);
  while (true) {
    const uint32_t seen = changes_.load(std::memory_order_acquire);
    take_units(0);
    if (!running_.load(std::memory_order_acquire)) return;
    wait_for_change(seen, 0);
  }
}

void ThreadPool::serve(unsigned thread) {
  while (true) {
    const uint32_t seen = changes_.load(std::memory_order_acquire);
    if (stop_) return;
    take_units(thread);
    wait_for_change(seen, thread);
  }
}

// Takes units until there are none left. A step cannot end before the units that were taken of it are
// reported, so all units between two reports belong to one step, and step_ is that step.
void ThreadPool::take_units(unsigned thread) {
  while (true) {
    uint32_t taken = 0, units = 0;
    for (unsigned i = 0; i < size_; ++i) {
      Share& share = shares_[(thread + i) % size_];
      uint64_t left = share.left.load(std::memory_order_acquire);
      while (static_cast<uint32_t>(left) != 0) {
        if (!share.left.compare_exchange_weak(left, left - 1, std::memory_order_acquire)) continue;
        units = step_->units;
        step_->work(share.end.load(std::memory_order_relaxed) - static_cast<uint32_t>(left),
                    scratch_[thread].data());
        ++taken;
        left = share.left.load(std::memory_order_acquire);
      }
    }
    if (taken == 0) return;
    if (done_.fetch_add(taken, std::memory_order_acq_rel) + taken == units) go_on(step_ + 1, thread);
  }
}

// A step of a single unit is done at once, which takes less time than waking another thread for it.
void ThreadPool::go_on(const Step* step, unsigned thread) {
  for (; step != end_ && step->units <= 1; ++step)
    if (step->units == 1) step->work(0, scratch_[thread].data());
  if (step != end_)
    hand_out(*step);
  else
    running_.store(false, std::memory_order_release);
  tell();
}

void ThreadPool::hand_out(const Step& step) {
  step_ = &step;
  ++number_;
  done_.store(0, std::memory_order_relaxed);
  const auto has_weights = [](const Step& s) { return !s.weights.empty(); };
  const Step* next = std::find_if(&step + 1, end_, has_weights);
  if (next == end_) next = std::find_if(first_, end_, has_weights);  // of the next token
  for (unsigned i = 0; i < size_; ++i) {
    Share& share = shares_[i];
    const UnitRange units = share_of(step.units, i, size_);
    for (size_t part = 0; next != end_ && part < share.next.size(); ++part) {
      const auto weights = next->weights[i].parts[part];
      share.next[part].begin.store(weights.data(), std::memory_order_relaxed);
      share.next[part].bytes.store(static_cast<uint32_t>(std::min(weights.size(), kMostFetched)),
                                   std::memory_order_relaxed);
    }
    share.end.store(units.end, std::memory_order_relaxed);
    share.left.store(uint64_t{number_} << 32 | (units.end - units.begin), std::memory_order_release);
  }
}

// Either the sleeper sees the change, or this call sees that it sleeps.
void ThreadPool::tell() {
  changes_.fetch_add(1);
  if (sleepers_.load() != 0) changes_.notify_all();
}

// Returns true where something has changed meanwhile. A thread goes on where it was when it had to stop.
bool ThreadPool::fetch_next(uint32_t seen, unsigned thread) {
  constexpr size_t kLine = 64, kLines = 8;  // between two looks
  constexpr int kToSecondCache = 2;
  for (size_t part = 0; part < shares_[thread].next.size(); ++part) {
    std::span<const std::byte>& fetched = fetched_[thread].parts[part];
    const std::byte* begin = shares_[thread].next[part].begin.load(std::memory_order_relaxed);
    const uint32_t bytes = shares_[thread].next[part].bytes.load(std::memory_order_relaxed);
    if (begin != fetched.data()) fetched = {begin, 0};
    while (fetched.size() < bytes) {
      if (changes_.load(std::memory_order_acquire) != seen) return true;
      for (size_t line = 0; line < kLines; ++line)
        __builtin_prefetch(begin + fetched.size() + line * kLine, 0, kToSecondCache);
      fetched = {begin, fetched.size() + kLine * kLines};
    }
  }
  return false;
}

void ThreadPool::wait_for_change(uint32_t seen, unsigned thread) {
  if (fetch_next(seen, thread)) return;
  if (spin([&] { return changes_.load(std::memory_order_acquire) != seen; })) return;
  sleepers_.fetch_add(1);
  changes_.wait(seen);
  sleepers_.fetch_sub(1, std::memory_order_relaxed);
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
  std::set<std::string> siblings;  // the hardware threads of a core give the same list
  for (const int cpu : processors()) {
    const std::string name = std::to_string(cpu);
    const std::string core =
        first_line("/sys/devices/system/cpu/cpu" + name + "/topology/thread_siblings_list");
    siblings.insert(core.empty() ? name : core);
  }
  return within_quota(siblings.size());
}

unsigned most_threads() { return within_quota(processors().size()); }

}  // namespace bitnet::cpu
