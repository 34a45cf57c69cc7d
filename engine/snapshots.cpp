#include "snapshots.h"

#include <algorithm>

namespace bitnet {
namespace {

// A long text without a marked position has snapshots this far apart. Where each token overwrites a state
// there are more of them, none further from the next than this: each at the beginning of a batch, which does
// not end for it. A copy of a 27B's state (150 MiB) takes a few percent of the time in which a GPU computes
// so many tokens, and a slow processor, which takes minutes for them, has at most that to do again.
constexpr uint32_t kMostApart = 4096, kMostApartOfStates = kMaxBatch;

}  // namespace

Snapshots::Snapshots(KvCache& cache, uint64_t budget) : cache_(cache), budget_(budget) {}

void Snapshots::mark(uint32_t position) {
  if (budget_ == 0 || position < cache_.oldest()) return;
  if (cache_.has_states() && position - before(position) < kSnapshotsApart) return;
  const auto at = std::lower_bound(marks_.begin(), marks_.end(), position);
  if (at == marks_.end() || *at != position) marks_.insert(at, position);
}

// The last position up to `position` of which there is a state or a mark, or 0.
uint32_t Snapshots::before(uint32_t position) const {
  uint32_t last = 0;
  for (const Snapshot& s : snapshots_)
    if (s.position <= position) last = std::max(last, s.position);
  for (const uint32_t mark : marks_)
    if (mark <= position) last = std::max(last, mark);
  return last;
}

void Snapshots::mark_far(const Writing& tokens) {
  const uint32_t last = before(tokens.begin);
  const bool is_far =
      cache_.has_states() ? tokens.end - last > kMostApartOfStates : tokens.begin - last >= kMostApart;
  if (is_far) mark(tokens.begin);
}

uint32_t Snapshots::batch_end(uint32_t begin, uint32_t end) const {
  if (!cache_.has_states()) return end;
  const auto next = std::upper_bound(marks_.begin(), marks_.end(), begin);
  return next == marks_.end() ? end : std::min(*next, end);
}

bool Snapshots::holds(uint32_t position) const {
  return position == 0 ||
         std::ranges::any_of(snapshots_, [&](const Snapshot& s) { return s.position == position; });
}

bool Snapshots::due(const Writing& tokens) {
  mark_far(tokens);
  return std::ranges::any_of(marks_, [&](uint32_t p) { return !cache_.keeps(p, tokens); });
}

void Snapshots::will_write(const Writing& tokens) {
  mark_far(tokens);
  std::erase_if(marks_, [&](uint32_t position) {
    if (cache_.keeps(position, tokens)) return false;
    if (cache_.has(position)) take(position);
    return true;
  });
  cache_.will_write(tokens);
}

void Snapshots::take(uint32_t position) {
  uint32_t last = 0;
  for (const Snapshot& s : snapshots_)
    if (s.position <= position) last = s.position;
  if (position - last < kSnapshotsApart) return;
  const uint64_t bytes = cache_.state_bytes(position);
  if (!make_room(position, bytes)) return;
  auto state = std::make_unique_for_overwrite<std::byte[]>(bytes);
  cache_.take_state(position, {state.get(), bytes});
  keep(position, bytes, std::move(state));
}

void Snapshots::keep(uint32_t position, uint64_t bytes, std::unique_ptr<std::byte[]> state) {
  const auto behind = std::ranges::upper_bound(snapshots_, position, {}, &Snapshot::position);
  snapshots_.insert(behind, Snapshot{position, bytes, std::move(state)});
}

KvCache::Earlier Snapshots::last_before(uint32_t position) const {
  for (auto s = snapshots_.rbegin(); s != snapshots_.rend(); ++s)
    if (s->position < position) return {s->position, {s->state.get(), s->bytes}};
  return {};
}

void Snapshots::add(const KvCache::Earlier& earlier) {
  if (earlier.state.empty() || earlier.state.size() > budget_) return;
  auto state = std::make_unique_for_overwrite<std::byte[]>(earlier.state.size());
  std::ranges::copy(earlier.state, state.get());
  keep(earlier.position, earlier.state.size(), std::move(state));
}

// Drops snapshots until there is room for one more, at `position`. Returns whether there
// can be.
bool Snapshots::make_room(uint32_t position, uint64_t bytes) {
  if (bytes > budget_) return false;
  uint64_t used = 0;
  for (const Snapshot& s : snapshots_) used += s.bytes;
  const uint32_t end = snapshots_.empty() ? position : std::max(position, snapshots_.back().position + 1);
  while (used > budget_ - bytes) {
    // Without a snapshot, a timeline that is cut back to between it and the next one is computed from the one
    // before it. We assume that a position half as far from the end is cut back to twice as often.
    const auto tokens_again = [&](size_t i) {
      const double here = snapshots_[i].position, before = i == 0 ? 0 : snapshots_[i - 1].position,
                   next = i + 1 == snapshots_.size() ? end : snapshots_[i + 1].position;
      return (here - before) * (next - here) / (end - here);
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
  const std::optional<uint32_t> held = cache_.last_up_to(position);
  if (held && (snapshots_.empty() || *held >= snapshots_.back().position)) {
    cache_.cut(*held);
    return *held;
  }
  if (snapshots_.empty()) {
    cache_.restart();
    return 0;
  }
  const Snapshot& last = snapshots_.back();
  cache_.restore_state(last.position, {last.state.get(), last.bytes});
  return last.position;
}

}  // namespace bitnet
