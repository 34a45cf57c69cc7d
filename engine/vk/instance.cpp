#include "instance.h"

#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>

#include "engine/error.h"

namespace bitnet::vk {
namespace {

constexpr const char* kValidationLayer = "VK_LAYER_KHRONOS_validation";

bool validation_wanted() {
  const char* value = std::getenv("BITNET_CHAT_VALIDATION");
  return value != nullptr && std::strcmp(value, "1") == 0;
}

// A message of the validation layer is a bug of the engine, so the process ends where it happened.
VKAPI_ATTR VkBool32 VKAPI_CALL on_message(VkDebugUtilsMessageSeverityFlagBitsEXT,
                                          VkDebugUtilsMessageTypeFlagsEXT,
                                          const VkDebugUtilsMessengerCallbackDataEXT* data, void*) {
  std::fprintf(stderr, "Vulkan validation: %s\n", data->pMessage);
  std::abort();
}

// The results that the calls of this engine document have names; others are shown by number.
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
      return "no Vulkan driver is installed; on Debian, mesa-vulkan-drivers has some, and --device cpu "
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

}  // namespace

void check(VkResult result, const char* call) {
  if (result == VK_SUCCESS) return;
  const std::string_view name = std::string_view(call).substr(0, std::strcspn(call, "("));
  if (result == VK_ERROR_DEVICE_LOST)
    throw DeviceLost(ErrorKind::device, fmt::format("the device was lost ({})", name));
  throw Error(ErrorKind::device, fmt::format("{} failed: {}", name, name_of(result)));
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
  app.apiVersion = VK_API_VERSION_1_3;  // the newest version that the engine uses; devices of 1.2 will do

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
  return list_all<VkPhysicalDevice>("vkEnumeratePhysicalDevices",
                                    [&](uint32_t* n, VkPhysicalDevice* devices) {
                                      return vkEnumeratePhysicalDevices(instance_, n, devices);
                                    });
}

}  // namespace bitnet::vk
