#include "expert_cache.h"

#include <algorithm>
#include <numeric>

namespace bitnet {

ExpertCache::ExpertCache(uint32_t n_expert, uint32_t n_places, Copies copies)
    : copies_(copies), weight_(n_expert), place_of_(n_expert, kNone), expert_at_(n_places) {
  constexpr float kAtFirst = 0.25F;  // copies for each place, before anything was saved
  std::iota(expert_at_.begin(), expert_at_.end(), 0U);
  std::iota(place_of_.begin(), place_of_.begin() + n_places, 0U);
  saved_ = kAtFirst * static_cast<float>(n_places);
}

// Lets all weights fade by letting new uses count for more.
void ExpertCache::age() {
  constexpr float kMost = 1e6F;
  now_ /= kFade;
  if (now_ < kMost) return;
  for (float& weight : weight_) weight /= now_;
  now_ = 1;
}

// The place of the expert with the smallest weight that the token has not used, or kNone.
uint32_t ExpertCache::place_to_give(std::span<const uint32_t> ids) const {
  uint32_t least = kNone;
  for (uint32_t place = 0; place < expert_at_.size(); ++place) {
    const uint32_t expert = expert_at_[place];
    if (least != kNone && weight_[expert] >= weight_[expert_at_[least]]) continue;
    if (!std::ranges::binary_search(ids, expert)) least = place;
  }
  return least;
}

std::vector<ExpertCache::Change> ExpertCache::follow(std::span<const uint32_t> ids, bool may_change) {
  age();
  for (const uint32_t id : ids) weight_[id] += now_;
  hits_ = static_cast<uint32_t>(std::ranges::count_if(ids, [&](uint32_t id) { return has_place(id); }));
  const auto n_places = static_cast<float>(expert_at_.size());
  const auto at_first = std::ranges::count_if(ids, [&](uint32_t id) { return id < expert_at_.size(); });
  const float free = kFree * static_cast<float>(ids.size());
  saved_ = std::min(saved_ + static_cast<float>(hits_) - static_cast<float>(at_first) + free, n_places);
  std::vector<Change> changes;
  if (!may_change) return changes;
  const bool all = copies_ == Copies::of_all;
  std::vector<uint32_t> missed;
  std::ranges::copy_if(ids, std::back_inserter(missed), [&](uint32_t id) { return !has_place(id); });
  std::ranges::stable_sort(missed, std::greater(), [&](uint32_t id) { return weight_[id]; });
  for (const uint32_t comes : missed) {
    if (!all && (saved_ < 1 || changes.size() == kMostChanges)) break;
    const uint32_t place = place_to_give(ids);
    if (place == kNone) break;
    const uint32_t goes = expert_at_[place];
    if (!all && weight_[comes] - weight_[goes] < kMargin * now_) break;
    place_of_[goes] = kNone;
    place_of_[comes] = place;
    expert_at_[place] = comes;
    saved_ -= 1;
    changes.push_back({place, comes, goes});
  }
  return changes;
}

}  // namespace bitnet
