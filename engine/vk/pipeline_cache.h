// Keeps the driver's compiled kernels in a file between runs, so that only the first start compiles them.
//
// Thread rule: as the Device. Several processes may share a folder: a file is replaced as a whole.
//
// The file only saves time: one that is not readable, was cut or changed, or was made by another driver is
// ignored, and nothing is written where the folder is not writable (engine/cache_file.h). Its name has the
// identity of the device and of the driver. It holds "BNPC", u32 version 1, u64 XXH3-64 of the rest, and what
// vkGetPipelineCacheData gave, in which the driver finds a kernel by its SPIR-V.
#pragma once

#include <string>

#include "device.h"

namespace bitnet::vk {

class PipelineCache {
 public:
  // If `folder` is an empty string, nothing is kept.
  PipelineCache(const Device& device, const std::string& folder);
  ~PipelineCache();
  PipelineCache(const PipelineCache&) = delete;
  PipelineCache& operator=(const PipelineCache&) = delete;

  VkPipelineCache handle() const { return cache_; }

  // Writes the file if kernels were made that it does not hold.
  void save() noexcept;

 private:
  const Device& device_;
  std::string path_;  // empty: none
  size_t saved_bytes_ = 0;
  VkPipelineCache cache_ = VK_NULL_HANDLE;
};

}  // namespace bitnet::vk
