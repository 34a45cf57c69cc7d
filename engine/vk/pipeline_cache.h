// The driver's compiled kernels, kept in a file between runs so that only the first start compiles.
//
// Thread rule: as the Device. Several processes may share a folder: a file is replaced as a whole.
//
// The file is a matter of speed alone: one that cannot be read, was cut, changed or made by another driver is
// ignored, and a folder that cannot be written is left alone. Its name has the device's and the driver's
// identity; inside are "BNPC", u32 version 1, u64 XXH3-64 of the rest, and what vkGetPipelineCacheData gave.
#pragma once

#include <string>

#include "device.h"

namespace bitnet::vk {

class PipelineCache {
 public:
  // folder empty: nothing is kept.
  PipelineCache(const Device& device, const std::string& folder);
  ~PipelineCache();
  PipelineCache(const PipelineCache&) = delete;
  PipelineCache& operator=(const PipelineCache&) = delete;

  VkPipelineCache handle() const { return cache_; }

  // Writes the file if the kernels made since are more than it held.
  void save() noexcept;

 private:
  const Device& device_;
  std::string path_;  // empty: none
  size_t saved_bytes_ = 0;
  VkPipelineCache cache_ = VK_NULL_HANDLE;
};

}  // namespace bitnet::vk
