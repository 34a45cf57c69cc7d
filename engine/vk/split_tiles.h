// Tiles of a product whose inputs several workgroups split among them (split-K). A device that runs 264
// workgroups at a time would make 320 tiles in two rounds, and in the second most of it would have nothing to
// do. So 264 tiles have a workgroup each, and each of the other 56 has four, which takes a quarter of a
// round. Each workgroup of a split tile leaves its sums in memory, and who is ready last adds them up. The
// sums are integers, so that the result has the same bits (shaders/ternary_matmul_groups_matrix.comp).
//
// Thread rule: as the Device.
#pragma once

#include <cstdint>
#include <memory>

#include "memory.h"

namespace bitnet::vk {

// What a multiprocessor makes at a time has no more tiles and bytes of sums than these.
constexpr uint32_t kMostTilesAtOnce = 4, kMostSumBytesAtOnce = 64 << 10;

// The first `whole` tiles have a workgroup each, the others `splits`.
struct TileSplit {
  uint32_t whole = 0;
  uint32_t splits = 1;
  uint32_t workgroups = 0;  // in all
};

inline TileSplit whole_tiles(uint32_t tiles) { return {tiles, 1, tiles}; }

// How `tiles`, whose inputs are `steps`, are best shared out where the device runs `at_once` workgroups at a
// time. With 0, where that is not known, no tile is split.
TileSplit split_tiles(uint32_t tiles, uint32_t steps, uint32_t at_once);

// The memory that all products of a backend use for that in turn. It is made when it is first needed, once,
// since recorded programs name it.
class SplitSums {
 public:
  SplitSums(const Device& device, Transfer& transfer) : device_(device), transfer_(transfer) {}

  bool are_there();  // or else the device has no memory for them
  const VulkanBuffer& sums() const { return *sums_; }
  const VulkanBuffer& done() const { return *done_; }  // for each split tile a number, 0 between dispatches

 private:
  const Device& device_;
  Transfer& transfer_;
  bool was_asked_ = false;
  std::unique_ptr<VulkanBuffer> sums_, done_;
};

}  // namespace bitnet::vk
