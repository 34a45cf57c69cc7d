// Tests which memory of devices that are not here buffers have, by what their drivers say of it.
#include "engine/vk/memory_types.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace bitnet::vk {
namespace {

using testing::ElementsAre;

constexpr uint64_t kGiB = uint64_t{1} << 30;
constexpr uint32_t kAll = UINT32_MAX;
constexpr VkMemoryPropertyFlags kLocal = VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT,
                                kCached = VK_MEMORY_PROPERTY_HOST_CACHED_BIT;

struct Type {
  VkMemoryPropertyFlags flags;
  uint32_t heap;
};
struct Heap {
  uint64_t bytes;
  bool local;
};
VkPhysicalDeviceMemoryProperties memory_of(const std::vector<Heap>& heaps, const std::vector<Type>& types) {
  VkPhysicalDeviceMemoryProperties memory{};
  for (const Heap& heap : heaps)
    memory.memoryHeaps[memory.memoryHeapCount++] = {
        heap.bytes, heap.local ? VkMemoryHeapFlags{VK_MEMORY_HEAP_DEVICE_LOCAL_BIT} : 0};
  for (const Type& type : types) memory.memoryTypes[memory.memoryTypeCount++] = {type.flags, type.heap};
  return memory;
}

// Mesa's driver on an AMD GPU beside the cores of a computer with 48 GiB; the last type is for a feature.
VkPhysicalDeviceMemoryProperties amd_apu() {
  return memory_of({{16 * kGiB, false}, {32 * kGiB, true}}, {{kLocal, 1},
                                                             {kHostVisible, 0},
                                                             {kLocal | kHostVisible, 1},
                                                             {kHostVisible | kCached, 0},
                                                             {kLocal | kHostVisible | 0x40, 1}});
}
VkPhysicalDeviceMemoryProperties card() {
  return memory_of(
      {{24 * kGiB, true}, {32 * kGiB, false}, {kGiB / 4, true}},
      {{0, 1}, {kLocal, 0}, {kHostVisible, 1}, {kHostVisible | kCached, 1}, {kLocal | kHostVisible, 2}});
}
VkPhysicalDeviceMemoryProperties one_heap(VkMemoryPropertyFlags flags) {
  return memory_of({{16 * kGiB, true}}, {{flags, 0}});
}

TEST(MemoryTypes, AnIntegratedGpuHasAllHeapsAndNoMemoryOfItsOwn) {
  const std::vector<uint64_t> free = {10 * kGiB, 20 * kGiB};
  const MemorySizes sizes = memory_sizes(amd_apu(), VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU, free);
  EXPECT_TRUE(sizes.unified);
  EXPECT_EQ(sizes.bytes, 48 * kGiB);
  EXPECT_EQ(sizes.free, 30 * kGiB);
  EXPECT_EQ(sizes.free_host, 0U);
}

TEST(MemoryTypes, OfACardTheLargestHeapsCount) {
  const std::vector<uint64_t> free = {23 * kGiB, 30 * kGiB, 1};
  const MemorySizes sizes = memory_sizes(card(), VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU, free);
  EXPECT_FALSE(sizes.unified);
  EXPECT_EQ(sizes.bytes, 24 * kGiB);
  EXPECT_EQ(sizes.free, 23 * kGiB);
  EXPECT_EQ(sizes.free_host, 30 * kGiB);
}

TEST(MemoryTypes, ADeviceWhoseHeapsAreAllItsOwnIsUnified) {
  const std::vector<uint64_t> free = {15 * kGiB};
  const MemorySizes sizes = memory_sizes(one_heap(kLocal | kHostVisible), VK_PHYSICAL_DEVICE_TYPE_CPU, free);
  EXPECT_TRUE(sizes.unified);
  EXPECT_EQ(sizes.bytes, 16 * kGiB);
  EXPECT_EQ(sizes.free, 15 * kGiB);
  EXPECT_EQ(sizes.free_host, 0U);
}

TEST(MemoryTypes, BuffersOfACardHaveItsOwnMemory) {
  for (const BufferUse use : {BufferUse::device, BufferUse::weights})
    EXPECT_THAT(memory_types(card(), kAll, use, false), ElementsAre(1));
  EXPECT_THAT(memory_types(card(), kAll, BufferUse::shared, false), ElementsAre(3));
  EXPECT_THAT(memory_types(card(), kAll, BufferUse::host_weights, false), ElementsAre(2));
  EXPECT_THAT(memory_types(card(), 1 << 0 | 1 << 3, BufferUse::host_weights, false), ElementsAre(3));
  EXPECT_THAT(memory_types(card(), 1 << 0, BufferUse::device, false), ElementsAre(0));
  EXPECT_THAT(memory_types(card(), 1 << 0, BufferUse::shared, false), ElementsAre());
}

// And those of the other heap too, where the first one is full.
TEST(MemoryTypes, WhereMemoryIsTheComputersBuffersCanBeMapped) {
  for (const BufferUse use : {BufferUse::device, BufferUse::weights})
    EXPECT_THAT(memory_types(amd_apu(), kAll, use, true), ElementsAre(2, 0, 1, 3));
  EXPECT_THAT(memory_types(amd_apu(), kAll, BufferUse::shared, true), ElementsAre(3));
  EXPECT_THAT(memory_types(amd_apu(), kAll, BufferUse::host_weights, true), ElementsAre(1));
  EXPECT_THAT(memory_types(one_heap(kLocal | kHostVisible | kCached), kAll, BufferUse::device, true),
              ElementsAre(0));
}

}  // namespace
}  // namespace bitnet::vk
