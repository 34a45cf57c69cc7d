#include "kept_file.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <array>
#include <cstring>

namespace bitnet::vk {

std::filesystem::path kept_file(const Device& device, const std::string& folder, std::string_view kind) {
  if (folder.empty()) return {};
  VkPhysicalDeviceIDProperties card{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_ID_PROPERTIES};
  VkPhysicalDeviceProperties2 properties{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2, &card};
  vkGetPhysicalDeviceProperties2(device.physical(), &properties);
  const VkPhysicalDeviceProperties& p = properties.properties;
  std::array<uint8_t, 2 * VK_UUID_SIZE> uuids{};
  std::memcpy(uuids.data(), p.pipelineCacheUUID, VK_UUID_SIZE);
  std::memcpy(uuids.data() + VK_UUID_SIZE, card.deviceUUID, VK_UUID_SIZE);
  return std::filesystem::path(folder) / fmt::format("{}-{:08x}-{:08x}-{:08x}-{:016x}", kind, p.vendorID,
                                                     p.deviceID, p.driverVersion,
                                                     XXH3_64bits(uuids.data(), uuids.size()));
}

}  // namespace bitnet::vk
