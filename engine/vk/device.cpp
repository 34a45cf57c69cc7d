#include "device.h"

#include <fmt/format.h>

#include <array>
#include <bit>
#include <chrono>

#include "engine/kernel_options.h"
#include "spirv.h"

namespace bitnet::vk {

// Subgroups in shared memory meet at a barrier for each exchange, so short ones cost least; and 8 lanes share
// a row of weights.
constexpr uint32_t kSharedSubgroupSize = 8;

Device::Device(const EngineOptions& options) : instance_(Instance::get()) {
  // From here on the process keeps the instance and does not even destroy it in the end, when drivers may be
  // gone already. A driver that is loaded again and again may refuse: NVIDIA's 580.159 gave
  // VK_ERROR_INCOMPATIBLE_DRIVER for the 31st instance and device of a process, one after the other.
  [[gnu::used]] static const auto* const kept = new std::shared_ptr<Instance>(instance_);
  physical_ = choose(vk::physical_devices(*instance_), options.device);
  vkGetPhysicalDeviceMemoryProperties(physical_.handle, &memory_);
  unified_memory_ = !kernels_of(options).always_stage && physical_.info.unified;
  physical_.info.unified = unified_memory_;
  is_gpu_ = kernels_of(options).as_gpu || !physical_.info.software;
  choose_subgroups(kernels_of(options).subgroup_size);
  physical_.info.arithmetic = arithmetic();
  create();
}

void Device::choose_subgroups(uint32_t wanted) {
  if (wanted != 0 && (!std::has_single_bit(wanted) || wanted < 8 || wanted > 64))
    throw Error(
        ErrorKind::usage,
        fmt::format("there are no kernels for subgroups of {} lanes, but of 8, 16, 32 and 64", wanted));
  shared_subgroups_ = wanted != 0 || !physical_.subgroups.usable;
  subgroup_size_ = wanted != 0 ? wanted : shared_subgroups_ ? kSharedSubgroupSize : physical_.subgroups.size;
}

// As DeviceInfo::arithmetic; an experiment with kernels of BITNET_CHAT_SHADERS is like nothing else.
std::string Device::arithmetic() const {
  const std::string folder = shader_folder();
  return fmt::format(
      "{}, {}, Vulkan {}, subgroups of {}{}{}{}{}", physical_.info.name, physical_.info.driver,
      physical_.info.api, subgroup_size_, shared_subgroups_ ? " in shared memory" : "",
      is_gpu_ ? ", kernels for a GPU" : "", half_matrix() ? ", attention in matrices of F16" : "",
      folder.empty() ? std::string()
                     : fmt::format(", kernels of {} at {}", folder,
                                   std::chrono::system_clock::now().time_since_epoch().count()));
}

void Device::create() {
  const float priority = 1.0F;
  std::array<VkDeviceQueueCreateInfo, 2> queues{};
  for (size_t i = 0; i < queues.size(); ++i) {
    queues[i].sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO;
    queues[i].queueFamilyIndex = i == 0 ? queue_family() : copy_family();
    queues[i].queueCount = 1;
    queues[i].pQueuePriorities = &priority;
  }

  const Subgroups& subgroups = physical_.subgroups;
  FeatureChain features({.integer_dot = physical_.info.integer_dot,
                         .subgroups = subgroups.required || subgroups.full,
                         .matrices = physical_.int8_matrix.has_value(),
                         .reconvergence = physical_.reconverges});
  std::vector<const char*> extensions;
  if (physical_.timelines) FeatureChain::turn_on(features.timelines);
  if (physical_.addresses) FeatureChain::turn_on(features.addresses);
  if (physical_.info.integer_dot) FeatureChain::turn_on(features.integer_dot);
  if (physical_.info.integer_dot && physical_.integer_dot_extension)
    extensions.push_back(VK_KHR_SHADER_INTEGER_DOT_PRODUCT_EXTENSION_NAME);
  if (subgroups.required) FeatureChain::turn_on(features.required_subgroups);
  if (subgroups.full) FeatureChain::turn_on(features.full_subgroups);
  if ((subgroups.required || subgroups.full) && physical_.subgroup_extension)
    extensions.push_back(VK_EXT_SUBGROUP_SIZE_CONTROL_EXTENSION_NAME);
  if (physical_.reconverges) {
    FeatureChain::turn_on(features.reconvergence);
    extensions.push_back(VK_KHR_SHADER_SUBGROUP_UNIFORM_CONTROL_FLOW_EXTENSION_NAME);
  }
  if (physical_.int8_matrix) {
    FeatureChain::turn_on(features.matrices);
    if (physical_.half_matrix) FeatureChain::turn_on(features.halves);
    extensions.push_back(VK_KHR_COOPERATIVE_MATRIX_EXTENSION_NAME);
  }

  VkDeviceCreateInfo info{VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO, features.first()};
  info.enabledExtensionCount = static_cast<uint32_t>(extensions.size());
  info.ppEnabledExtensionNames = extensions.data();
  info.queueCreateInfoCount = has_copy_queue() ? 2 : 1;
  info.pQueueCreateInfos = queues.data();
  try {
    VK_CHECK(vkCreateDevice(physical_.handle, &info, nullptr, &device_));
  } catch (const Error& error) {
    throw Error(ErrorKind::device,
                fmt::format("{} cannot be opened: {}; try another --device, or --device cpu",
                            physical_.info.name, error.what()));
  }
  vkGetDeviceQueue(device_, queue_family(), 0, &queue_);
  vkGetDeviceQueue(device_, copy_family(), 0, &copy_queue_);
}

void Device::wait_for_queues() const noexcept {
  vkQueueWaitIdle(queue_);
  if (has_copy_queue()) vkQueueWaitIdle(copy_queue_);
}

Device::~Device() { vkDestroyDevice(device_, nullptr); }

}  // namespace bitnet::vk
