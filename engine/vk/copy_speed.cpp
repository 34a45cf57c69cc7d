#include "copy_speed.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <sstream>

#include "engine/cache_file.h"
#include "kept_file.h"
#include "recorder.h"

namespace bitnet::vk {
namespace {

void record_copies(VulkanProgram& program, const Device& device, const Kernel& kernel,
                   const VulkanBuffer& from, const VulkanBuffer& to, uint32_t copies) {
  const VkDescriptorSet set = program.allocate_set(kernel.set_layout());
  const VkDescriptorBufferInfo infos[] = {{from.handle(), 0, VK_WHOLE_SIZE}, {to.handle(), 0, VK_WHOLE_SIZE}};
  VkWriteDescriptorSet write{VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET, nullptr, set,  0, 0, 2,
                             VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,      nullptr, infos};
  vkUpdateDescriptorSets(device.handle(), 1, &write, 0, nullptr);

  constexpr uint32_t kUnitsAWorkgroup = 1024;
  const auto units = static_cast<uint32_t>(from.size() / 16);
  const VkCommandBuffer commands = program.commands.begin();
  vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, kernel.pipeline());
  vkCmdBindDescriptorSets(commands, VK_PIPELINE_BIND_POINT_COMPUTE, kernel.layout(), 0, 1, &set, 0, nullptr);
  vkCmdPushConstants(commands, kernel.layout(), VK_SHADER_STAGE_COMPUTE_BIT, 0, sizeof units, &units);
  const VkMemoryBarrier barrier{VK_STRUCTURE_TYPE_MEMORY_BARRIER, nullptr, VK_ACCESS_SHADER_WRITE_BIT,
                                VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT};
  constexpr VkPipelineStageFlags kStage = VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT;
  for (uint32_t i = 0; i < copies; ++i) {
    vkCmdDispatch(commands, (units + kUnitsAWorkgroup - 1) / kUnitsAWorkgroup, 1, 1);
    vkCmdPipelineBarrier(commands, kStage, kStage, 0, 1, &barrier, 0, nullptr, 0, nullptr);
  }
  program.commands.end();
}

// The best of as many submissions as fit into a tenth of a second, which the clocks need to rise.
double seconds(VulkanProgram& program) {
  using Clock = std::chrono::steady_clock;
  const auto begin = Clock::now();
  double best = 1e9;
  for (int i = 0; i < 3 || Clock::now() - begin < std::chrono::milliseconds(100); ++i) {
    const auto start = Clock::now();
    program.commands.submit();
    program.commands.wait();
    best = std::min(best, std::chrono::duration<double>(Clock::now() - start).count());
  }
  return best;
}

bool is_speed(double speed) { return std::isfinite(speed) && speed > 1e6 && speed < 1e15; }

// The speeds of a card and its driver, as a line of text: "BNRS 2", then those of ReadSpeeds.
std::optional<ReadSpeeds> read_kept(const std::filesystem::path& path) {
  constexpr uint64_t kMostBytes = 1 << 10;
  std::istringstream file(read_cache_file(path.string(), kMostBytes));
  std::string magic;
  int version = 0;
  ReadSpeeds speeds;
  if (!(file >> magic >> version >> speeds.of_device >> speeds.of_host)) return std::nullopt;
  file >> speeds.of_copies;
  const bool good = magic == "BNRS" && version == 2 && is_speed(speeds.of_device) &&
                    is_speed(speeds.of_host) && is_speed(speeds.of_copies);
  return good ? std::optional(speeds) : std::nullopt;
}

void keep(const std::filesystem::path& path, const ReadSpeeds& speeds) {
  write_cache_file(path.string(),
                   {fmt::format("BNRS 2 {} {} {}\n", speeds.of_device, speeds.of_host, speeds.of_copies)});
}

}  // namespace

double copy_speed(const Device& device, BufferUse use, uint64_t bytes) {
  const VulkanBuffer from(device, bytes, use), to(device, bytes, BufferUse::device);
  if (!from.mapped().empty()) std::memset(from.mapped().data(), 1, from.size());
  const Kernel kernel(device, VK_NULL_HANDLE, Shader::copy, {});
  // There are two lengths, so that the time of the submission itself cancels out.
  constexpr uint32_t kFew = 1, kMany = 9;
  VulkanProgram few(device), many(device);
  record_copies(few, device, kernel, from, to, kFew);
  record_copies(many, device, kernel, from, to, kMany);
  const double once = (seconds(many) - seconds(few)) / (kMany - kFew);
  return static_cast<double>(bytes) / std::max(once, 1e-9);
}

double queue_copy_speed(const Device& device, uint64_t bytes) {
  const VulkanBuffer from(device, bytes, BufferUse::host_weights),
      to(device, bytes, BufferUse::device, /*for_copies=*/true);
  std::memset(from.mapped().data(), 1, from.size());
  Copies copies(device);
  constexpr uint64_t kPiece = 16 << 20;  // about what a matrix has
  std::vector<VkBuffer> buffers;
  std::vector<VkBufferCopy> regions;
  for (uint64_t at = 0; at < bytes; at += kPiece) {
    buffers.push_back(from.handle());
    regions.push_back({at, at, std::min(kPiece, bytes - at)});
  }
  copies.add(buffers, to.handle(), regions, kNotInFile);
  double best = 1e9;
  for (int i = 0; i < 5; ++i) {
    const auto start = std::chrono::steady_clock::now();
    VkSubmitInfo info{VK_STRUCTURE_TYPE_SUBMIT_INFO};
    info.commandBufferCount = 1;
    info.pCommandBuffers = &copies[0];
    VK_CHECK(vkQueueSubmit(device.copy_queue(), 1, &info, VK_NULL_HANDLE));
    VK_CHECK(vkQueueWaitIdle(device.copy_queue()));
    best = std::min(best, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  return static_cast<double>(bytes) / std::max(best, 1e-9);
}

}  // namespace bitnet::vk

namespace bitnet {

ReadSpeeds vulkan_speeds(const EngineOptions& options) {
  const vk::Device device(options);
  const std::filesystem::path path = vk::kept_file(device, options.cache_folder, "speeds");
  if (const auto kept = vk::read_kept(path)) return *kept;
  const DeviceInfo& info = device.info();
  const uint64_t most = info.software ? 32 << 20 : 256 << 20;  // past any cache of a GPU
  const uint64_t bytes =
      std::min({most, info.max_buffer_bytes, std::max<uint64_t>(info.free_bytes / 8, 1 << 20)});
  ReadSpeeds speeds;
  speeds.of_device = 2 * vk::copy_speed(device, BufferUse::device, bytes / 16 * 16);  // as much is written
  speeds.of_host = vk::copy_speed(device, BufferUse::host_weights, bytes / 16 * 16);
  speeds.of_copies = vk::queue_copy_speed(device, bytes / 16 * 16);
  if (info.unified) speeds.of_host = speeds.of_device;
  if (!path.empty()) vk::keep(path, speeds);
  return speeds;
}

}  // namespace bitnet
