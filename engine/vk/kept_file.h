// The files of the cache folder in which something is kept about a card and its driver: compiled kernels, speeds,
// and that workgroups which wait for each other did not go on.
//
// Thread rule: free function; any thread.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "device.h"

namespace bitnet::vk {

// FOLDER/KIND-VENDOR-DEVICE-DRIVER-UUIDS: another driver, or another card of the kind, has other files. Empty
// where `folder` is.
std::filesystem::path kept_file(const Device& device, const std::string& folder, std::string_view kind);

}  // namespace bitnet::vk
