#include "tests/support/vk_faults.h"

#include <algorithm>
#include <cstring>
#include <mutex>
#include <optional>
#include <set>
#include <span>

#include "shaders/params.h"

namespace bitnet::vk_faults {
namespace {

std::mutex mutex;
std::map<std::string, int> counts;
std::string failing;  // this call
VkResult with = VK_SUCCESS;
int in_calls = 0;  // the fault is so many calls away; 0 means that there is none
int every = 0;     // the next device is lost after so many of its calls
int devices_left = 0;
bool lost = false;
int allocated = 0;
int asked = 0;  // kernels, for subgroups
std::set<VkShaderModule> too_large;
Without missing;

bool uses_the_queue(const std::string& call) { return call == "vkQueueSubmit" || call == "vkWaitForFences"; }

// Returns what this call gives instead of doing its work, or nothing if it is to do its work.
std::optional<VkResult> fault(const char* call) {
  const std::lock_guard lock(mutex);
  ++counts[call];
  if (lost && uses_the_queue(call)) return VK_ERROR_DEVICE_LOST;
  if (failing != call || in_calls == 0 || --in_calls > 0) return std::nullopt;
  if (with == VK_ERROR_DEVICE_LOST) lost = true;
  return with;
}

void device_made() {
  const std::lock_guard lock(mutex);
  if (!lost) return;
  lost = false;
  in_calls = --devices_left > 0 ? every : 0;
}

Without what_is_missing() {
  const std::lock_guard lock(mutex);
  return missing;
}

// Returns the struct of this type in a chain of pNext, or null.
template <typename T>
T* in_chain(void* next, VkStructureType type) {
  auto* s = static_cast<VkBaseOutStructure*>(next);
  while (s != nullptr && s->sType != type) s = s->pNext;
  return reinterpret_cast<T*>(s);
}

// The result of a call that lists things, `to` where it was to put them.
VkResult listed(VkResult result, const void* to) {
  return result == VK_SUCCESS && to != nullptr && what_is_missing().latest ? VK_INCOMPLETE : result;
}

constexpr uint32_t kWidth = 256;  // with Without::width

// The specialisation constant of a kernel with this number, or 0.
uint32_t constant(const VkPipelineShaderStageCreateInfo& stage, uint32_t number) {
  uint32_t value = 0;
  const VkSpecializationInfo& all = *stage.pSpecializationInfo;
  for (const VkSpecializationMapEntry& entry : std::span(all.pMapEntries, all.mapEntryCount))
    if (entry.constantID == number)
      std::memcpy(&value, static_cast<const char*>(all.pData) + entry.offset, sizeof value);
  return value;
}

}  // namespace

void fail(const std::string& call, VkResult result, int n, int times) {
  const std::lock_guard lock(mutex);
  failing = call;
  with = result;
  in_calls = every = n;
  devices_left = times;
}

void set(const Without& without) {
  const std::lock_guard lock(mutex);
  missing = without;
}

void heal() {
  const std::lock_guard lock(mutex);
  counts.clear();
  failing.clear();
  in_calls = 0;
  lost = false;
  asked = 0;
  missing = {};
}

int calls(const std::string& call) {
  const std::lock_guard lock(mutex);
  return counts[call];
}

int required_subgroups() {
  const std::lock_guard lock(mutex);
  return asked;
}

int allocations() {
  const std::lock_guard lock(mutex);
  return allocated;
}

std::map<std::string, int> calls() {
  const std::lock_guard lock(mutex);
  return counts;
}

}  // namespace bitnet::vk_faults

using namespace bitnet::vk_faults;

// Declares each call twice: as the loader has it (real), and as the engine is linked with it (wrap).
#define WRAPPED(result, name, ...)              \
  extern "C" result __real_##name(__VA_ARGS__); \
  extern "C" result __wrap_##name(__VA_ARGS__)

#define FAILING_1(name, A)                    \
  WRAPPED(VkResult, name, A a) {              \
    const auto given = fault(#name);          \
    return given ? *given : __real_##name(a); \
  }
#define FAILING_2(name, A, B)                    \
  WRAPPED(VkResult, name, A a, B b) {            \
    const auto given = fault(#name);             \
    return given ? *given : __real_##name(a, b); \
  }
#define FAILING_3(name, A, B, C)                    \
  WRAPPED(VkResult, name, A a, B b, C c) {          \
    const auto given = fault(#name);                \
    return given ? *given : __real_##name(a, b, c); \
  }
#define FAILING_4(name, A, B, C, D)                    \
  WRAPPED(VkResult, name, A a, B b, C c, D d) {        \
    const auto given = fault(#name);                   \
    return given ? *given : __real_##name(a, b, c, d); \
  }
#define FAILING_6(name, A, B, C, D, E, F)                    \
  WRAPPED(VkResult, name, A a, B b, C c, D d, E e, F f) {    \
    const auto given = fault(#name);                         \
    return given ? *given : __real_##name(a, b, c, d, e, f); \
  }
#define MAKING(name, Info, Handle) \
  FAILING_4(name, VkDevice, const Info*, const VkAllocationCallbacks*, Handle*)

MAKING(vkCreateBuffer, VkBufferCreateInfo, VkBuffer)
MAKING(vkCreateCommandPool, VkCommandPoolCreateInfo, VkCommandPool)
MAKING(vkCreateFence, VkFenceCreateInfo, VkFence)
MAKING(vkCreateDescriptorPool, VkDescriptorPoolCreateInfo, VkDescriptorPool)
MAKING(vkCreateDescriptorSetLayout, VkDescriptorSetLayoutCreateInfo, VkDescriptorSetLayout)
MAKING(vkCreatePipelineLayout, VkPipelineLayoutCreateInfo, VkPipelineLayout)
MAKING(vkCreatePipelineCache, VkPipelineCacheCreateInfo, VkPipelineCache)
FAILING_4(vkBindBufferMemory, VkDevice, VkBuffer, VkDeviceMemory, VkDeviceSize)
FAILING_6(vkMapMemory, VkDevice, VkDeviceMemory, VkDeviceSize, VkDeviceSize, VkMemoryMapFlags, void**)
FAILING_3(vkAllocateCommandBuffers, VkDevice, const VkCommandBufferAllocateInfo*, VkCommandBuffer*)
FAILING_3(vkAllocateDescriptorSets, VkDevice, const VkDescriptorSetAllocateInfo*, VkDescriptorSet*)
FAILING_3(vkResetCommandPool, VkDevice, VkCommandPool, VkCommandPoolResetFlags)
FAILING_2(vkBeginCommandBuffer, VkCommandBuffer, const VkCommandBufferBeginInfo*)
FAILING_1(vkEndCommandBuffer, VkCommandBuffer)
FAILING_3(vkResetFences, VkDevice, uint32_t, const VkFence*)
FAILING_4(vkQueueSubmit, VkQueue, uint32_t, const VkSubmitInfo*, VkFence)

WRAPPED(VkResult, vkCreateComputePipelines, VkDevice device, VkPipelineCache cache, uint32_t n,
        const VkComputePipelineCreateInfo* infos, const VkAllocationCallbacks* callbacks,
        VkPipeline* pipelines) {
  if (const auto given = fault("vkCreateComputePipelines")) return *given;
  for (uint32_t i = 0; i < n; ++i) {
    const VkPipelineShaderStageCreateInfo& stage = infos[i].stage;
    const auto* size = in_chain<VkPipelineShaderStageRequiredSubgroupSizeCreateInfo>(
        const_cast<void*>(stage.pNext),
        VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_REQUIRED_SUBGROUP_SIZE_CREATE_INFO);
    const bool is_wide = what_is_missing().width && constant(stage, CONSTANT_WORKGROUP_SIZE) > kWidth;
    const std::lock_guard lock(mutex);
    if (is_wide || too_large.contains(stage.module)) {
      std::fill_n(pipelines, n, VkPipeline{VK_NULL_HANDLE});
      return VK_ERROR_UNKNOWN;
    }
    if (size && (stage.flags & VK_PIPELINE_SHADER_STAGE_CREATE_REQUIRE_FULL_SUBGROUPS_BIT) != 0) ++asked;
  }
  return __real_vkCreateComputePipelines(device, cache, n, infos, callbacks, pipelines);
}
WRAPPED(VkResult, vkAllocateMemory, VkDevice device, const VkMemoryAllocateInfo* info,
        const VkAllocationCallbacks* callbacks, VkDeviceMemory* memory) {
  if (const auto given = fault("vkAllocateMemory")) return *given;
  const VkResult result = __real_vkAllocateMemory(device, info, callbacks, memory);
  const std::lock_guard lock(mutex);
  allocated += result == VK_SUCCESS ? 1 : 0;
  return result;
}
WRAPPED(void, vkFreeMemory, VkDevice device, VkDeviceMemory memory, const VkAllocationCallbacks* callbacks) {
  __real_vkFreeMemory(device, memory, callbacks);
  const std::lock_guard lock(mutex);
  allocated -= memory != VK_NULL_HANDLE ? 1 : 0;
}
WRAPPED(VkResult, vkCreateDevice, VkPhysicalDevice physical, const VkDeviceCreateInfo* info,
        const VkAllocationCallbacks* callbacks, VkDevice* device) {
  device_made();
  const auto given = fault("vkCreateDevice");
  return given ? *given : __real_vkCreateDevice(physical, info, callbacks, device);
}
WRAPPED(VkResult, vkWaitForFences, VkDevice device, uint32_t n, const VkFence* fences, VkBool32 all,
        uint64_t timeout) {
  const VkResult done = __real_vkWaitForFences(device, n, fences, all, timeout);
  return fault("vkWaitForFences").value_or(done);
}
WRAPPED(VkResult, vkCreateInstance, const VkInstanceCreateInfo* info, const VkAllocationCallbacks* callbacks,
        VkInstance* instance) {
  return what_is_missing().driver ? VK_ERROR_INCOMPATIBLE_DRIVER
                                  : __real_vkCreateInstance(info, callbacks, instance);
}
WRAPPED(VkResult, vkEnumeratePhysicalDevices, VkInstance instance, uint32_t* n, VkPhysicalDevice* devices) {
  const Without without = what_is_missing();
  if (!without.devices) {
    const VkResult result = __real_vkEnumeratePhysicalDevices(instance, n, devices);
    if (without.last_device && devices == nullptr) ++*n;
    return listed(result, devices);
  }
  *n = 0;
  return VK_SUCCESS;
}
WRAPPED(VkResult, vkEnumerateDeviceExtensionProperties, VkPhysicalDevice device, const char* layer,
        uint32_t* n, VkExtensionProperties* extensions) {
  if (what_is_missing().extensions) return VK_ERROR_INITIALIZATION_FAILED;
  const VkResult result = __real_vkEnumerateDeviceExtensionProperties(device, layer, n, extensions);
  return listed(result, extensions);
}
WRAPPED(void, vkGetPhysicalDeviceQueueFamilyProperties, VkPhysicalDevice device, uint32_t* n,
        VkQueueFamilyProperties* families) {
  __real_vkGetPhysicalDeviceQueueFamilyProperties(device, n, families);
  const bool hide = families != nullptr && what_is_missing().compute_queue;
  for (uint32_t i = 0; hide && i < *n; ++i) families[i].queueFlags &= ~VkQueueFlags{VK_QUEUE_COMPUTE_BIT};
}
// Refuses a kernel that asks for what is missing.
WRAPPED(VkResult, vkCreateShaderModule, VkDevice device, const VkShaderModuleCreateInfo* info,
        const VkAllocationCallbacks* callbacks, VkShaderModule* module) {
  constexpr uint32_t kCapability = 17 | 2 << 16;  // OpCapability and its operand
  constexpr uint32_t kArithmetic = 63, kShuffles = 65;
  const Without without = what_is_missing();
  for (size_t at = 5; info->pCode[at] == kCapability; at += 2)
    if (((without.subgroup_arithmetic || without.required_subgroups) && info->pCode[at + 1] == kArithmetic) ||
        (without.subgroup_shuffles && info->pCode[at + 1] == kShuffles))
      return VK_ERROR_FEATURE_NOT_PRESENT;
  if (const auto given = fault("vkCreateShaderModule")) return *given;
  const VkResult result = __real_vkCreateShaderModule(device, info, callbacks, module);
  const std::lock_guard lock(mutex);
  too_large.erase(*module);  // the handle of one that is gone
  if (without.kernels_over != 0 && info->codeSize > without.kernels_over) too_large.insert(*module);
  return result;
}
WRAPPED(void, vkGetPhysicalDeviceProperties2, VkPhysicalDevice device,
        VkPhysicalDeviceProperties2* properties) {
  __real_vkGetPhysicalDeviceProperties2(device, properties);
  if (what_is_missing().buffers) properties->properties.limits.maxPerStageDescriptorStorageBuffers = 4;
  if (what_is_missing().invocations) properties->properties.limits.maxComputeWorkGroupInvocations = 128;
  if (what_is_missing().width) properties->properties.limits.maxComputeWorkGroupSize[0] = kWidth;
  auto* memory = in_chain<VkPhysicalDeviceMaintenance3Properties>(
      properties->pNext, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MAINTENANCE_3_PROPERTIES);
  if (memory && what_is_missing().larger_than != 0)
    memory->maxMemoryAllocationSize = what_is_missing().larger_than;
  auto* sizes = in_chain<VkPhysicalDeviceSubgroupSizeControlProperties>(
      properties->pNext, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_PROPERTIES);
  if (sizes && what_is_missing().fixed_subgroups) sizes->minSubgroupSize /= 2;
  if (sizes && what_is_missing().required_subgroups) sizes->requiredSubgroupSizeStages = 0;
  auto* subgroups = in_chain<VkPhysicalDeviceSubgroupProperties>(
      properties->pNext, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_PROPERTIES);
  if (!subgroups) return;
  if (what_is_missing().subgroup_arithmetic)
    subgroups->supportedOperations &= ~VkFlags{VK_SUBGROUP_FEATURE_ARITHMETIC_BIT};
  if (what_is_missing().subgroup_shuffles)
    subgroups->supportedOperations &= ~VkFlags{VK_SUBGROUP_FEATURE_SHUFFLE_BIT};
}
WRAPPED(void, vkGetPhysicalDeviceMemoryProperties, VkPhysicalDevice device,
        VkPhysicalDeviceMemoryProperties* memory) {
  __real_vkGetPhysicalDeviceMemoryProperties(device, memory);
  const bool hide = what_is_missing().cached_memory;
  for (uint32_t i = 0; hide && i < memory->memoryTypeCount; ++i)
    memory->memoryTypes[i].propertyFlags &= ~VkFlags{VK_MEMORY_PROPERTY_HOST_CACHED_BIT};
}
WRAPPED(void, vkGetPhysicalDeviceFeatures2, VkPhysicalDevice device, VkPhysicalDeviceFeatures2* features) {
  __real_vkGetPhysicalDeviceFeatures2(device, features);
  auto* dot = in_chain<VkPhysicalDeviceShaderIntegerDotProductFeatures>(
      features->pNext, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_INTEGER_DOT_PRODUCT_FEATURES);
  if (what_is_missing().integer_dot && dot) dot->shaderIntegerDotProduct = VK_FALSE;
  auto* core = in_chain<VkPhysicalDeviceVulkan12Features>(
      features->pNext, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES);
  if (what_is_missing().timelines && core) core->timelineSemaphore = VK_FALSE;
  if (what_is_missing().device_scope && core) core->vulkanMemoryModelDeviceScope = VK_FALSE;
}
