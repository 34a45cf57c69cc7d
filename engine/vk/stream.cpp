#include "stream.h"

#include <algorithm>

#include "engine/layouts/layout.h"
#include "kernels.h"
#include "piece_order.h"

namespace bitnet::vk {
namespace {

constexpr uint64_t kMostBuffers = 6;  // of a matrix: codes and scales of three tensors

uint64_t aligned(uint64_t bytes) { return (bytes + kPartAlignment - 1) / kPartAlignment * kPartAlignment; }

// Calls `with` for each buffer of a matrix that lies in the host's memory.
template <typename M, typename With>
void for_each_in_host(M& w, const With& with) {
  const auto look_at = [&](auto& buffer) {
    if (buffer && vulkan(*buffer).is_in_host()) with(buffer);
  };
  look_at(w.codes);
  look_at(w.scales);
  for (auto& part : w.parts) {
    look_at(part.codes);
    look_at(part.scales);
  }
}

uint64_t bytes_in_host(const Matrix& w) {
  uint64_t bytes = 0;
  for_each_in_host(w, [&](const BufferPtr& buffer) { bytes += aligned(buffer->size()); });
  return bytes;
}

}  // namespace

Copies::~Copies() { vkDestroyCommandPool(device_.handle(), pool_, nullptr); }

void Copies::add(std::span<const VkBuffer> from, VkBuffer to, std::span<const VkBufferCopy> regions) {
  if (pool_ == VK_NULL_HANDLE) {
    VkCommandPoolCreateInfo pool{VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO};
    pool.queueFamilyIndex = device_.copy_family();
    VK_CHECK(vkCreateCommandPool(device_.handle(), &pool, nullptr, &pool_));
  }
  const VkCommandBuffer buffer = allocate_commands(device_, pool_);
  buffers_.push_back(buffer);
  const VkCommandBufferBeginInfo info{VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
  VK_CHECK(vkBeginCommandBuffer(buffer, &info));
  for (size_t i = 0; i < from.size(); ++i) vkCmdCopyBuffer(buffer, from[i], to, 1, &regions[i]);
  VK_CHECK(vkEndCommandBuffer(buffer));
}

Stream::Stream(const Device& device, HostWeights how, bool poison)
    : device_(device),
      how_(how != HostWeights::fast  ? how
           : device.has_copy_queue() ? HostWeights::fives
                                     : HostWeights::in_batches),
      poison_(poison) {}

Stream::~Stream() {
  device_.wait_for_queues();
  for (const VkSemaphore semaphore : {copied_, used_})
    vkDestroySemaphore(device_.handle(), semaphore, nullptr);
}

void Stream::make_semaphores() {
  VkSemaphoreTypeCreateInfo type{VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO};
  type.semaphoreType = VK_SEMAPHORE_TYPE_TIMELINE;
  const VkSemaphoreCreateInfo info{VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO, &type};
  for (VkSemaphore* semaphore : {&copied_, &used_})
    if (*semaphore == VK_NULL_HANDLE)
      VK_CHECK(vkCreateSemaphore(device_.handle(), &info, nullptr, semaphore));
}

void Stream::make_slots(uint64_t bytes) {
  if (how_ == HostWeights::read || !device_.has_timelines() || bytes == 0) return;
  make_semaphores();
  decltype(buffers_) buffers;
  for (auto& buffer : buffers)
    buffer = std::make_shared<VulkanBuffer>(device_, aligned(bytes), BufferUse::device, /*for_copies=*/true);
  buffers_ = std::move(buffers);
}

bool Stream::takes(const Matrix& w, uint32_t n) const {
  if (w.in_fives) return true;
  if (!buffers_.back() || (how_ != HostWeights::copied && n <= kMatvecTokens)) return false;
  const uint64_t bytes = bytes_in_host(w);
  return bytes != 0 && bytes <= buffers_.back()->size();
}

Matrix Stream::bring(const Matrix& w, Copies& copies) const {
  Matrix there = w;
  const auto& slot = buffers_[copies.size() % n_slots()];
  std::array<VkBuffer, kMostBuffers> from;
  std::array<VkBufferCopy, kMostBuffers> regions;
  size_t n = 0;
  uint64_t at = 0;
  for_each_in_host(there, [&](BufferPtr& buffer) {
    const uint64_t bytes = buffer->size();
    from[n] = vulkan(*buffer).handle();
    regions[n++] = {vulkan(*buffer).offset(), at, bytes};
    buffer = std::make_shared<VulkanBuffer>(slot, at, bytes);
    at += aligned(bytes);
  });
  copies.add({from.data(), n}, slot->handle(), {regions.data(), n});
  return there;
}

BufferPtr Stream::expanded(const Matrix& w) const {
  return std::make_shared<VulkanBuffer>(buffers_.back(), 0, w.rows() * code_bytes(w.layout, w.n_in));
}

// An info of a submission, with what it points to.
struct Stream::Entry {
  VkSemaphore wait, signal;
  uint64_t wait_value, signal_value;  // 0: it waits for nothing, or signals nothing
  VkCommandBuffer commands;
  VkPipelineStageFlags stage = VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT | VK_PIPELINE_STAGE_TRANSFER_BIT;
  VkTimelineSemaphoreSubmitInfo values{VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO};

  VkSubmitInfo info() {
    values.waitSemaphoreValueCount = wait_value != 0 ? 1 : 0;
    values.pWaitSemaphoreValues = &wait_value;
    values.signalSemaphoreValueCount = signal_value != 0 ? 1 : 0;
    values.pSignalSemaphoreValues = &signal_value;
    VkSubmitInfo info{VK_STRUCTURE_TYPE_SUBMIT_INFO, &values};
    info.waitSemaphoreCount = values.waitSemaphoreValueCount;
    info.pWaitSemaphores = &wait;
    info.pWaitDstStageMask = &stage;
    info.commandBufferCount = 1;
    info.pCommandBuffers = &commands;
    info.signalSemaphoreCount = values.signalSemaphoreValueCount;
    info.pSignalSemaphores = &signal;
    return info;
  }
};

void Stream::submit(Commands& commands, const Copies& copies) {
  const uint32_t n = copies.size();
  if (n == 0) return commands.submit();
  const bool together = !device_.has_copy_queue();
  std::vector<Entry> copy_entries, entries;
  entries.push_back({used_, used_, 0, 0, commands.parts()[0]});
  for (uint32_t i = 0; i < n; ++i) {
    const PieceOrder p = order_of_piece(base_, i, n, n_slots());
    const Entry copy{used_, copied_, p.after_used, p.copied, copies[i], VK_PIPELINE_STAGE_TRANSFER_BIT};
    (together ? entries : copy_entries).push_back(copy);
    entries.push_back({copied_, used_, p.copied, p.used, commands.parts()[i + 1]});
  }
  const uint64_t next = next_base(base_, n, n_slots());
  std::vector<VkSubmitInfo> copy_infos, infos;
  for (Entry& e : copy_entries) copy_infos.push_back(e.info());
  for (Entry& e : entries) infos.push_back(e.info());
  if (!together) VK_CHECK(vkQueueSubmit(device_.copy_queue(), n, copy_infos.data(), VK_NULL_HANDLE));
  try {
    commands.submit(infos);
  } catch (...) {
    if (together) throw;
    // Nobody will use what is being copied, and the copies must not wait for that.
    vkQueueWaitIdle(device_.queue());
    const VkSemaphoreSignalInfo used{VK_STRUCTURE_TYPE_SEMAPHORE_SIGNAL_INFO, nullptr, used_, next};
    vkSignalSemaphore(device_.handle(), &used);
    base_ = next;
    throw;
  }
  base_ = next;
}

}  // namespace bitnet::vk
