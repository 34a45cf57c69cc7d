// Weights that lie in the host's memory on their way to the kernels of a program. The buffers of a matrix are
// copied into a slot of the device's memory, one of a few, while kernels work on the matrices before it;
// where the device has a queue for copies, both go on at once. Codes of 1.6 bits are expanded behind the
// copy.
//
// Thread rule: as the Device.
//
// A program is cut in front of each product whose matrix comes by a slot. Each part waits for its piece's
// copy, and each copy until the slot's last piece has been used (piece_order.h). On one queue copies and
// parts take turns, with the same waits. Prefetching by DMA, and how many slots pay: FlexGen (arXiv
// 2303.06865), llama.cpp PR 28414.
#pragma once

#include <array>
#include <memory>
#include <vector>

#include "engine/backend.h"
#include "engine/kernel_options.h"
#include "memory.h"

namespace bitnet::vk {

// The copies of a program, a command buffer each.
class Copies {
 public:
  explicit Copies(const Device& device) : device_(device) {}
  ~Copies();  // Requires: they are done
  Copies(const Copies&) = delete;
  Copies& operator=(const Copies&) = delete;

  uint32_t size() const { return static_cast<uint32_t>(buffers_.size()); }
  const VkCommandBuffer& operator[](size_t i) const { return buffers_[i]; }
  void add(std::span<const VkBuffer> from, VkBuffer to, std::span<const VkBufferCopy> regions);

 private:
  const Device& device_;
  VkCommandPool pool_ = VK_NULL_HANDLE;
  std::vector<VkCommandBuffer> buffers_;
};

class Stream {
 public:
  Stream(const Device& device, HostWeights how, bool poison);
  ~Stream();
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  // As of the backend. Without semaphores that count there are no slots.
  void make_slots(uint64_t bytes);
  bool has_fives() const { return how_ == HostWeights::fives && buffers_.back(); }
  // Whether a product with n tokens takes w from a slot. Other kernels read it where it lies.
  bool takes(const Matrix& w, uint32_t n) const;

  // Adds the copy of w to those of a program, and returns w as it lies in the slot then. Requires: takes.
  Matrix bring(const Matrix& w, Copies& copies) const;
  // Where w's expanded codes are to lie.
  BufferPtr expanded(const Matrix& w) const;
  // What is to be overwritten behind the last use of what the program's last copy brings, or null.
  const VulkanBuffer* poisoned(const Copies& copies) const {
    return poison_ && copies.size() != 0 ? buffers_[(copies.size() - 1) % n_slots()].get() : nullptr;
  }

  // Submits a program: commands.parts()[i + 1] uses what copy i brings.
  void submit(Commands& commands, const Copies& copies);

 private:
  struct Entry;
  void make_semaphores();
  // Where there are codes in fives, they are expanded into the last buffer. One will do, since kernels run
  // one after the other.
  uint32_t n_slots() const { return how_ == HostWeights::fives ? kWeightSlots - 1 : kWeightSlots; }

  const Device& device_;
  const HostWeights how_;
  const bool poison_;
  std::array<std::shared_ptr<VulkanBuffer>, kWeightSlots> buffers_;  // the slots come first
  VkSemaphore copied_ = VK_NULL_HANDLE, used_ = VK_NULL_HANDLE;
  uint64_t base_ = 0;  // of the next program
};

}  // namespace bitnet::vk
