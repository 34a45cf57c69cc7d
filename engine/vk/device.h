// A device that was opened: the logical device with one compute queue, where there is one a queue for copies
// beside it, and how kernels are to be chosen for it.
//
// Thread rule: constructed anywhere; its queues belong to one thread at a time.
#pragma once

#include "physical_device.h"

namespace bitnet::vk {

class Device {
 public:
  explicit Device(const EngineOptions& options);
  ~Device();
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  VkDevice handle() const { return device_; }
  VkPhysicalDevice physical() const { return physical_.handle; }
  VkQueue queue() const { return queue_; }
  uint32_t queue_family() const { return physical_.queue_family; }
  // Where copies run beside kernels; without a family for that, the compute queue.
  bool has_copy_queue() const { return physical_.copy_family && physical_.timelines; }
  VkQueue copy_queue() const { return copy_queue_; }
  uint32_t copy_family() const { return has_copy_queue() ? *physical_.copy_family : queue_family(); }
  bool has_timelines() const { return physical_.timelines; }
  void wait_for_queues() const noexcept;
  const DeviceInfo& info() const { return physical_.info; }
  const VkPhysicalDeviceLimits& limits() const { return physical_.limits; }
  uint64_t max_allocation() const { return physical_.max_allocation; }
  // The subgroups of the device itself, and the lanes of those that kernels exchange values in.
  // shared_subgroups says that these are not the device's own but lie in shared memory
  // (shaders/common/subgroup.glsl).
  const Subgroups& own_subgroups() const { return physical_.subgroups; }
  bool shared_subgroups() const { return shared_subgroups_; }
  uint32_t subgroup_size() const { return subgroup_size_; }
  const std::optional<MatrixShape>& int8_matrix() const { return physical_.int8_matrix; }
  uint32_t multiprocessors() const { return physical_.multiprocessors; }
  bool half_matrix() const { return physical_.half_matrix && is_gpu_ && !shared_subgroups_; }
  bool reconverges() const { return physical_.reconverges; }
  bool has_addresses() const { return physical_.addresses; }

  // Whether kernels are chosen as for a GPU: with many workgroups, and with work that is done twice where
  // that saves a dispatch.
  bool is_gpu() const { return is_gpu_; }

  // All device memory is also the host's (integrated GPUs and software devices), so it may be written in
  // place.
  bool unified_memory() const { return unified_memory_; }

  // Bytes of device memory that buffers have and may have, and bytes of weights in host memory. Buffers count
  // themselves.
  struct Use {
    uint64_t device = 0, most = kNoLimit, host_weights = 0;
  };
  Use& use() const { return use_; }

  const VkPhysicalDeviceMemoryProperties& memory() const { return memory_; }

 private:
  void choose_subgroups(uint32_t wanted);
  std::string arithmetic() const;
  void create();

  std::shared_ptr<Instance> instance_;
  PhysicalDevice physical_;
  VkPhysicalDeviceMemoryProperties memory_{};
  mutable Use use_;
  bool unified_memory_ = false;
  bool is_gpu_ = true;
  bool shared_subgroups_ = false;
  uint32_t subgroup_size_ = 0;
  VkDevice device_ = VK_NULL_HANDLE;
  VkQueue queue_ = VK_NULL_HANDLE;
  VkQueue copy_queue_ = VK_NULL_HANDLE;
};

}  // namespace bitnet::vk
