#include "split_tiles.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace bitnet::vk {

// Behind many rounds the last one matters little, and workgroups that are alone on a multiprocessor are
// faster. Each part has a few steps, since it begins and ends as a whole tile does.
TileSplit split_tiles(uint32_t tiles, uint32_t steps, uint32_t at_once) {
  constexpr uint32_t kMostRounds = 4, kMostSplits = 8, kFewestSteps = 4;
  if (at_once == 0 || tiles / at_once > kMostRounds || tiles % at_once == 0) return whole_tiles(tiles);
  const uint32_t rest = tiles % at_once;
  const uint32_t splits = std::min({at_once / rest, steps / kFewestSteps, kMostSplits});
  if (splits < 2) return whole_tiles(tiles);
  return {tiles - rest, splits, tiles - rest + rest * splits};
}

bool SplitSums::are_there() {
  if (std::exchange(was_asked_, true)) return sums_ != nullptr;
  const uint64_t n = device_.multiprocessors();
  const std::vector<std::byte> zeros(n * kMostTilesAtOnce * sizeof(uint32_t));
  try {
    auto sums = std::make_unique<VulkanBuffer>(device_, n * kMostSumBytesAtOnce, BufferUse::device);
    done_ = std::make_unique<VulkanBuffer>(device_, zeros.size(), BufferUse::device);
    transfer_.upload(*done_, 0, zeros);
    sums_ = std::move(sums);
  } catch (const Error&) {  // of memory, which tiles can do without; what else fails will fail again
  }
  return sums_ != nullptr;
}

}  // namespace bitnet::vk
