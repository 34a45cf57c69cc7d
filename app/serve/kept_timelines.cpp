#include "kept_timelines.h"

#include <algorithm>

namespace bitnet {

size_t common_beginning(std::span<const int32_t> a, std::span<const int32_t> b) {
  const auto differ = std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first;
  return static_cast<size_t>(differ - a.begin());
}

KeptTimelines::Found KeptTimelines::find(std::span<const int32_t> tokens) {
  auto best = kept_.end();
  size_t common = 0;
  for (auto it = kept_.begin(); it != kept_.end(); ++it) {
    if (const size_t n = common_beginning(it->tokens, tokens); n > common) {
      common = n;
      best = it;
    }
  }
  if (best == kept_.end()) return {};
  kept_.splice(kept_.begin(), kept_, best);
  return {common, best->payload};
}

bool KeptTimelines::has(std::span<const int32_t> tokens) const {
  return std::any_of(kept_.begin(), kept_.end(), [&](const Kept& kept) {
    return common_beginning(kept.tokens, tokens) == tokens.size();
  });
}

void KeptTimelines::keep(std::vector<int32_t> tokens, std::vector<std::byte> payload, uint64_t holder) {
  if (payload.size() > most_bytes_) return;
  std::erase_if(kept_, [&](const Kept& kept) {
    const bool gives_way = kept.holder == 0 && kept.tokens.size() <= tokens.size() &&
                           common_beginning(kept.tokens, tokens) == kept.tokens.size();
    if (gives_way) bytes_ -= kept.payload.size();
    return gives_way;
  });
  bytes_ += payload.size();
  kept_.push_front({std::move(tokens), std::move(payload), holder});
  make_room();
}

void KeptTimelines::release(uint64_t holder) {
  for (Kept& kept : kept_) {
    if (kept.holder == holder) kept.holder = 0;
  }
}

void KeptTimelines::make_room() {
  for (auto it = kept_.end(); it != kept_.begin() && bytes_ > most_bytes_;) {
    --it;
    if (it->holder != 0) continue;
    bytes_ -= it->payload.size();
    it = kept_.erase(it);
  }
}

}  // namespace bitnet
