#include "program.h"

#include <utility>

namespace bitnet::vk {
namespace {

constexpr uint32_t kSetsPerPool = 512;
constexpr size_t kMostSpare = 16;

std::unique_ptr<ProgramPools> pools_from(SparePools* spare, const Device& device) {
  if (spare) spare->reserve(kMostSpare);  // so that giving back needs no memory
  if (!spare || spare->empty()) return std::make_unique<ProgramPools>(device);
  std::unique_ptr<ProgramPools> pools = std::move(spare->back());
  spare->pop_back();
  return pools;
}

}  // namespace

ProgramPools::~ProgramPools() {
  commands.settle();
  for (VkDescriptorPool pool : pools_) vkDestroyDescriptorPool(device_.handle(), pool, nullptr);
}

void ProgramPools::clear() {
  copies.clear();
  for (VkDescriptorPool pool : pools_) vkResetDescriptorPool(device_.handle(), pool, 0);
  current_ = 0;
}

void ProgramPools::add_pool() {
  const VkDescriptorPoolSize size{VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, kSetsPerPool * kMostBindings};
  VkDescriptorPoolCreateInfo info{VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO};
  info.maxSets = kSetsPerPool;
  info.poolSizeCount = 1;
  info.pPoolSizes = &size;
  VkDescriptorPool pool = VK_NULL_HANDLE;
  VK_CHECK(vkCreateDescriptorPool(device_.handle(), &info, nullptr, &pool));
  pools_.push_back(pool);
}

VkDescriptorSet ProgramPools::allocate_set(VkDescriptorSetLayout layout) {
  for (bool is_new = false;; ++current_) {
    if (current_ == pools_.size()) {
      add_pool();
      is_new = true;
    }
    VkDescriptorSetAllocateInfo info{VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO};
    info.descriptorPool = pools_[current_];
    info.descriptorSetCount = 1;
    info.pSetLayouts = &layout;
    VkDescriptorSet set = VK_NULL_HANDLE;
    const VkResult result = vkAllocateDescriptorSets(device_.handle(), &info, &set);
    const bool full = result == VK_ERROR_OUT_OF_POOL_MEMORY || result == VK_ERROR_FRAGMENTED_POOL;
    if (full && !is_new) continue;
    check(result, "vkAllocateDescriptorSets");
    return set;
  }
}

VulkanProgram::VulkanProgram(const Device& device, SparePools* spare)
    : spare_(spare), pools_(pools_from(spare, device)), commands(pools_->commands), copies(pools_->copies) {}

VulkanProgram::~VulkanProgram() {
  commands.settle();
  if (!spare_ || spare_->size() >= kMostSpare) return;
  pools_->clear();
  spare_->push_back(std::move(pools_));
}

}  // namespace bitnet::vk
