// Device memory: a VkBuffer with an allocation of its own, and transfers to and from it.
//
// Thread rule: as the Device.
#pragma once

#include <array>
#include <memory>
#include <span>
#include <vector>

#include "device.h"
#include "engine/backend.h"

namespace bitnet::vk {

constexpr uint64_t kPartAlignment = 256;  // the most that Vulkan lets a device want

class VulkanBuffer : public Buffer {
 public:
  // Throws Error(device) that says how much was asked for. `for_copies`: the queue for copies uses it too, as
  // it does host_weights.
  VulkanBuffer(const Device& device, uint64_t bytes, BufferUse use, bool for_copies = false);
  // A part of another one, from a multiple of kPartAlignment on.
  VulkanBuffer(std::shared_ptr<const VulkanBuffer> whole, uint64_t offset, uint64_t bytes);
  // Waits for the queues, because copies into the buffer may still be running where loading failed.
  ~VulkanBuffer() override;
  VulkanBuffer(const VulkanBuffer&) = delete;
  VulkanBuffer& operator=(const VulkanBuffer&) = delete;

  uint64_t size() const override { return size_; }
  std::span<std::byte> mapped() const override { return mapped_; }
  VkBuffer handle() const { return buffer_; }
  uint64_t offset() const { return offset_; }  // in it
  VkDeviceAddress address() const;             // where the device has addresses
  uint64_t range() const { return whole_ ? (size_ + 15) / 16 * 16 : VK_WHOLE_SIZE; }  // as kernels reach it
  bool is_in_host() const { return in_host_; }
  bool is_slow_to_read() const { return is_slow_to_read_; }  // for the host, which does not cache it

 private:
  void release();

  const Device& device_;
  uint64_t size_, offset_ = 0;
  std::shared_ptr<const VulkanBuffer> whole_;  // which owns what a part names
  bool in_host_ = false;
  bool is_slow_to_read_ = false;
  VkBuffer buffer_ = VK_NULL_HANDLE;
  VkDeviceMemory memory_ = VK_NULL_HANDLE;
  std::span<std::byte> mapped_;
  uint64_t* counted_ = nullptr;  // in Device::use
};

inline VulkanBuffer& vulkan(Buffer& b) { return static_cast<VulkanBuffer&>(b); }
inline const VulkanBuffer& vulkan(const Buffer& b) { return static_cast<const VulkanBuffer&>(b); }

// One more command buffer of a pool, with which it is freed.
VkCommandBuffer allocate_commands(const Device& device, VkCommandPool pool);

// Command buffers with their pool and the fence of their last submission.
class Commands {
 public:
  explicit Commands(const Device& device);
  ~Commands();
  Commands(const Commands&) = delete;
  Commands& operator=(const Commands&) = delete;

  VkCommandBuffer begin();  // begins to record anew; waits for a running submission
  VkCommandBuffer cut();    // goes on in another one, which is submitted behind it
  void end();
  void submit();  // all of them, in their order, each by itself: drivers join those of one call
  // The last of them, or all, in several infos; they name what parts() has.
  void submit(std::span<const VkSubmitInfo> infos);
  std::span<const VkCommandBuffer> parts() const { return {buffers_.data(), n_recorded_}; }
  void wait();             // for the last submission, if there is one
  void settle() noexcept;  // as wait(), where errors no longer matter, as on a lost device

 private:
  void release() noexcept;
  VkCommandBuffer next();

  const Device& device_;
  VkCommandPool pool_ = VK_NULL_HANDLE;
  std::vector<VkCommandBuffer> buffers_;
  size_t n_recorded_ = 0;
  VkFence fence_ = VK_NULL_HANDLE;
  bool running_ = false;
};

// Copies bytes to and from buffers that the host cannot see, through two staging halves: one is filled while
// the device copies the other.
class Transfer {
 public:
  explicit Transfer(const Device& device);

  void upload(VulkanBuffer& to, uint64_t offset, std::span<const std::byte> bytes);
  void finish();
  void download(const VulkanBuffer& from, uint64_t offset, std::span<std::byte> bytes);

 private:
  struct Half {
    Half(const Device& device, uint64_t bytes);
    VulkanBuffer staging;
    Commands commands;
  };
  Half& next_half(uint64_t bytes);

  const Device& device_;
  // They are made when they are first needed, since a device with shared memory never needs them, and no
  // larger than what was asked for: opening a session, which uploads kilobytes many times, took 0.2 s on an
  // H200 with halves of 32 MiB.
  std::array<std::unique_ptr<Half>, 2> halves_;
  size_t turn_ = 1;  // the half filled last
};

}  // namespace bitnet::vk
