#include "physical_device.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <span>

#include "engine/backend.h"
#include "engine/lower.h"
#include "memory_types.h"
#include "shaders/params.h"
#include "spirv.h"

namespace bitnet::vk {
namespace {

std::string version_text(uint32_t v) {
  return fmt::format("{}.{}.{}", VK_API_VERSION_MAJOR(v), VK_API_VERSION_MINOR(v), VK_API_VERSION_PATCH(v));
}

bool has_extension(VkPhysicalDevice device, const char* name) {
  const auto all = list_all<VkExtensionProperties>(
      "vkEnumerateDeviceExtensionProperties", [&](uint32_t* n, VkExtensionProperties* extensions) {
        return vkEnumerateDeviceExtensionProperties(device, nullptr, n, extensions);
      });
  return std::any_of(all.begin(), all.end(),
                     [&](const auto& e) { return std::strcmp(e.extensionName, name) == 0; });
}

std::vector<VkQueueFamilyProperties> queue_families(VkPhysicalDevice device) {
  uint32_t count = 0;
  vkGetPhysicalDeviceQueueFamilyProperties(device, &count, nullptr);
  std::vector<VkQueueFamilyProperties> families(count);
  vkGetPhysicalDeviceQueueFamilyProperties(device, &count, families.data());
  return families;
}

// A family with compute. One without graphics is preferred, since no other program's work waits there.
std::optional<uint32_t> compute_family(const std::vector<VkQueueFamilyProperties>& families) {
  std::optional<uint32_t> found;
  for (uint32_t i = 0; i < families.size(); ++i) {
    if (!(families[i].queueFlags & VK_QUEUE_COMPUTE_BIT)) continue;
    if (!(families[i].queueFlags & VK_QUEUE_GRAPHICS_BIT)) return i;
    if (!found) found = i;
  }
  return found;
}

// A family of copy engines.
std::optional<uint32_t> copy_family(const std::vector<VkQueueFamilyProperties>& families) {
  constexpr VkQueueFlags kOthers = VK_QUEUE_COMPUTE_BIT | VK_QUEUE_GRAPHICS_BIT | 0x20 /* video decode */ |
                                   0x40 /* video encode */ | 0x100 /* optical flow */;
  for (uint32_t i = 0; i < families.size(); ++i)
    if ((families[i].queueFlags & VK_QUEUE_TRANSFER_BIT) && !(families[i].queueFlags & kOthers)) return i;
  return std::nullopt;
}

// The multiplications of matrices that a subgroup can do, a device's favourite first.
std::vector<VkCooperativeMatrixPropertiesKHR> matrix_products(VkInstance instance, VkPhysicalDevice device) {
  const auto list = reinterpret_cast<PFN_vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR>(
      vkGetInstanceProcAddr(instance, "vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR"));
  if (list == nullptr) return {};
  auto all = list_all<VkCooperativeMatrixPropertiesKHR>(
      "vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR",
      [&](uint32_t* n, VkCooperativeMatrixPropertiesKHR* products) { return list(device, n, products); },
      {VK_STRUCTURE_TYPE_COOPERATIVE_MATRIX_PROPERTIES_KHR});
  std::erase_if(all, [](const auto& p) { return p.scope != VK_SCOPE_SUBGROUP_KHR; });
  return all;
}

// The first multiplication of int8 by int8 to int32 that fits the kernels, which work in steps of 64 features
// and store rows four at a time. Their subgroups have to be usable.
std::optional<MatrixShape> find_int8_matrix(std::span<const VkCooperativeMatrixPropertiesKHR> all) {
  for (const auto& p : all) {
    const bool types = p.AType == VK_COMPONENT_TYPE_SINT8_KHR && p.BType == VK_COMPONENT_TYPE_SINT8_KHR &&
                       p.CType == VK_COMPONENT_TYPE_SINT32_KHR &&
                       p.ResultType == VK_COMPONENT_TYPE_SINT32_KHR;
    const bool sizes =
        p.MSize % 4 == 0 && p.MSize <= 32 && p.NSize <= 32 && p.KSize % 16 == 0 && 64 % p.KSize == 0;
    if (types && sizes && !p.saturatingAccumulation) return MatrixShape{p.MSize, p.NSize, p.KSize};
  }
  return std::nullopt;
}

// Whether there is the multiplication of F16 with sums in f32 that attention has, by subgroups of as many
// lanes as its kernels expect. With less shared memory the blocks of a token would be no chain, which is
// worth more.
bool has_half_matrix(const PhysicalDevice& d, std::span<const VkCooperativeMatrixPropertiesKHR> all) {
  constexpr uint32_t kLeastSharedMemory = 48 << 10;
  if (d.subgroups.size != 2 * HALF_SIDE || d.limits.maxComputeSharedMemorySize < kLeastSharedMemory)
    return false;
  return std::ranges::any_of(all, [](const auto& p) {
    return p.AType == VK_COMPONENT_TYPE_FLOAT16_KHR && p.BType == VK_COMPONENT_TYPE_FLOAT16_KHR &&
           p.CType == VK_COMPONENT_TYPE_FLOAT32_KHR && p.ResultType == VK_COMPONENT_TYPE_FLOAT32_KHR &&
           p.MSize == HALF_SIDE && p.NSize == HALF_SIDE && p.KSize == HALF_SIDE;
  });
}

// The subgroups that kernels run with; `has_sizes`: the driver tells between which it may choose. How many a
// workgroup may have is a limit of its invocations too.
void find_subgroups(bool has_sizes, bool can_require, bool can_be_full, PhysicalDevice& d) {
  constexpr VkSubgroupFeatureFlags kUsed =
      VK_SUBGROUP_FEATURE_BASIC_BIT | VK_SUBGROUP_FEATURE_ARITHMETIC_BIT | VK_SUBGROUP_FEATURE_SHUFFLE_BIT;
  VkPhysicalDeviceSubgroupSizeControlProperties sizes{
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_PROPERTIES};
  VkPhysicalDeviceSubgroupProperties subgroup{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_PROPERTIES,
                                              has_sizes ? &sizes : nullptr};
  VkPhysicalDeviceProperties2 properties{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2, &subgroup};
  vkGetPhysicalDeviceProperties2(d.handle, &properties);
  d.subgroups = choose_subgroups(
      {.size = subgroup.subgroupSize,
       .fewest = has_sizes ? sizes.minSubgroupSize : subgroup.subgroupSize,
       .most = has_sizes ? sizes.maxSubgroupSize : subgroup.subgroupSize,
       .operations = (subgroup.supportedOperations & kUsed) == kUsed &&
                     (subgroup.supportedStages & VK_SHADER_STAGE_COMPUTE_BIT) != 0,
       .can_require = can_require && (sizes.requiredSubgroupSizeStages & VK_SHADER_STAGE_COMPUTE_BIT) != 0,
       .can_be_full = can_be_full});
  d.info.subgroup_size = d.subgroups.size;
  if (!d.subgroups.required) return;
  uint32_t& most = d.limits.maxComputeWorkGroupInvocations;
  most = static_cast<uint32_t>(
      std::min<uint64_t>(most, uint64_t{d.subgroups.size} * sizes.maxComputeWorkgroupSubgroups));
}

uint32_t count_multiprocessors(VkPhysicalDevice device) {
  if (!has_extension(device, VK_NV_SHADER_SM_BUILTINS_EXTENSION_NAME)) return 0;
  VkPhysicalDeviceShaderSMBuiltinsPropertiesNV sm{
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_SM_BUILTINS_PROPERTIES_NV};
  VkPhysicalDeviceProperties2 properties{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2, &sm};
  vkGetPhysicalDeviceProperties2(device, &properties);
  return sm.shaderSMCount;
}

// What the device can do that not every device can; Requires: Vulkan 1.2.
void find_features(VkInstance instance, uint32_t api_version, PhysicalDevice& d) {
  const bool core_1_3 = api_version >= VK_API_VERSION_1_3;
  d.integer_dot_extension =
      !core_1_3 && has_extension(d.handle, VK_KHR_SHADER_INTEGER_DOT_PRODUCT_EXTENSION_NAME);
  d.subgroup_extension = !core_1_3 && has_extension(d.handle, VK_EXT_SUBGROUP_SIZE_CONTROL_EXTENSION_NAME);
  const FeatureChain::Known known{
      core_1_3 || d.integer_dot_extension, core_1_3 || d.subgroup_extension,
      core_1_3 && has_extension(d.handle, VK_KHR_COOPERATIVE_MATRIX_EXTENSION_NAME),
      has_extension(d.handle, VK_KHR_SHADER_SUBGROUP_UNIFORM_CONTROL_FLOW_EXTENSION_NAME)};

  FeatureChain chain(known);
  VkPhysicalDeviceFeatures2 features{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2, chain.first()};
  vkGetPhysicalDeviceFeatures2(d.handle, &features);
  d.timelines = d.info.has_slots = FeatureChain::all_on(chain.timelines);
  d.addresses = FeatureChain::all_on(chain.addresses);
  d.reconverges = known.reconvergence && FeatureChain::all_on(chain.reconvergence);
  d.info.integer_dot = known.integer_dot && FeatureChain::all_on(chain.integer_dot);
  find_subgroups(known.subgroups, known.subgroups && FeatureChain::all_on(chain.required_subgroups),
                 known.subgroups && FeatureChain::all_on(chain.full_subgroups), d);
  if (known.matrices && FeatureChain::all_on(chain.matrices)) {
    const auto products = matrix_products(instance, d.handle);
    if (d.subgroups.usable) d.int8_matrix = find_int8_matrix(products);
    d.half_matrix = d.int8_matrix && FeatureChain::all_on(chain.halves) && has_half_matrix(d, products);
  }
  d.info.int8_matrix = d.int8_matrix.has_value();
  d.multiprocessors = count_multiprocessors(d.handle);

  if (!d.info.integer_dot) return;
  VkPhysicalDeviceShaderIntegerDotProductProperties speed{
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_INTEGER_DOT_PRODUCT_PROPERTIES};
  VkPhysicalDeviceProperties2 properties{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2, &speed};
  vkGetPhysicalDeviceProperties2(d.handle, &properties);
  d.info.fast_integer_dot = speed.integerDotProduct4x8BitPackedSignedAccelerated;
}

void describe_memory(VkPhysicalDevice device, VkPhysicalDeviceType type, DeviceInfo& info) {
  VkPhysicalDeviceMemoryBudgetPropertiesEXT budget{
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_BUDGET_PROPERTIES_EXT};
  VkPhysicalDeviceMemoryProperties2 properties{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_PROPERTIES_2};
  const bool tells = has_extension(device, VK_EXT_MEMORY_BUDGET_EXTENSION_NAME);
  if (tells) properties.pNext = &budget;
  vkGetPhysicalDeviceMemoryProperties2(device, &properties);
  const VkPhysicalDeviceMemoryProperties& memory = properties.memoryProperties;
  std::vector<uint64_t> free;
  for (uint32_t i = 0; i < memory.memoryHeapCount; ++i) {
    const uint64_t size = memory.memoryHeaps[i].size;
    const uint64_t most = tells ? std::min(budget.heapBudget[i], size) : size;
    free.push_back(most - std::min(most, tells ? budget.heapUsage[i] : 0));
  }
  const MemorySizes sizes = memory_sizes(memory, type, free);
  info.unified = sizes.unified;
  info.memory_bytes = sizes.bytes;
  info.free_bytes = sizes.free;
  info.free_host_bytes = sizes.free_host;
}

// What the driver gives in one piece. Drivers of AMD stop at 2 GiB, whatever a binding reaches.
uint64_t max_allocation(VkPhysicalDevice device, uint32_t api) {
  VkPhysicalDeviceMaintenance4Properties buffers{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MAINTENANCE_4_PROPERTIES};
  VkPhysicalDeviceMaintenance3Properties memory{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MAINTENANCE_3_PROPERTIES};
  if (api >= VK_API_VERSION_1_3) memory.pNext = &buffers;
  VkPhysicalDeviceProperties2 properties{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2, &memory};
  vkGetPhysicalDeviceProperties2(device, &properties);
  const uint64_t buffer = buffers.maxBufferSize == 0 ? UINT64_MAX : buffers.maxBufferSize;
  return std::min(memory.maxMemoryAllocationSize, buffer);
}

PhysicalDevice describe(VkInstance instance, VkPhysicalDevice handle, uint32_t index) {
  VkPhysicalDeviceDriverProperties driver{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DRIVER_PROPERTIES};
  VkPhysicalDeviceProperties2 properties{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2, &driver};
  vkGetPhysicalDeviceProperties2(handle, &properties);
  const VkPhysicalDeviceProperties& p = properties.properties;

  PhysicalDevice d;
  d.handle = handle;
  d.limits = p.limits;
  // Nearly all kernels have their invocations in a row.
  uint32_t& invocations = d.limits.maxComputeWorkGroupInvocations;
  invocations = std::min(invocations, d.limits.maxComputeWorkGroupSize[0]);
  d.info.index = index;
  d.info.name = p.deviceName;
  d.info.driver = fmt::format("{} {}", driver.driverName, driver.driverInfo);
  d.info.api = version_text(p.apiVersion);
  d.info.software = p.deviceType == VK_PHYSICAL_DEVICE_TYPE_CPU;
  d.max_allocation = max_allocation(handle, p.apiVersion);
  d.info.max_buffer_bytes =
      std::min<uint64_t>(p.limits.maxStorageBufferRange, d.max_allocation) / 16 * 16;  // in whole uvec4
  describe_memory(handle, p.deviceType, d.info);
  const std::vector<VkQueueFamilyProperties> families = queue_families(handle);
  const auto family = compute_family(families);
  d.copy_family = copy_family(families);
  d.queue_family = family.value_or(0);
  if (p.apiVersion < VK_API_VERSION_1_2) {
    d.info.unusable = "needs Vulkan 1.2, has " + d.info.api;
  } else {
    find_features(instance, p.apiVersion, d);  // which may lower limits
    d.info.has_copy_queue = d.timelines && d.copy_family.has_value();
    const uint32_t bindings = p.limits.maxPerStageDescriptorStorageBuffers;
    if (!family)
      d.info.unusable = "has no compute queue";
    else if (invocations < kLeastInvocations)
      d.info.unusable = fmt::format("lets {} invocations work together, of {} that are needed", invocations,
                                    kLeastInvocations);
    else if (bindings < kMostBindings)
      d.info.unusable =
          fmt::format("gives a kernel {} buffers, of {} that it needs", bindings, kMostBindings);
  }
  return d;
}

int rank(const PhysicalDevice& d) {
  VkPhysicalDeviceProperties p{};
  vkGetPhysicalDeviceProperties(d.handle, &p);
  switch (p.deviceType) {
    case VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU:
      return 4;
    case VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU:
      return 3;
    case VK_PHYSICAL_DEVICE_TYPE_VIRTUAL_GPU:
      return 2;
    case VK_PHYSICAL_DEVICE_TYPE_CPU:
      return 0;
    default:
      return 1;
  }
}

}  // namespace

FeatureChain::FeatureChain(const Known& known) {
  if (known.reconvergence) {
    reconvergence_.pNext = core_.pNext;
    core_.pNext = &reconvergence_;
  }
  if (known.integer_dot) {
    dot_.pNext = core_.pNext;
    core_.pNext = &dot_;
  }
  if (known.subgroups) {
    subgroups_.pNext = core_.pNext;
    core_.pNext = &subgroups_;
  }
  if (known.matrices) {
    matrix_.pNext = core_.pNext;
    core_.pNext = &matrix_;
  }
}

bool FeatureChain::all_on(const Switches& switches) {
  return std::ranges::all_of(switches, [](const VkBool32* on) { return *on == VK_TRUE; });
}

void FeatureChain::turn_on(const Switches& switches) {
  for (VkBool32* on : switches) *on = VK_TRUE;
}

std::vector<PhysicalDevice> physical_devices(const Instance& instance) {
  std::vector<PhysicalDevice> found;
  for (VkPhysicalDevice handle : instance.physical_devices()) {
    const auto index = static_cast<uint32_t>(found.size());
    try {
      found.push_back(describe(instance.handle(), handle, index));
    } catch (const Error& error) {  // which is no fault of the others
      PhysicalDevice& broken = found.emplace_back();
      VkPhysicalDeviceProperties p{};
      vkGetPhysicalDeviceProperties(handle, &p);
      broken.handle = handle;
      broken.info.index = index;
      broken.info.name = p.deviceName;
      broken.info.unusable = fmt::format("does not say what it can do: {}", error.what());
    }
  }
  return found;
}

const PhysicalDevice& choose(const std::vector<PhysicalDevice>& devices, const std::string& wanted) {
  std::vector<std::string> names;
  for (const auto& d : devices)
    names.push_back(fmt::format("{}: {}{}", d.info.index, d.info.name,
                                d.info.unusable.empty() ? "" : " (" + d.info.unusable + ")"));
  const std::string there =
      devices.empty() ? "there is no Vulkan device, only cpu; on Debian, mesa-vulkan-drivers brings drivers"
                      : fmt::format("there is {}; and cpu", fmt::join(names, "; "));
  uint32_t index = 0;
  const auto [end, error] = std::from_chars(wanted.data(), wanted.data() + wanted.size(), index);
  const bool is_number = !wanted.empty() && error == std::errc() && end == wanted.data() + wanted.size();

  const PhysicalDevice* best = nullptr;
  for (const auto& d : devices) {
    if (is_number ? d.info.index != index : lower(d.info.name).find(lower(wanted)) == std::string::npos)
      continue;
    const bool usable = d.info.unusable.empty();
    if (!best || std::pair(usable, rank(d)) > std::pair(best->info.unusable.empty(), rank(*best))) best = &d;
  }
  if (!best)
    throw Error(ErrorKind::device,
                wanted.empty() ? there : fmt::format("no device \"{}\"; {}", printable(wanted), there));
  if (!best->info.unusable.empty())
    throw Error(ErrorKind::device,
                fmt::format("device {} cannot be used: it {}", best->info.name, best->info.unusable));
  return *best;
}

}  // namespace bitnet::vk

namespace bitnet {

DeviceInfo find_vulkan(const EngineOptions& options) {
  const std::shared_ptr<vk::Instance> instance = vk::Instance::get();
  return vk::choose(vk::physical_devices(*instance), options.device).info;
}

std::vector<DeviceInfo> list_vulkan_devices() {
  std::vector<DeviceInfo> found;
  try {
    for (auto& d : vk::physical_devices(*vk::Instance::get())) found.push_back(std::move(d.info));
  } catch (const Error&) {  // there is no loader or no driver, so nothing to list
  }
  return found;
}

std::shared_ptr<void> hold_vulkan() try { return vk::Instance::get(); } catch (const Error&) {
  return nullptr;  // as list_vulkan_devices()
}

}  // namespace bitnet
