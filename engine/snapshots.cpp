#include "snapshots.h"

#include <algorithm>

namespace bitnet {
namespace {

// Evaluating so few tokens again is worth no snapshot.
constexpr uint32_t kLeastApart = 64;

// A long text without a marked position has snapshots this far apart.
constexpr uint32_t kMostApart = 4096;

}  // namespace

Snapshots::Snapshots(KvCache& cache, uint64_t budget) : cache_(cache), budget_(budget) {}

void Snapshots::mark(uint32_t position) {
  if (budget_ == 0 || position < cache_.oldest()) return;
  const auto at = std::lower_bound(marks_.begin(), marks_.end(), position);
  if (at == marks_.end() || *at != position) marks_.insert(at, position);
}

void Snapshots::will_write(uint32_t n_tokens, uint32_t end) {
  uint32_t last = snapshots_.empty() ? 0 : snapshots_.back().position;
  for (const uint32_t position : marks_)
    if (position <= n_tokens) last = std::max(last, position);
  if (n_tokens - last >= kMostApart) mark(n_tokens);

  while (due(end)) {
    take(marks_.front());
    marks_.erase(marks_.begin());
  }
  cache_.will_write(end);
}

void Snapshots::take(uint32_t position) {
  if (position - (snapshots_.empty() ? 0 : snapshots_.back().position) < kLeastApart) return;
  const uint64_t bytes = cache_.state_bytes(position);
  if (!make_room(position, bytes)) return;
  auto state = std::make_unique_for_overwrite<std::byte[]>(bytes);
  cache_.take_state(position, {state.get(), bytes});
  snapshots_.push_back({position, bytes, std::move(state)});
}

// Drops snapshots until there is room for one more, at `position` behind all of them. Returns whether there
// can be.
bool Snapshots::make_room(uint32_t position, uint64_t bytes) {
  if (bytes > budget_) return false;
  uint64_t used = 0;
  for (const Snapshot& s : snapshots_) used += s.bytes;
  while (used > budget_ - bytes) {
    // Without a snapshot, a timeline that is cut back to between it and the next one is computed from the one
    // before it. We assume that a position half as far from the end is cut back to twice as often.
    const auto tokens_again = [&](size_t i) {
      const double here = snapshots_[i].position, before = i == 0 ? 0 : snapshots_[i - 1].position,
                   next = i + 1 == snapshots_.size() ? position : snapshots_[i + 1].position;
      return (here - before) * (next - here) / (position - here);
    };
    size_t least = 0;
    for (size_t i = 1; i < snapshots_.size(); ++i)
      if (tokens_again(i) < tokens_again(least)) least = i;
    used -= snapshots_[least].bytes;
    snapshots_.erase(snapshots_.begin() + static_cast<ptrdiff_t>(least));
  }
  return true;
}

uint32_t Snapshots::cut(uint32_t position) {
  marks_.erase(std::upper_bound(marks_.begin(), marks_.end(), position), marks_.end());
  while (!snapshots_.empty() && snapshots_.back().position > position) snapshots_.pop_back();
  if (position >= cache_.oldest()) return position;
  if (snapshots_.empty()) {
    cache_.restart();
    return 0;
  }
  const Snapshot& last = snapshots_.back();
  cache_.restore_state(last.position, {last.state.get(), last.bytes});
  return last.position;
}

void Snapshots::clear() {
  marks_.clear();
  snapshots_.clear();
}

}  // namespace bitnet
