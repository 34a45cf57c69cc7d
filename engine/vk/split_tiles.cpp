#include "split_tiles.h"

#include <algorithm>

namespace bitnet::vk {

// Behind many rounds the last one matters little, and workgroups that are alone on a multiprocessor are
// faster. Each part has a few steps, since it begins and ends as a whole tile does.
TileSplit split_tiles(uint32_t tiles, uint32_t steps, uint32_t at_once) {
  constexpr uint32_t kMostRounds = 4, kMostSplits = 8, kFewestSteps = 4;
  const TileSplit none{tiles, 1, tiles};
  if (at_once == 0 || tiles / at_once > kMostRounds || tiles % at_once == 0) return none;
  const uint32_t rest = tiles % at_once;
  const uint32_t splits = std::min({at_once / rest, steps / kFewestSteps, kMostSplits});
  return splits < 2 ? none : TileSplit{tiles - rest, splits, tiles - rest + rest * splits};
}

}  // namespace bitnet::vk
