#include "thread_pool.h"

#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <numeric>
#include <set>
#include <system_error>

#include "engine/control_groups.h"
#include "engine/error.h"

namespace bitnet::cpu {
namespace {

// Polls until `changed`, and returns false when that takes long. There is no pause instruction in the loop: a
// hypervisor takes a series of them for a lock that is held elsewhere and gives the core away, which made a
// wait 10 to 20 us long instead of 1.
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

// Threads that count what they have done on the same cache line
constexpr unsigned kTogether = 4;

// A thread fetches at most so much of each of two runs ahead of its step; second caches have 256 KB and more.
constexpr size_t kMostFetched = 96 << 10;

std::string first_line(const std::string& path) {
  std::string line;
  std::ifstream file(path);
  std::getline(file, line);
  return line;
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
  const unsigned limit = cgroup_processors();
  return limit == 0 ? static_cast<unsigned>(threads) : std::min(static_cast<unsigned>(threads), limit);
}

}  // namespace

ThreadPool::ThreadPool(unsigned threads)
    : size_(std::max(1U, threads)),
      own_(size_),
      shares_(size_),
      counts_((size_ + kTogether - 1) / kTogether) {
  try {
    for (unsigned i = 1; i < size_; ++i) threads_.emplace_back([this, i] { serve(i); });
  } catch (const std::system_error& error) {
    const size_t begun = threads_.size() + 1;
    stop();
    throw Error(ErrorKind::runtime, fmt::format("{} threads cannot be had, only {} ({}); try --threads {}",
                                                size_, begun, error.what(), begun));
  }
}

ThreadPool::~ThreadPool() { stop(); }

void ThreadPool::stop() {
  stop_ = true;
  tell(0, 1);
  for (std::thread& t : threads_) t.join();
}

void ThreadPool::reserve_scratch(size_t lines) {
  for (Own& own : own_) own.scratch.resize(std::max(own.scratch.size(), lines));
}

void ThreadPool::run(std::span<const Step> steps) {
  first_ = steps.data();
  end_ = steps.data() + steps.size();
  go_on(steps.data(), 0);
  while (true) {
    const uint64_t seen = now_.load(std::memory_order_acquire);
    if (Now(seen).units() == 0) return;
    take_units(0, Now(seen));
    wait_for_change(seen, 0);
  }
}

void ThreadPool::serve(unsigned thread) {
  while (true) {
    const uint64_t seen = now_.load(std::memory_order_acquire);
    if (stop_) return;
    take_units(thread, Now(seen));
    wait_for_change(seen, thread);
  }
}

// Takes units until there are none left. They are reported a share at a time, and before the other shares are
// looked at, since all wait for the last report.
void ThreadPool::take_units(unsigned thread, Now now) {
  for (unsigned i = 0; i < size_; ++i) {
    const unsigned share = (thread + i) % size_;
    const uint32_t taken = take_from(share, thread, now);
    if (taken != 0 && report(share, taken, now)) return go_on(step_ + 1, thread);
  }
}

// A step cannot end before the units that were taken of it are reported, so step_ is this step for as long as
// a unit is held. Until one is held, nothing but `now` may be looked at.
uint32_t ThreadPool::take_from(unsigned share, unsigned thread, Now now) {
  const UnitRange units = share_of(now.units(), share, size_);
  if (units.begin == units.end) return 0;
  Own& own = own_[thread];
  std::atomic<uint64_t>& left = shares_[share].left;
  uint32_t taken = 0;
  uint64_t seen = left.load(std::memory_order_acquire);
  while (true) {
    const bool begun = Now(seen).number() == now.number();
    // It is a later step where this thread was delayed: this step has ended, so none of its shares is
    // unbegun.
    if (begun ? Now(seen).units() == 0 : Now(seen).is_after(now)) return taken;
    const uint32_t there = begun ? Now(seen).units() : units.end - units.begin;
    const uint32_t some = std::clamp(there / 2, 1U, now.together());
    if (!left.compare_exchange_weak(seen, Now(now, there - some).word(), std::memory_order_acq_rel,
                                    std::memory_order_acquire))
      continue;
    const bool first = own.prepared != now.number();
    own.prepared = now.number();
    if (first && step_->prepare) step_->prepare(own.scratch.data());
    step_->work({units.end - there, units.end - there + some}, own.scratch.data());
    if (first) choose_next(*step_, thread);
    taken += some;
    seen = left.load(std::memory_order_acquire);
  }
}

void ThreadPool::choose_next(const Step& step, unsigned thread) {
  // A step of one unit is done by whoever ended the step before.
  const Step* soon = std::find_if(&step + 1, end_, [](const Step& s) { return s.units > 1; });
  const Results inputs = soon != end_ && soon->inputs ? soon->inputs() : Results();
  for (size_t i = 0; i < inputs.size(); ++i) own_[thread].inputs[i] = {inputs[i].data(), inputs[i].size(), 0};
  const auto has_weights = [](const Step& s) { return !s.weights.empty(); };
  const Step* next = std::find_if(&step + 1, end_, has_weights);
  if (next == end_) next = std::find_if(first_, end_, has_weights);  // of the next token
  auto& runs = own_[thread].next;
  for (size_t part = 0; next != end_ && part < runs.size(); ++part) {
    const auto weights = next->weights[thread].parts[part];
    if (runs[part].begin != weights.data())
      runs[part] = {weights.data(), std::min(weights.size(), kMostFetched), 0};
  }
}

// Whether these were the last units of the step.
bool ThreadPool::report(unsigned share, uint32_t taken, Now now) {
  const unsigned first = share / kTogether * kTogether, last = std::min(first + kTogether, size_) - 1;
  const uint32_t units = share_of(now.units(), last, size_).end - share_of(now.units(), first, size_).begin;
  const auto counts = [](Count& count, uint32_t more, uint32_t most) {
    const bool complete = count.done.fetch_add(more, std::memory_order_acq_rel) + more == most;
    if (complete) count.done.store(0, std::memory_order_relaxed);
    return complete;
  };
  return counts(counts_[first / kTogether], taken, units) && counts(all_, units, now.units());
}

// A step of a single unit is done at once, which takes less time than waking another thread for it. No units
// are told of at the end of the list. Then run may return and begin another list at once, so that telling
// comes last.
void ThreadPool::go_on(const Step* step, unsigned thread) {
  for (; step != end_ && step->units <= 1; ++step) {
    if (step->units == 0) continue;
    if (step->prepare) step->prepare(own_[thread].scratch.data());
    step->work({0, 1}, own_[thread].scratch.data());
  }
  step_ = step;
  step == end_ ? tell(0, 1) : tell(step->units, step->together);
}

// Either the sleeper sees the new word, or this call sees that it sleeps.
void ThreadPool::tell(uint32_t units, uint32_t together) {
  now_.store(Now(now_.load(std::memory_order_relaxed)).next(units, together).word());
  if (sleepers_.load() == 0) return;
  changes_.fetch_add(1);
  changes_.notify_all();
}

// Returns true where something has changed meanwhile. A thread goes on where it was when it had to stop.
bool ThreadPool::fetch_next(uint64_t seen, Own& own) {
  constexpr size_t kLine = 64, kLines = 8;  // between two looks
  constexpr int kToSecondCache = 2;
  const auto fetch = [&](auto& runs) {
    for (Own::Run& run : runs)
      while (run.fetched < run.bytes) {
        if (now_.load(std::memory_order_acquire) != seen) return true;
        for (size_t line = 0; line < kLines; ++line)
          __builtin_prefetch(run.begin + run.fetched + line * kLine, 0, kToSecondCache);
        run.fetched += kLine * kLines;
      }
    return false;
  };
  return fetch(own.inputs) || fetch(own.next);
}

void ThreadPool::wait_for_change(uint64_t seen, unsigned thread) {
  if (fetch_next(seen, own_[thread])) return;
  const auto changed = [&] { return now_.load() != seen; };
  if (spin(changed)) return;
  sleepers_.fetch_add(1);
  const uint32_t changes = changes_.load();
  if (!changed()) changes_.wait(changes);
  sleepers_.fetch_sub(1, std::memory_order_relaxed);
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
