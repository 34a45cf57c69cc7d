#include "bench/copy_speed.h"

#include <algorithm>
#include <chrono>

#include "engine/vk/kernel.h"
#include "engine/vk/recorder.h"

namespace bitnet {

using namespace vk;

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

}  // namespace

double measure_copy_speed(const EngineOptions& options) {
  const Device device(options);
  const uint64_t bytes = std::min<uint64_t>(512 << 20, device.info().max_buffer_bytes / 16 * 16);
  const VulkanBuffer from(device, bytes, BufferUse::device), to(device, bytes, BufferUse::device);
  const Kernel kernel(device, VK_NULL_HANDLE, Shader::copy, {});
  // There are two lengths, so that the time of the submission itself cancels out.
  constexpr uint32_t kFew = 1, kMany = 9;
  VulkanProgram few(device), many(device);
  record_copies(few, device, kernel, from, to, kFew);
  record_copies(many, device, kernel, from, to, kMany);
  const double once = (seconds(many) - seconds(few)) / (kMany - kFew);
  return 2 * static_cast<double>(bytes) / once / 1e9;
}

}  // namespace bitnet
