// A Vulkan instance, a physical device chosen from it, and a logical device with one compute queue.
//
// Thread rule: constructing and listing anywhere; a Device's queue belongs to one thread at a time.
//
// What a device must have: Vulkan 1.2, a queue family with compute, 128 invocations a workgroup. Nothing is
// chosen by vendor.
#pragma once

#include <vulkan/vulkan.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/engine.h"

namespace bitnet::vk {

// Throws Error(device) with the call's text and the result's name unless `result` is VK_SUCCESS.
void check(VkResult result, const char* call);
#define VK_CHECK(call) ::bitnet::vk::check((call), #call)

// The process's instance. With BITNET_CHAT_VALIDATION=1 in the environment the Khronos validation layer runs
// with synchronisation checks, and its first message ends the process: that is how the tests run.
class Instance {
 public:
  static std::shared_ptr<Instance> get();
  ~Instance();
  Instance(const Instance&) = delete;
  Instance& operator=(const Instance&) = delete;

  VkInstance handle() const { return instance_; }
  std::vector<VkPhysicalDevice> physical_devices() const;

 private:
  Instance();
  VkInstance instance_ = VK_NULL_HANDLE;
  VkDebugUtilsMessengerEXT messenger_ = VK_NULL_HANDLE;
};

// Of a cooperative matrix multiplication: m x k by k x n.
struct MatrixShape {
  uint32_t m = 0;
  uint32_t n = 0;
  uint32_t k = 0;
};

struct PhysicalDevice {
  VkPhysicalDevice handle = VK_NULL_HANDLE;
  DeviceInfo info;
  VkPhysicalDeviceLimits limits{};
  uint32_t queue_family = 0;
  uint32_t min_subgroup_size = 0;  // lanes; where the driver may choose, the fewest
  bool subgroup_arithmetic = false;
  bool subgroup_shuffle = false;
  bool addresses = false;              // shaders may follow the address of a buffer
  bool integer_dot_extension = false;  // a 1.2 device that brings it as VK_KHR_shader_integer_dot_product
  // Of int8 with int32 sums by a subgroup, as ternary_matmul_matrix.comp can use it.
  std::optional<MatrixShape> int8_matrix;
};

std::vector<PhysicalDevice> physical_devices(const Instance& instance);

// By index or by a part of the name, in any case; empty = a discrete GPU before an integrated one before the
// rest before software. Throws Error(device) that lists what there is.
const PhysicalDevice& choose(const std::vector<PhysicalDevice>& devices, const std::string& wanted);

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
  const DeviceInfo& info() const { return physical_.info; }
  const VkPhysicalDeviceLimits& limits() const { return physical_.limits; }
  // Lanes of the subgroups that kernels run with, and where the driver may choose, the fewest. Shared: not
  // the device's own, but in shared memory (shaders/common/subgroup.glsl).
  bool shared_subgroups() const { return shared_subgroups_; }
  uint32_t subgroup_size() const { return subgroup_size_; }
  uint32_t min_subgroup_size() const { return min_subgroup_size_; }
  bool subgroup_shuffle() const { return shared_subgroups_ || physical_.subgroup_shuffle; }
  const std::optional<MatrixShape>& int8_matrix() const { return physical_.int8_matrix; }
  bool has_addresses() const { return physical_.addresses; }

  // Whether kernels should be chosen as a GPU likes them: many workgroups, and work done twice rather than
  // another dispatch.
  bool is_gpu() const { return is_gpu_; }

  // All device memory is also the host's (integrated GPUs and software devices), and may be written in place.
  bool unified_memory() const { return unified_memory_; }

  // A type among `allowed_types` (a bit each) with all of `wanted`; nullopt where there is none.
  std::optional<uint32_t> memory_type(uint32_t allowed_types, VkMemoryPropertyFlags wanted) const;

 private:
  std::shared_ptr<Instance> instance_;
  PhysicalDevice physical_;
  VkPhysicalDeviceMemoryProperties memory_{};
  bool unified_memory_ = false;
  bool is_gpu_ = true;
  bool shared_subgroups_ = false;
  uint32_t subgroup_size_ = 0;
  uint32_t min_subgroup_size_ = 0;
  VkDevice device_ = VK_NULL_HANDLE;
  VkQueue queue_ = VK_NULL_HANDLE;
};

}  // namespace bitnet::vk
