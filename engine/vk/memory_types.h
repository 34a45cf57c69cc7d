// Of which memory of a device buffers are, and how much of it there is.
//
// Drivers of GPUs that share the computer's memory may divide it into heaps. Mesa's for AMD's says of two
// thirds that they are the device's own and of one third that they are the host's, though both are the same
// memory. So an integrated GPU has no memory but the computer's, whatever its heaps are called, and may use
// all of them.
//
// Thread rule: free functions.
#pragma once

#include <vulkan/vulkan.h>

#include <cstdint>
#include <span>
#include <vector>

#include "engine/backend.h"

namespace bitnet::vk {

// Memory that the host can map and that needs no flushes.
constexpr VkMemoryPropertyFlags kHostVisible =
    VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;

// As of DeviceInfo, in bytes.
struct MemorySizes {
  bool unified = true;
  uint64_t bytes = 0, free = 0, free_host = 0;
};
// `free` has what this process may still take of each heap.
MemorySizes memory_sizes(const VkPhysicalDeviceMemoryProperties& memory, VkPhysicalDeviceType type,
                         std::span<const uint64_t> free);

// The types among `allowed` (a bit each) that a buffer may have, the best first. Where all device memory is
// the host's (`unified`), buffers of the device have one that can be mapped, and then need no staging copy;
// where its heap is full, another one will do. What the host reads, `shared`, is better cached there, and
// weights in host memory are better not, since a device reads them faster then.
std::vector<uint32_t> memory_types(const VkPhysicalDeviceMemoryProperties& memory, uint32_t allowed,
                                   BufferUse use, bool unified);

}  // namespace bitnet::vk
