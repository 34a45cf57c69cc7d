#include "memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <thread>
#include <vector>

#include "engine/threads.h"
#include "memory_types.h"

namespace bitnet::vk {
namespace {

constexpr uint64_t kStagingBytes = 32 << 20;
constexpr uint64_t kReach = 16;  // kernels read whole uvec4, also where a row ends in the middle of one

void check_limit(const Device& device, uint64_t bytes, BufferUse use) {
  if (bytes > device.max_allocation())
    throw Error(
        ErrorKind::device,
        fmt::format("{:.1f} MB have to lie in one piece, and the driver of {} gives at most {:.1f} MB; "
                    "try a smaller --ctx, or another --device",
                    bytes / 1e6, device.info().name, device.max_allocation() / 1e6));
  const Device::Use& u = device.use();
  if (use == BufferUse::shared || use == BufferUse::host_weights || u.device + bytes <= u.most) return;
  throw Error(ErrorKind::device,
              fmt::format("another {:.1f} MB are over the {:.1f} MB of --vram; try a smaller --ctx",
                          bytes / 1e6, u.most / 1e6));
}

// Copies on several threads, since one is slower than a device's link and much slower than memory.
void copy_with_all_cores(std::byte* to, std::span<const std::byte> from) {
  constexpr size_t kLeast = 2 << 20, kMostThreads = 8;
  if (from.empty()) return;
  const size_t n = std::clamp<size_t>(
      std::min<size_t>(std::thread::hardware_concurrency(), from.size() / kLeast), 1, kMostThreads);
  const size_t share = (from.size() / n + 63) / 64 * 64;
  on_threads((from.size() + share - 1) / share, [&](size_t i) {
    const size_t begin = i * share, bytes = std::min(share, from.size() - begin);
    std::memcpy(to + begin, from.data() + begin, bytes);
  });
}

}  // namespace

VulkanBuffer::VulkanBuffer(const Device& device, uint64_t bytes, BufferUse use, bool for_copies)
    : device_(device), size_(bytes), in_host_(use == BufferUse::host_weights) {
  VkBufferCreateInfo info{VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO};
  info.size = (bytes + kReach - 1) / kReach * kReach;
  check_limit(device, info.size, use);
  info.usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_TRANSFER_SRC_BIT |
               VK_BUFFER_USAGE_TRANSFER_DST_BIT;
  if (device.has_addresses()) info.usage |= VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT;
  const uint32_t families[] = {device.queue_family(), device.copy_family()};
  if ((for_copies || in_host_) && device.has_copy_queue()) {
    info.sharingMode = VK_SHARING_MODE_CONCURRENT;
    info.queueFamilyIndexCount = 2;
    info.pQueueFamilyIndices = families;
  }
  VK_CHECK(vkCreateBuffer(device_.handle(), &info, nullptr, &buffer_));

  VkMemoryRequirements need{};
  vkGetBufferMemoryRequirements(device_.handle(), buffer_, &need);
  VkMemoryAllocateFlagsInfo flags{VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_FLAGS_INFO};
  flags.flags = VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT;
  VkMemoryAllocateInfo allocate{VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO};
  if (device.has_addresses()) allocate.pNext = &flags;
  allocate.allocationSize = need.size;
  VkResult result = VK_ERROR_FEATURE_NOT_PRESENT;
  for (const uint32_t type :
       memory_types(device.memory(), need.memoryTypeBits, use, device.unified_memory())) {
    allocate.memoryTypeIndex = type;
    result = vkAllocateMemory(device_.handle(), &allocate, nullptr, &memory_);
    if (result == VK_SUCCESS) break;
  }
  if (result != VK_SUCCESS) {
    release();
    throw Error(
        ErrorKind::device,
        fmt::format(
            "{} has no memory for another {:.1f} MB ({:.0f} MB in all); try a smaller --ctx, less --vram or "
            "--ram, or another --device",
            device.info().name, bytes / 1e6, device.info().memory_bytes / 1e6));
  }
  try {
    VK_CHECK(vkBindBufferMemory(device_.handle(), buffer_, memory_, 0));
    const VkMemoryPropertyFlags has = device.memory().memoryTypes[allocate.memoryTypeIndex].propertyFlags;
    const bool host_sees = (has & kHostVisible) == kHostVisible,
               is_for_host = use == BufferUse::shared || in_host_;
    is_slow_to_read_ = !is_for_host && (has & VK_MEMORY_PROPERTY_HOST_CACHED_BIT) == 0;
    if (host_sees && (is_for_host || device.unified_memory())) {
      void* at = nullptr;
      VK_CHECK(vkMapMemory(device_.handle(), memory_, 0, VK_WHOLE_SIZE, 0, &at));
      mapped_ = {static_cast<std::byte*>(at), bytes};
    }
  } catch (...) {
    release();
    throw;
  }
  if (use == BufferUse::shared) return;
  counted_ = use == BufferUse::host_weights ? &device.use().host_weights : &device.use().device;
  *counted_ += size_;
}

VulkanBuffer::VulkanBuffer(std::shared_ptr<const VulkanBuffer> whole, uint64_t offset, uint64_t bytes)
    : device_(whole->device_),
      size_(bytes),
      offset_(whole->offset_ + offset),
      whole_(std::move(whole)),
      in_host_(whole_->in_host_),
      is_slow_to_read_(whole_->is_slow_to_read_),
      buffer_(whole_->buffer_) {
  if (!whole_->mapped_.empty()) mapped_ = whole_->mapped_.subspan(offset, bytes);
}

VulkanBuffer::~VulkanBuffer() {
  if (whole_) return;
  if (counted_) *counted_ -= size_;
  device_.wait_for_queues();
  release();
}

VkDeviceAddress VulkanBuffer::address() const {
  VkBufferDeviceAddressInfo info{VK_STRUCTURE_TYPE_BUFFER_DEVICE_ADDRESS_INFO};
  info.buffer = buffer_;
  return vkGetBufferDeviceAddress(device_.handle(), &info) + offset_;
}

void VulkanBuffer::release() {
  vkDestroyBuffer(device_.handle(), buffer_, nullptr);
  vkFreeMemory(device_.handle(), memory_, nullptr);
}

Commands::Commands(const Device& device) : device_(device) {
  VkCommandPoolCreateInfo pool{VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO};
  pool.queueFamilyIndex = device.queue_family();
  VK_CHECK(vkCreateCommandPool(device.handle(), &pool, nullptr, &pool_));
  try {
    const VkFenceCreateInfo fence{VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
    VK_CHECK(vkCreateFence(device.handle(), &fence, nullptr, &fence_));
  } catch (...) {
    release();
    throw;
  }
}

Commands::~Commands() {
  settle();
  release();
}

void Commands::release() noexcept {
  vkDestroyFence(device_.handle(), fence_, nullptr);
  vkDestroyCommandPool(device_.handle(), pool_, nullptr);
}

VkCommandBuffer allocate_commands(const Device& device, VkCommandPool pool) {
  VkCommandBufferAllocateInfo info{VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO};
  info.commandPool = pool;
  info.commandBufferCount = 1;
  VkCommandBuffer buffer = VK_NULL_HANDLE;
  VK_CHECK(vkAllocateCommandBuffers(device.handle(), &info, &buffer));
  return buffer;
}

VkCommandBuffer Commands::begin() {
  wait();
  VK_CHECK(vkResetCommandPool(device_.handle(), pool_, 0));
  n_recorded_ = 0;
  return next();
}

VkCommandBuffer Commands::next() {
  if (n_recorded_ == buffers_.size()) buffers_.push_back(allocate_commands(device_, pool_));
  const VkCommandBufferBeginInfo info{VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
  VK_CHECK(vkBeginCommandBuffer(buffers_[n_recorded_], &info));
  return buffers_[n_recorded_++];
}

VkCommandBuffer Commands::cut() {
  end();
  return next();
}

void Commands::end() { VK_CHECK(vkEndCommandBuffer(buffers_[n_recorded_ - 1])); }

void Commands::submit() try {
  for (const VkCommandBuffer& part : parts()) {
    VkSubmitInfo info{VK_STRUCTURE_TYPE_SUBMIT_INFO};
    info.commandBufferCount = 1;
    info.pCommandBuffers = &part;
    if (&part == &parts().back())
      submit({&info, 1});
    else
      VK_CHECK(vkQueueSubmit(device_.queue(), 1, &info, VK_NULL_HANDLE));
  }
} catch (...) {
  device_.wait_for_queues();  // for the parts that were submitted, behind which there is no fence
  throw;
}

void Commands::submit(std::span<const VkSubmitInfo> infos) {
  VK_CHECK(vkQueueSubmit(device_.queue(), static_cast<uint32_t>(infos.size()), infos.data(), fence_));
  running_ = true;
}

void Commands::wait() {
  if (!running_) return;
  VK_CHECK(vkWaitForFences(device_.handle(), 1, &fence_, VK_TRUE, UINT64_MAX));
  VK_CHECK(vkResetFences(device_.handle(), 1, &fence_));
  running_ = false;
}

void Commands::settle() noexcept {
  if (running_) vkWaitForFences(device_.handle(), 1, &fence_, VK_TRUE, UINT64_MAX);
  running_ = false;
}

Transfer::Transfer(const Device& device) : device_(device) {}

Transfer::Half::Half(const Device& device, uint64_t bytes)
    : staging(device, bytes, BufferUse::shared), commands(device) {}

// Begins commands behind all that programs have written: that these were waited for makes it available, but
// not visible to copies.
static VkCommandBuffer begin_copy(Commands& commands) {
  const VkCommandBuffer buffer = commands.begin();
  const VkMemoryBarrier to_copies{VK_STRUCTURE_TYPE_MEMORY_BARRIER, nullptr,
                                  VK_ACCESS_SHADER_WRITE_BIT | VK_ACCESS_TRANSFER_WRITE_BIT,
                                  VK_ACCESS_TRANSFER_READ_BIT | VK_ACCESS_TRANSFER_WRITE_BIT};
  vkCmdPipelineBarrier(buffer, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT | VK_PIPELINE_STAGE_TRANSFER_BIT,
                       VK_PIPELINE_STAGE_TRANSFER_BIT, 0, 1, &to_copies, 0, nullptr, 0, nullptr);
  return buffer;
}

Transfer::Half& Transfer::next_half(uint64_t bytes) {
  turn_ = 1 - turn_;
  std::unique_ptr<Half>& half = halves_[turn_];
  if (half) half->commands.wait();
  if (!half || half->staging.size() < bytes) {
    half.reset();
    half = std::make_unique<Half>(device_, std::bit_ceil(bytes));
  }
  return *half;
}

void Transfer::upload(VulkanBuffer& to, uint64_t offset, std::span<const std::byte> bytes) {
  if (!to.mapped().empty()) {
    copy_with_all_cores(to.mapped().data() + offset, bytes);
    return;
  }
  while (!bytes.empty()) {
    const auto part = bytes.first(std::min<size_t>(bytes.size(), kStagingBytes));
    Half& half = next_half(part.size());
    copy_with_all_cores(half.staging.mapped().data(), part);
    const VkCommandBuffer commands = begin_copy(half.commands);
    const VkBufferCopy region{0, to.offset() + offset, part.size()};
    vkCmdCopyBuffer(commands, half.staging.handle(), to.handle(), 1, &region);
    half.commands.end();
    half.commands.submit();
    offset += part.size();
    bytes = bytes.subspan(part.size());
  }
}

void Transfer::finish() {
  constexpr uint64_t kKept = 1 << 18;  // for what comes often: to make a half takes milliseconds
  for (auto& half : halves_) {
    if (half) half->commands.wait();
    if (half && half->staging.size() > kKept) half.reset();
  }
}

void Transfer::download(const VulkanBuffer& from, uint64_t offset, std::span<std::byte> bytes) {
  if (!from.mapped().empty() && !from.is_slow_to_read()) {
    std::memcpy(bytes.data(), from.mapped().data() + offset, bytes.size());
    return;
  }
  while (!bytes.empty()) {
    const auto part = bytes.first(std::min<size_t>(bytes.size(), kStagingBytes));
    Half& half = next_half(part.size());
    const VkCommandBuffer commands = begin_copy(half.commands);
    const VkBufferCopy region{from.offset() + offset, 0, part.size()};
    vkCmdCopyBuffer(commands, from.handle(), half.staging.handle(), 1, &region);
    const VkMemoryBarrier to_host{VK_STRUCTURE_TYPE_MEMORY_BARRIER, nullptr, VK_ACCESS_TRANSFER_WRITE_BIT,
                                  VK_ACCESS_HOST_READ_BIT};
    vkCmdPipelineBarrier(commands, VK_PIPELINE_STAGE_TRANSFER_BIT, VK_PIPELINE_STAGE_HOST_BIT, 0, 1, &to_host,
                         0, nullptr, 0, nullptr);
    half.commands.end();
    half.commands.submit();
    half.commands.wait();
    std::memcpy(part.data(), half.staging.mapped().data(), part.size());
    offset += part.size();
    bytes = bytes.subspan(part.size());
  }
}

}  // namespace bitnet::vk
