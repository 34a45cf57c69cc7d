#include "stream.h"

#include <algorithm>
#include <utility>

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

void Copies::clear() noexcept {
  if (pool_ != VK_NULL_HANDLE) vkResetCommandPool(device_.handle(), pool_, 0);
  n_recorded_ = 0;
  buffers_.clear();
  in_file_.clear();
}

void Copies::add_nothing(uint32_t in_file) {
  buffers_.push_back(VK_NULL_HANDLE);
  in_file_.push_back(in_file);
}

void Copies::add(std::span<const VkBuffer> from, VkBuffer to, std::span<const VkBufferCopy> regions,
                 uint32_t in_file) {
  if (pool_ == VK_NULL_HANDLE) {
    VkCommandPoolCreateInfo pool{VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO};
    pool.queueFamilyIndex = device_.copy_family();
    VK_CHECK(vkCreateCommandPool(device_.handle(), &pool, nullptr, &pool_));
  }
  if (n_recorded_ == allocated_.size()) allocated_.push_back(allocate_commands(device_, pool_));
  const VkCommandBuffer buffer = allocated_[n_recorded_++];
  buffers_.push_back(buffer);
  in_file_.push_back(in_file);
  const VkCommandBufferBeginInfo info{VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
  VK_CHECK(vkBeginCommandBuffer(buffer, &info));
  for (size_t i = 0; i < from.size(); ++i) vkCmdCopyBuffer(buffer, from[i], to, 1, &regions[i]);
  VK_CHECK(vkEndCommandBuffer(buffer));
}

Stream::Stream(const Device& device, const KernelOptions& options)
    : device_(device),
      wanted_(options.host_weights),
      how_(wanted_ != HostWeights::fast ? wanted_
           : device.has_copy_queue()    ? HostWeights::fives
                                        : HostWeights::in_batches),
      poison_(options.poison_slots),
      read_at_once_(options.read_at_once) {}

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

void Stream::choose_way(const ReadSpeeds& speeds) {
  if (wanted_ == HostWeights::fast && device_.has_copy_queue())
    how_ = fives_pay(speeds) ? HostWeights::fives : HostWeights::in_batches;
}

void Stream::read_with(WeightReader& reader) {
  make_semaphores();
  reader_ = &reader;
}

bool Stream::takes(const Matrix& w, uint32_t n) const {
  if (w.in_fives || w.in_file != kNotInFile) return true;
  if (!buffers_.back() || (how_ != HostWeights::copied && n <= kMatvecTokens)) return false;
  const uint64_t bytes = bytes_in_host(w);
  return bytes != 0 && bytes <= buffers_.back()->size();
}

uint64_t Stream::reads_in_host(const Matrix& w, uint32_t n) const {
  return device_.use().host_weights == 0 || takes(w, n) ? 0 : bytes_in_host(w);
}

Matrix Stream::bring(const Matrix& w, Copies& copies) const {
  if (!buffers_.back()) {
    copies.add_nothing(w.in_file);
    return w;
  }
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
  copies.add({from.data(), n}, slot->handle(), {regions.data(), n}, w.in_file);
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

// Submits the parts of a program in their order, all at once but for those that wait for the file.
class Stream::Submission {
 public:
  Submission(Stream& stream, Commands& commands, const Copies& copies, uint32_t n_plain)
      : s_(stream),
        commands_(commands),
        copies_(copies),
        n_plain_(n_plain),
        one_queue_(!stream.device_.has_copy_queue()) {}

  void run() {
    const uint32_t n = copies_.size();
    for (uint32_t i = 0; i <= n_plain_; ++i) {
      flush(/*last=*/false);
      entries_.push_back({s_.used_, s_.used_, 0, 0, commands_.parts()[i]});
    }
    for (uint32_t i = 0; i < n; ++i) {
      const PieceOrder p = order_of_piece(s_.base_, i, n, s_.n_slots());
      const bool is_copied = copies_[i] != VK_NULL_HANDLE;
      if (copies_.in_file(i) != kNotInFile)
        read(copies_.in_file(i), is_copied ? p.copied : p.used, is_copied);
      if (is_copied)
        (one_queue_ ? entries_ : copy_entries_)
            .push_back(
                {s_.used_, s_.copied_, p.after_used, p.copied, copies_[i], VK_PIPELINE_STAGE_TRANSFER_BIT});
      entries_.push_back(
          {s_.copied_, s_.used_, is_copied ? p.copied : 0, p.used, commands_.parts()[n_plain_ + i + 1]});
    }
    flush(/*last=*/true);
  }

  // After a failure: nobody will use what is being copied, and the copies must not wait for that.
  void give_up() noexcept {
    if (begun_) settle();
    for (const Taken& t : taken_) s_.reader_->release(t.piece);
  }

 private:
  void settle() noexcept {
    vkQueueWaitIdle(s_.device_.queue());
    s_.base_ = next_base(s_.base_, copies_.size(), s_.n_slots());
    Entry used{s_.used_, s_.used_, 0, s_.base_, VK_NULL_HANDLE};
    VkSubmitInfo info = used.info();
    info.commandBufferCount = 0;
    if (vkQueueSubmit(s_.device_.queue(), 1, &info, VK_NULL_HANDLE) != VK_SUCCESS && !one_queue_) {
      const VkSemaphoreSignalInfo signal{VK_STRUCTURE_TYPE_SEMAPHORE_SIGNAL_INFO, nullptr, s_.used_,
                                         s_.base_};
      vkSignalSemaphore(s_.device_.handle(), &signal);
    }
    s_.device_.wait_for_queues();
  }

  struct Taken {
    uint32_t piece;
    VkSemaphore until;
    uint64_t value;
  };

  // Waits until a piece of the file is in its place, while the device works on what comes before it.
  void read(uint32_t piece, uint64_t value, bool is_copied) {
    flush(/*last=*/false);
    s_.reader_->take(piece);
    taken_.push_back({piece, is_copied ? s_.copied_ : s_.used_, value});
  }

  void flush(bool last) {
    std::vector<VkSubmitInfo> copies, infos;
    for (Entry& e : copy_entries_) copies.push_back(e.info());
    for (Entry& e : entries_) infos.push_back(e.info());
    if (!copies.empty()) {
      VK_CHECK(vkQueueSubmit(s_.device_.copy_queue(), static_cast<uint32_t>(copies.size()), copies.data(),
                             VK_NULL_HANDLE));
      begun_ = true;
    }
    if (last)
      commands_.submit(infos);
    else if (!infos.empty())
      VK_CHECK(vkQueueSubmit(s_.device_.queue(), static_cast<uint32_t>(infos.size()), infos.data(),
                             VK_NULL_HANDLE));
    begun_ |= !infos.empty();
    copy_entries_.clear();
    entries_.clear();
    for (const Taken& t : std::exchange(taken_, {}))
      s_.reader_->release(t.piece, [device = s_.device_.handle(), t] {
        VkSemaphoreWaitInfo wait{VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO};
        wait.semaphoreCount = 1;
        wait.pSemaphores = &t.until;
        wait.pValues = &t.value;
        vkWaitSemaphores(device, &wait, UINT64_MAX);
      });
  }

  Stream& s_;
  Commands& commands_;
  const Copies& copies_;
  const uint32_t n_plain_;
  const bool one_queue_;
  bool begun_ = false;  // some of it has been submitted
  std::vector<Entry> copy_entries_, entries_;
  std::vector<Taken> taken_;  // pieces of which the use has not been submitted yet
};

void Stream::submit(Commands& commands, const Copies& copies, uint32_t n_plain) {
  if (copies.size() == 0) return commands.submit();
  Submission submission(*this, commands, copies, n_plain);
  try {
    submission.run();
  } catch (...) {
    submission.give_up();
    throw;
  }
  base_ = next_base(base_, copies.size(), n_slots());
}

}  // namespace bitnet::vk
