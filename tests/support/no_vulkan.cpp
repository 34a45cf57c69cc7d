// Takes the place of engine/vk/ where the tests are built for a machine without it (tests/arm.sh).
#include "engine/backend.h"

namespace bitnet {

std::unique_ptr<Backend> open_vulkan(const EngineOptions&) {
  throw Error(ErrorKind::device, "this build has no Vulkan");
}
DeviceInfo find_vulkan(const EngineOptions& options) { return open_vulkan(options)->device(); }
ReadSpeeds vulkan_speeds(const EngineOptions&) { return {}; }
std::vector<DeviceInfo> list_vulkan_devices() { return {}; }
std::shared_ptr<void> hold_vulkan() { return nullptr; }

}  // namespace bitnet
