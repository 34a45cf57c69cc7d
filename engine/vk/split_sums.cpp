#include "split_sums.h"

#include <utility>
#include <vector>

namespace bitnet::vk {

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
