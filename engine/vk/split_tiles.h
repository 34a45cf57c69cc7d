// Tiles of a product whose inputs several workgroups split among them (split-K). A device that runs 264
// workgroups at a time would make 320 tiles in two rounds, and in the second most of it would have nothing to
// do. So 264 tiles have a workgroup each, and each of the other 56 has four, which takes a quarter of a
// round. Each workgroup of a split tile leaves its sums in memory (split_sums.h), and who is ready last adds
// them up. The sums are integers, so that the result has the same bits
// (shaders/ternary_matmul_groups_matrix.comp).
//
// Thread rule: free functions.
#pragma once

#include <cstdint>

namespace bitnet::vk {

// The first `whole` tiles have a workgroup each, the others `splits`.
struct TileSplit {
  uint32_t whole = 0;
  uint32_t splits = 1;
  uint32_t workgroups = 0;  // in all
};

// How `tiles`, whose inputs are `steps`, are best shared out where the device runs `at_once` workgroups at a
// time: no more workgroups than that have a part of a tile. With 0, where it is not known, no tile is split.
TileSplit split_tiles(uint32_t tiles, uint32_t steps, uint32_t at_once);

}  // namespace bitnet::vk
