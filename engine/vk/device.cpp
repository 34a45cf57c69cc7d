#include "vk/device.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>

#include "vk/cooperative_matrix.h"

namespace bitnet::vk {
namespace {

// Of subgroups in shared memory: the fewest barriers are those of short exchanges, and 8 lanes share a row of
// weights.
constexpr uint32_t kSharedSubgroupSize = 8;

constexpr const char* kValidationLayer = "VK_LAYER_KHRONOS_validation";

bool validation_wanted() {
  const char* value = std::getenv("BITNET_CHAT_VALIDATION");
  return value != nullptr && std::strcmp(value, "1") == 0;
}

// A message of the validation layer is a bug of ours, so the process ends where it happened.
VKAPI_ATTR VkBool32 VKAPI_CALL on_message(VkDebugUtilsMessageSeverityFlagBitsEXT,
                                          VkDebugUtilsMessageTypeFlagsEXT,
                                          const VkDebugUtilsMessengerCallbackDataEXT* data, void*) {
  std::fprintf(stderr, "Vulkan validation: %s\n", data->pMessage);
  std::abort();
}

std::string version_text(uint32_t v) {
  return fmt::format("{}.{}.{}", VK_API_VERSION_MAJOR(v), VK_API_VERSION_MINOR(v), VK_API_VERSION_PATCH(v));
}

// The results that the calls of this engine document; others are shown by number.
std::string name_of(VkResult result) {
  switch (result) {
    case VK_ERROR_OUT_OF_HOST_MEMORY:
      return "out of host memory";
    case VK_ERROR_OUT_OF_DEVICE_MEMORY:
      return "out of device memory";
    case VK_ERROR_INITIALIZATION_FAILED:
      return "initialisation failed";
    case VK_ERROR_LAYER_NOT_PRESENT:
      return "layer not present";
    case VK_ERROR_EXTENSION_NOT_PRESENT:
      return "extension not present";
    case VK_ERROR_FEATURE_NOT_PRESENT:
      return "feature not present";
    case VK_ERROR_INCOMPATIBLE_DRIVER:
      return "no Vulkan driver is installed; on Debian, mesa-vulkan-drivers brings some, and --device cpu "
             "needs none";
    case VK_ERROR_TOO_MANY_OBJECTS:
      return "too many objects";
    case VK_ERROR_MEMORY_MAP_FAILED:
      return "memory cannot be mapped";
    case VK_TIMEOUT:
      return "the device did not finish in time";
    default:
      return fmt::format("VkResult {}", static_cast<int>(result));
  }
}

bool has_extension(VkPhysicalDevice device, const char* name) {
  uint32_t count = 0;
  VK_CHECK(vkEnumerateDeviceExtensionProperties(device, nullptr, &count, nullptr));
  std::vector<VkExtensionProperties> all(count);
  VK_CHECK(vkEnumerateDeviceExtensionProperties(device, nullptr, &count, all.data()));
  return std::any_of(all.begin(), all.end(),
                     [&](const auto& e) { return std::strcmp(e.extensionName, name) == 0; });
}

// A family with compute; one without graphics is preferred, since nothing else waits there.
std::optional<uint32_t> compute_family(VkPhysicalDevice device) {
  uint32_t count = 0;
  vkGetPhysicalDeviceQueueFamilyProperties(device, &count, nullptr);
  std::vector<VkQueueFamilyProperties> families(count);
  vkGetPhysicalDeviceQueueFamilyProperties(device, &count, families.data());
  std::optional<uint32_t> found;
  for (uint32_t i = 0; i < count; ++i) {
    if (!(families[i].queueFlags & VK_QUEUE_COMPUTE_BIT)) continue;
    if (!(families[i].queueFlags & VK_QUEUE_GRAPHICS_BIT)) return i;
    if (!found) found = i;
  }
  return found;
}

std::string why_unusable(const VkPhysicalDeviceProperties& p, bool has_queue) {
  if (p.apiVersion < VK_API_VERSION_1_2) return "needs Vulkan 1.2, has " + version_text(p.apiVersion);
  if (!has_queue) return "has no compute queue";
  return {};
}

// The first (which is the device's favourite) multiplication of int8 by int8 to int32 that fits the kernel:
// steps of 64 features, and rows that are stored four at a time. Matrices need the Vulkan memory model, which is
// enabled for the whole device; the atomics of the other kernels then need its device scope.
std::optional<MatrixShape> int8_matrix(VkInstance instance, VkPhysicalDevice device) {
  VkPhysicalDeviceSubgroupSizeControlFeatures subgroups{
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_FEATURES};
  VkPhysicalDeviceCooperativeMatrixFeaturesKHR matrix{
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_COOPERATIVE_MATRIX_FEATURES_KHR, &subgroups, VK_FALSE, VK_FALSE};
  VkPhysicalDeviceVulkan12Features core{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES, &matrix};
  VkPhysicalDeviceFeatures2 features{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2, &core};
  vkGetPhysicalDeviceFeatures2(device, &features);
  const auto list = reinterpret_cast<PFN_vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR>(
      vkGetInstanceProcAddr(instance, "vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR"));
  if (!matrix.cooperativeMatrix || !core.shaderInt8 || !core.vulkanMemoryModel ||
      !core.vulkanMemoryModelDeviceScope || !subgroups.computeFullSubgroups || list == nullptr)
    return std::nullopt;

  uint32_t count = 0;
  VK_CHECK(list(device, &count, nullptr));
  std::vector<VkCooperativeMatrixPropertiesKHR> all(count);
  for (auto& p : all) p.sType = VK_STRUCTURE_TYPE_COOPERATIVE_MATRIX_PROPERTIES_KHR;
  VK_CHECK(list(device, &count, all.data()));
  for (const auto& p : all) {
    const bool types = p.AType == VK_COMPONENT_TYPE_SINT8_KHR && p.BType == VK_COMPONENT_TYPE_SINT8_KHR &&
                       p.CType == VK_COMPONENT_TYPE_SINT32_KHR &&
                       p.ResultType == VK_COMPONENT_TYPE_SINT32_KHR;
    const bool sizes =
        p.MSize % 4 == 0 && p.MSize <= 32 && p.NSize <= 32 && p.KSize % 16 == 0 && 64 % p.KSize == 0;
    if (types && sizes && !p.saturatingAccumulation && p.scope == VK_SCOPE_SUBGROUP_KHR)
      return MatrixShape{p.MSize, p.NSize, p.KSize};
  }
  return std::nullopt;
}

PhysicalDevice describe(VkInstance instance, VkPhysicalDevice handle, uint32_t index) {
  PhysicalDevice d;
  d.handle = handle;

  VkPhysicalDeviceDriverProperties driver{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DRIVER_PROPERTIES};
  VkPhysicalDeviceSubgroupProperties subgroup{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_PROPERTIES, &driver};
  VkPhysicalDeviceProperties2 properties{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2, &subgroup};
  vkGetPhysicalDeviceProperties2(handle, &properties);
  const VkPhysicalDeviceProperties p = properties.properties;
  d.limits = p.limits;

  VkPhysicalDeviceShaderIntegerDotProductFeatures dot{
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_INTEGER_DOT_PRODUCT_FEATURES};
  d.integer_dot_extension = p.apiVersion < VK_API_VERSION_1_3 &&
                            has_extension(handle, VK_KHR_SHADER_INTEGER_DOT_PRODUCT_EXTENSION_NAME);
  if (p.apiVersion >= VK_API_VERSION_1_3 || d.integer_dot_extension) {
    VkPhysicalDeviceFeatures2 features{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2, &dot};
    vkGetPhysicalDeviceFeatures2(handle, &features);
    VkPhysicalDeviceShaderIntegerDotProductProperties speed{
        VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_INTEGER_DOT_PRODUCT_PROPERTIES};
    properties.pNext = &speed;
    vkGetPhysicalDeviceProperties2(handle, &properties);
    d.info.fast_integer_dot =
        dot.shaderIntegerDotProduct && speed.integerDotProduct4x8BitPackedSignedAccelerated;
  }

  VkPhysicalDeviceBufferDeviceAddressFeatures addresses{
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_BUFFER_DEVICE_ADDRESS_FEATURES};
  VkPhysicalDeviceFeatures2 features{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2, &addresses};
  vkGetPhysicalDeviceFeatures2(handle, &features);
  d.addresses = addresses.bufferDeviceAddress;

  d.min_subgroup_size = subgroup.subgroupSize;
  constexpr VkSubgroupFeatureFlags kArithmetic =
      VK_SUBGROUP_FEATURE_BASIC_BIT | VK_SUBGROUP_FEATURE_ARITHMETIC_BIT;
  d.subgroup_arithmetic = (subgroup.supportedOperations & kArithmetic) == kArithmetic &&
                          (subgroup.supportedStages & VK_SHADER_STAGE_COMPUTE_BIT);
  d.subgroup_shuffle = (subgroup.supportedOperations & VK_SUBGROUP_FEATURE_SHUFFLE_BIT) != 0;
  if (p.apiVersion >= VK_API_VERSION_1_3 ||
      has_extension(handle, VK_EXT_SUBGROUP_SIZE_CONTROL_EXTENSION_NAME)) {
    VkPhysicalDeviceSubgroupSizeControlProperties sizes{
        VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_PROPERTIES};
    properties.pNext = &sizes;
    vkGetPhysicalDeviceProperties2(handle, &properties);
    d.min_subgroup_size = sizes.minSubgroupSize;
  }

  if (p.apiVersion >= VK_API_VERSION_1_3 && has_extension(handle, VK_KHR_COOPERATIVE_MATRIX_EXTENSION_NAME))
    d.int8_matrix = int8_matrix(instance, handle);

  VkPhysicalDeviceMemoryProperties memory{};
  vkGetPhysicalDeviceMemoryProperties(handle, &memory);
  for (uint32_t i = 0; i < memory.memoryHeapCount; ++i)
    if (memory.memoryHeaps[i].flags & VK_MEMORY_HEAP_DEVICE_LOCAL_BIT)
      d.info.memory_bytes = std::max(d.info.memory_bytes, memory.memoryHeaps[i].size);

  const auto family = compute_family(handle);
  d.queue_family = family.value_or(0);
  d.info.index = index;
  d.info.name = p.deviceName;
  d.info.driver = fmt::format("{} {}", driver.driverName, driver.driverInfo);
  d.info.api = version_text(p.apiVersion);
  d.info.software = p.deviceType == VK_PHYSICAL_DEVICE_TYPE_CPU;
  d.info.subgroup_size = subgroup.subgroupSize;
  d.info.integer_dot = dot.shaderIntegerDotProduct;
  d.info.int8_matrix = d.int8_matrix.has_value();
  d.info.max_buffer_bytes = p.limits.maxStorageBufferRange;
  d.info.unusable = why_unusable(p, family.has_value());
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

std::string lower(std::string s) {
  std::transform(s.begin(), s.end(), s.begin(), [](unsigned char c) { return std::tolower(c); });
  return s;
}

}  // namespace

void check(VkResult result, const char* call) {
  if (result == VK_SUCCESS) return;
  const std::string_view name = std::string_view(call).substr(0, std::strcspn(call, "("));
  throw Error(ErrorKind::device, result == VK_ERROR_DEVICE_LOST
                                     ? fmt::format("the device was lost ({})", name)
                                     : fmt::format("{} failed: {}", name, name_of(result)));
}

std::shared_ptr<Instance> Instance::get() {
  static std::mutex mutex;
  static std::weak_ptr<Instance> current;
  const std::lock_guard lock(mutex);
  auto instance = current.lock();
  if (!instance) {
    instance = std::shared_ptr<Instance>(new Instance);
    current = instance;
  }
  return instance;
}

Instance::Instance() {
  VkApplicationInfo app{VK_STRUCTURE_TYPE_APPLICATION_INFO};
  app.pApplicationName = "bitnet-chat";
  app.apiVersion = VK_API_VERSION_1_3;  // the newest we know of; devices of 1.2 still serve

  VkDebugUtilsMessengerCreateInfoEXT messenger{VK_STRUCTURE_TYPE_DEBUG_UTILS_MESSENGER_CREATE_INFO_EXT};
  messenger.messageSeverity =
      VK_DEBUG_UTILS_MESSAGE_SEVERITY_WARNING_BIT_EXT | VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT;
  messenger.messageType = VK_DEBUG_UTILS_MESSAGE_TYPE_VALIDATION_BIT_EXT;
  messenger.pfnUserCallback = on_message;
  const VkValidationFeatureEnableEXT synchronisation =
      VK_VALIDATION_FEATURE_ENABLE_SYNCHRONIZATION_VALIDATION_EXT;
  VkValidationFeaturesEXT features{VK_STRUCTURE_TYPE_VALIDATION_FEATURES_EXT, &messenger};
  features.enabledValidationFeatureCount = 1;
  features.pEnabledValidationFeatures = &synchronisation;

  const char* extensions[] = {VK_EXT_DEBUG_UTILS_EXTENSION_NAME, VK_EXT_VALIDATION_FEATURES_EXTENSION_NAME};
  VkInstanceCreateInfo info{VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO};
  info.pApplicationInfo = &app;
  if (validation_wanted()) {
    info.pNext = &features;
    info.enabledLayerCount = 1;
    info.ppEnabledLayerNames = &kValidationLayer;
    info.enabledExtensionCount = 2;
    info.ppEnabledExtensionNames = extensions;
  }
  VK_CHECK(vkCreateInstance(&info, nullptr, &instance_));
  if (validation_wanted()) {
    const auto create = reinterpret_cast<PFN_vkCreateDebugUtilsMessengerEXT>(
        vkGetInstanceProcAddr(instance_, "vkCreateDebugUtilsMessengerEXT"));
    VK_CHECK(create(instance_, &messenger, nullptr, &messenger_));
  }
}

Instance::~Instance() {
  if (messenger_) {
    const auto destroy = reinterpret_cast<PFN_vkDestroyDebugUtilsMessengerEXT>(
        vkGetInstanceProcAddr(instance_, "vkDestroyDebugUtilsMessengerEXT"));
    destroy(instance_, messenger_, nullptr);
  }
  vkDestroyInstance(instance_, nullptr);
}

std::vector<VkPhysicalDevice> Instance::physical_devices() const {
  uint32_t count = 0;
  VK_CHECK(vkEnumeratePhysicalDevices(instance_, &count, nullptr));
  std::vector<VkPhysicalDevice> devices(count);
  VK_CHECK(vkEnumeratePhysicalDevices(instance_, &count, devices.data()));
  return devices;
}

std::vector<PhysicalDevice> physical_devices(const Instance& instance) {
  std::vector<PhysicalDevice> found;
  for (VkPhysicalDevice handle : instance.physical_devices())
    found.push_back(describe(instance.handle(), handle, static_cast<uint32_t>(found.size())));
  return found;
}

const PhysicalDevice& choose(const std::vector<PhysicalDevice>& devices, const std::string& wanted) {
  std::vector<std::string> names;
  for (const auto& d : devices)
    names.push_back(fmt::format("{}: {}{}", d.info.index, d.info.name,
                                d.info.unusable.empty() ? "" : " (" + d.info.unusable + ")"));
  const std::string there =
      devices.empty() ? "there is cpu and no Vulkan device; on Debian, mesa-vulkan-drivers brings drivers"
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

Device::Device(const EngineOptions& options) : instance_(Instance::get()) {
  // From here on the process keeps it, and does not even destroy it in the end, when drivers may be gone
  // already. A driver that is loaded again and again may refuse: NVIDIA's 580.159 gave
  // VK_ERROR_INCOMPATIBLE_DRIVER for the 31st instance and device of a process, one after the other.
  [[gnu::used]] static const auto* const kept = new std::shared_ptr<Instance>(instance_);
  physical_ = choose(vk::physical_devices(*instance_), options.device);
  vkGetPhysicalDeviceMemoryProperties(physical_.handle, &memory_);
  const auto is_local = [](const VkMemoryHeap& heap) {
    return (heap.flags & VK_MEMORY_HEAP_DEVICE_LOCAL_BIT) != 0;
  };
  is_gpu_ = options.as_gpu || !physical_.info.software;
  if (options.subgroup_size != 0 && (!std::has_single_bit(options.subgroup_size) ||
                                     options.subgroup_size < 8 || options.subgroup_size > 64))
    throw Error(ErrorKind::usage, fmt::format("no kernels for subgroups of {} lanes", options.subgroup_size));
  shared_subgroups_ = options.subgroup_size != 0 || !physical_.subgroup_arithmetic;
  subgroup_size_ = options.subgroup_size != 0 ? options.subgroup_size
                   : shared_subgroups_        ? kSharedSubgroupSize
                                              : physical_.info.subgroup_size;
  min_subgroup_size_ = shared_subgroups_ ? subgroup_size_ : physical_.min_subgroup_size;
  physical_.info.arithmetic =
      fmt::format("{}, {}, Vulkan {}, subgroups of {}{}{}", physical_.info.name, physical_.info.driver,
                  physical_.info.api, subgroup_size_, shared_subgroups_ ? " in shared memory" : "",
                  is_gpu_ ? ", kernels for a GPU" : "");
  unified_memory_ = !options.always_stage &&
                    std::all_of(memory_.memoryHeaps, memory_.memoryHeaps + memory_.memoryHeapCount, is_local);

  const float priority = 1.0F;
  VkDeviceQueueCreateInfo queue{VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO};
  queue.queueFamilyIndex = physical_.queue_family;
  queue.queueCount = 1;
  queue.pQueuePriorities = &priority;

  VkPhysicalDeviceShaderIntegerDotProductFeatures dot{
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_INTEGER_DOT_PRODUCT_FEATURES};
  dot.shaderIntegerDotProduct = VK_TRUE;
  VkPhysicalDeviceSubgroupSizeControlFeatures subgroups{
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_FEATURES};
  subgroups.computeFullSubgroups = VK_TRUE;
  VkPhysicalDeviceCooperativeMatrixFeaturesKHR matrix{
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_COOPERATIVE_MATRIX_FEATURES_KHR, &subgroups, VK_TRUE, VK_FALSE};
  VkPhysicalDeviceVulkan12Features core{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES};
  core.bufferDeviceAddress = physical_.addresses;

  VkDeviceCreateInfo info{VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO, &core};
  std::vector<const char*> extensions;
  if (physical_.info.integer_dot) {
    dot.pNext = &core;
    info.pNext = &dot;
  }
  if (physical_.info.integer_dot && physical_.integer_dot_extension)
    extensions.push_back(VK_KHR_SHADER_INTEGER_DOT_PRODUCT_EXTENSION_NAME);
  if (physical_.int8_matrix) {
    core.pNext = &matrix;
    core.shaderInt8 = VK_TRUE;
    core.vulkanMemoryModel = VK_TRUE;
    core.vulkanMemoryModelDeviceScope = VK_TRUE;
    extensions.push_back(VK_KHR_COOPERATIVE_MATRIX_EXTENSION_NAME);
  }
  info.enabledExtensionCount = static_cast<uint32_t>(extensions.size());
  info.ppEnabledExtensionNames = extensions.data();
  info.queueCreateInfoCount = 1;
  info.pQueueCreateInfos = &queue;
  VK_CHECK(vkCreateDevice(physical_.handle, &info, nullptr, &device_));
  vkGetDeviceQueue(device_, physical_.queue_family, 0, &queue_);
}

Device::~Device() { vkDestroyDevice(device_, nullptr); }

std::optional<uint32_t> Device::memory_type(uint32_t allowed_types, VkMemoryPropertyFlags wanted) const {
  for (uint32_t i = 0; i < memory_.memoryTypeCount; ++i)
    if ((allowed_types >> i & 1) && (memory_.memoryTypes[i].propertyFlags & wanted) == wanted) return i;
  return std::nullopt;
}

}  // namespace bitnet::vk

namespace bitnet {

void check_vulkan(const EngineOptions& options) {
  const std::shared_ptr<vk::Instance> instance = vk::Instance::get();
  vk::choose(vk::physical_devices(*instance), options.device);
}

std::vector<DeviceInfo> list_vulkan_devices() {
  std::vector<DeviceInfo> found;
  try {
    for (auto& d : vk::physical_devices(*vk::Instance::get())) found.push_back(std::move(d.info));
  } catch (const Error&) {  // no loader or no driver at all: nothing to list
  }
  return found;
}

std::shared_ptr<void> hold_vulkan() try { return vk::Instance::get(); } catch (const Error&) {
  return nullptr;  // as list_vulkan_devices()
}

}  // namespace bitnet
