#include "pipeline_cache.h"

#include <xxhash.h>

#include <cstring>
#include <string_view>

#include "engine/cache_file.h"
#include "kept_file.h"

namespace bitnet::vk {
namespace {

constexpr uint64_t kMostPipelineBytes = 256 << 20;  // far more than kernels take

struct Header {
  char magic[4] = {'B', 'N', 'P', 'C'};
  uint32_t version = 1;
  uint64_t hash = 0;
};

// What the driver once gave, or nothing where the file is not what save() wrote.
std::string read_payload(const std::string& path) {
  std::string bytes = read_cache_file(path, kMostPipelineBytes);
  Header header, wanted;
  if (bytes.size() < sizeof header) return {};
  std::memcpy(&header, bytes.data(), sizeof header);
  bytes.erase(0, sizeof header);
  wanted.hash = XXH3_64bits(bytes.data(), bytes.size());
  return std::memcmp(&header, &wanted, sizeof header) == 0 ? bytes : std::string();
}

}  // namespace

PipelineCache::PipelineCache(const Device& device, const std::string& folder) : device_(device) {
  std::string payload;
  path_ = kept_file(device, folder, "pipelines").string();
  if (!path_.empty()) payload = read_payload(path_);
  saved_bytes_ = payload.size();
  VkPipelineCacheCreateInfo info{VK_STRUCTURE_TYPE_PIPELINE_CACHE_CREATE_INFO};
  info.initialDataSize = payload.size();
  info.pInitialData = payload.data();
  VK_CHECK(vkCreatePipelineCache(device.handle(), &info, nullptr, &cache_));
}

PipelineCache::~PipelineCache() { vkDestroyPipelineCache(device_.handle(), cache_, nullptr); }

void PipelineCache::save() noexcept try {
  size_t size = 0;
  if (path_.empty() || vkGetPipelineCacheData(device_.handle(), cache_, &size, nullptr) != VK_SUCCESS) return;
  if (size == saved_bytes_) return;
  std::string payload(size, '\0');
  if (vkGetPipelineCacheData(device_.handle(), cache_, &size, payload.data()) != VK_SUCCESS) return;
  payload.resize(size);
  Header header;
  header.hash = XXH3_64bits(payload.data(), payload.size());
  const std::string_view head(reinterpret_cast<const char*>(&header), sizeof header);
  if (head.size() + size <= kMostPipelineBytes && write_cache_file(path_, {head, payload}))
    saved_bytes_ = size;
} catch (const std::exception&) {  // there is no memory; the next start compiles again
}

}  // namespace bitnet::vk
