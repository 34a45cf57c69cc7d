// The Vulkan devices of this machine: what each can do, and which of them is meant.
//
// A device must have Vulkan 1.2, a queue family with compute, kLeastInvocations invocations a workgroup and
// kMostBindings storage buffers a kernel. Nothing is chosen by vendor.
//
// Thread rule: any thread.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cooperative_matrix.h"
#include "engine/engine.h"
#include "instance.h"
#include "subgroups.h"

namespace bitnet::vk {

constexpr uint32_t kLeastInvocations = 256;  // that some kernels have whatever the device

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
  uint64_t max_allocation = UINT64_MAX;  // bytes that the driver gives in one piece
  uint32_t queue_family = 0;
  std::optional<uint32_t> copy_family;  // does nothing but copies, which then run beside kernels
  Subgroups subgroups;
  bool timelines = false;              // has semaphores that count
  bool addresses = false;              // shaders may follow the address of a buffer
  bool reconverges = false;            // lanes of a subgroup can be made to go on together behind each branch
  bool integer_dot_extension = false;  // has it as VK_KHR_shader_integer_dot_product, on Vulkan 1.2
  bool subgroup_extension = false;     // and kernels that ask for subgroups as VK_EXT_subgroup_size_control
  // The multiplication of int8 with int32 sums by a subgroup that ternary_matmul_matrix.comp can use.
  std::optional<MatrixShape> int8_matrix;
  uint32_t multiprocessors = 0;  // each runs workgroups of its own; 0: the driver does not say how many
  bool half_matrix = false;  // and that of F16 with sums in f32 that attention_matrix.comp uses
};

// The features that some kernels need, as the chain of structs in which Vulkan tells and takes them. A device
// says in one which features it has; in another those that are used are turned on when it is opened.
class FeatureChain {
 public:
  using Switches = std::vector<VkBool32*>;

  // The structs that are linked: a device need not know them.
  struct Known {
    bool integer_dot = false, subgroups = false, matrices = false, reconvergence = false;
  };
  explicit FeatureChain(const Known& known);
  FeatureChain(const FeatureChain&) = delete;
  FeatureChain& operator=(const FeatureChain&) = delete;

  void* first() { return &core_; }
  static bool all_on(const Switches& switches);
  static void turn_on(const Switches& switches);

 private:
  VkPhysicalDeviceVulkan12Features core_{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES};
  VkPhysicalDeviceShaderIntegerDotProductFeatures dot_{
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_INTEGER_DOT_PRODUCT_FEATURES};
  VkPhysicalDeviceSubgroupSizeControlFeatures subgroups_{
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_FEATURES};
  VkPhysicalDeviceCooperativeMatrixFeaturesKHR matrix_{
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_COOPERATIVE_MATRIX_FEATURES_KHR};
  VkPhysicalDeviceShaderSubgroupUniformControlFlowFeaturesKHR reconvergence_{
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_SUBGROUP_UNIFORM_CONTROL_FLOW_FEATURES_KHR};

 public:
  // What must be on for semaphores that count, for the addresses of buffers, for the integer dot product, for
  // subgroups of a size that a kernel asks for and for full ones, for int8 matrices and, besides, for those
  // of F16, and for lanes that go on together behind branches. Matrices need the Vulkan memory model, which
  // is enabled for the whole device; the atomics of the other kernels then need its device scope.
  const Switches timelines{&core_.timelineSemaphore};
  const Switches addresses{&core_.bufferDeviceAddress};
  const Switches integer_dot{&dot_.shaderIntegerDotProduct};
  const Switches required_subgroups{&subgroups_.subgroupSizeControl};
  const Switches full_subgroups{&subgroups_.computeFullSubgroups};
  const Switches matrices{&matrix_.cooperativeMatrix, &core_.shaderInt8, &core_.vulkanMemoryModel,
                          &core_.vulkanMemoryModelDeviceScope, &subgroups_.computeFullSubgroups};
  const Switches halves{&core_.shaderFloat16};
  const Switches reconvergence{&reconvergence_.shaderSubgroupUniformControlFlow};
};

std::vector<PhysicalDevice> physical_devices(const Instance& instance);

// Chooses by index, or by a part of the name in any case. If `wanted` is an empty string, a discrete GPU is
// preferred to an integrated one, that to any other device, and a software device comes last. Throws
// Error(device) that lists what there is.
const PhysicalDevice& choose(const std::vector<PhysicalDevice>& devices, const std::string& wanted);

}  // namespace bitnet::vk
