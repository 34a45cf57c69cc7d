#include "pipeline_cache.h"

#include <fmt/format.h>
#include <unistd.h>
#include <xxhash.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

#include "kept_file.h"

namespace bitnet::vk {
namespace {

struct Header {
  char magic[4] = {'B', 'N', 'P', 'C'};
  uint32_t version = 1;
  uint64_t hash = 0;
};

// What the driver once gave, or nothing where the file is not what save() wrote.
std::vector<char> read_payload(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::vector<char> bytes{std::istreambuf_iterator<char>(file), {}};
  Header header, wanted;
  if (bytes.size() < sizeof header) return {};
  std::memcpy(&header, bytes.data(), sizeof header);
  bytes.erase(bytes.begin(), bytes.begin() + sizeof header);
  wanted.hash = XXH3_64bits(bytes.data(), bytes.size());
  return std::memcmp(&header, &wanted, sizeof header) == 0 ? bytes : std::vector<char>{};
}

}  // namespace

PipelineCache::PipelineCache(const Device& device, const std::string& folder) : device_(device) {
  std::vector<char> payload;
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
  std::vector<char> payload(size);
  if (vkGetPipelineCacheData(device_.handle(), cache_, &size, payload.data()) != VK_SUCCESS) return;
  payload.resize(size);
  Header header;
  header.hash = XXH3_64bits(payload.data(), payload.size());

  std::filesystem::create_directories(std::filesystem::path(path_).parent_path());
  const std::string unfinished = fmt::format("{}.{}", path_, getpid());
  {
    std::ofstream file(unfinished, std::ios::binary);
    file.write(reinterpret_cast<const char*>(&header), sizeof header);
    file.write(payload.data(), static_cast<std::streamsize>(payload.size()));
    if (!file.flush()) {
      file.close();
      std::filesystem::remove(unfinished);
      return;
    }
  }
  std::filesystem::rename(unfinished, path_);
  saved_bytes_ = size;
} catch (const std::exception&) {  // the disk is full or read-only; the next start compiles again
}

}  // namespace bitnet::vk
