#include "memory_types.h"

#include <algorithm>
#include <utility>

namespace bitnet::vk {
namespace {

constexpr VkMemoryPropertyFlags kLocal = VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT,
                                kCached = VK_MEMORY_PROPERTY_HOST_CACHED_BIT;

// The types that have all of `wanted` and none of `unwanted`, in the driver's order.
std::vector<uint32_t> types_with(const VkPhysicalDeviceMemoryProperties& memory, uint32_t allowed,
                                 VkMemoryPropertyFlags wanted, VkMemoryPropertyFlags unwanted) {
  std::vector<uint32_t> found;
  for (uint32_t i = 0; i < memory.memoryTypeCount; ++i) {
    const VkMemoryPropertyFlags has = memory.memoryTypes[i].propertyFlags;
    if ((allowed >> i & 1) && (has & wanted) == wanted && (has & unwanted) == 0) found.push_back(i);
  }
  return found;
}

// What is sought first, and what will do where there is none.
struct Sought {
  VkMemoryPropertyFlags wanted, unwanted = 0;
};
std::vector<Sought> sought_for(BufferUse use) {
  switch (use) {
    case BufferUse::host_weights:
      return {{kHostVisible, kLocal | kCached}, {kHostVisible, kLocal}, {kHostVisible}};
    case BufferUse::shared:
      return {{kHostVisible | kCached}, {kHostVisible}};
    default:
      return {{kLocal}, {0}};
  }
}

}  // namespace

MemorySizes memory_sizes(const VkPhysicalDeviceMemoryProperties& memory, VkPhysicalDeviceType type,
                         std::span<const uint64_t> free) {
  const std::span heaps(memory.memoryHeaps, memory.memoryHeapCount);
  const auto is_local = [](const VkMemoryHeap& heap) {
    return (heap.flags & VK_MEMORY_HEAP_DEVICE_LOCAL_BIT) != 0;
  };
  const bool integrated = type == VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU;
  MemorySizes sizes{.unified = integrated || std::ranges::all_of(heaps, is_local)};
  uint64_t host_bytes = 0;
  for (size_t i = 0; i < heaps.size(); ++i) {
    if (integrated) {
      sizes.bytes += heaps[i].size;
      sizes.free += free[i];
      continue;
    }
    const bool local = is_local(heaps[i]);
    uint64_t& largest = local ? sizes.bytes : host_bytes;
    if (heaps[i].size <= largest) continue;
    largest = heaps[i].size;
    (local ? sizes.free : sizes.free_host) = free[i];
  }
  return sizes;
}

std::vector<uint32_t> memory_types(const VkPhysicalDeviceMemoryProperties& memory, uint32_t allowed,
                                   BufferUse use, bool unified) {
  if (unified && (use == BufferUse::device || use == BufferUse::weights)) {
    // Types with other properties want features that are not turned on.
    constexpr VkMemoryPropertyFlags kOthers = ~(kLocal | kHostVisible | kCached);
    std::vector<uint32_t> types = types_with(memory, allowed, 0, kOthers);
    const auto lacks = [&](uint32_t i) {
      const VkMemoryPropertyFlags has = memory.memoryTypes[i].propertyFlags;
      return std::pair((has & kLocal) == 0, (has & kHostVisible) != kHostVisible);
    };
    std::ranges::stable_sort(types, {}, lacks);
    return types;
  }
  for (const Sought& s : sought_for(use))
    if (const auto types = types_with(memory, allowed, s.wanted, s.unwanted); !types.empty())
      return {types[0]};
  return {};
}

}  // namespace bitnet::vk
