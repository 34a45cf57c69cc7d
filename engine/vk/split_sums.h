// What the workgroups of split tiles (split_tiles.h) leave for the last one of each. All products of a
// backend use it in turn.
//
// Thread rule: as the Device.
#pragma once

#include <cstdint>
#include <memory>

#include "memory.h"

namespace bitnet::vk {

// What a multiprocessor makes at a time has no more tiles and bytes of sums than these.
constexpr uint32_t kMostTilesAtOnce = 4, kMostSumBytesAtOnce = 64 << 10;

// The memory is made when it is first needed, once, since recorded programs name it.
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
