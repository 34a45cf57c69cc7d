// Weights that lie in the host's memory on their way to the kernels of a program. The buffers of a matrix are
// copied into a slot of the device's memory, one of a few, while kernels work on the matrices before it;
// where the device has a queue for copies, both go on at once. Codes of 1.6 bits are expanded behind the
// copy.
//
// Thread rule: as the Device.
//
// What stays in the model's file is read into places of the host's memory (engine/weight_reader.h), and goes
// on from there in the same way. The host submits a part when the weights that it uses have been read, so
// that nothing on the device waits for a disk.
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
#include "engine/weight_reader.h"
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
  uint32_t in_file(size_t i) const { return in_file_[i]; }  // of what it copies, as of a Matrix
  void add(std::span<const VkBuffer> from, VkBuffer to, std::span<const VkBufferCopy> regions,
           uint32_t in_file);
  // Of what is used where it lies; the command buffer is null.
  void add_nothing(uint32_t in_file);
  void clear() noexcept;  // Requires: they are done

 private:
  const Device& device_;
  VkCommandPool pool_ = VK_NULL_HANDLE;
  std::vector<VkCommandBuffer> allocated_;  // of which n_recorded_ are in use
  size_t n_recorded_ = 0;
  std::vector<VkCommandBuffer> buffers_;
  std::vector<uint32_t> in_file_;
};

class Stream {
 public:
  Stream(const Device& device, const KernelOptions& options);
  ~Stream();
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  // As of the backend. Without semaphores that count there are no slots.
  void make_slots(uint64_t bytes);
  void read_with(WeightReader& reader);
  void choose_way(const ReadSpeeds& speeds);  // as of the backend
  bool has_fives() const { return how_ == HostWeights::fives && buffers_.back(); }
  // Whether a product with n tokens takes w from a slot. Other kernels read it where it lies.
  bool takes(const Matrix& w, uint32_t n) const;

  // Adds the copy of w to those of a program, and returns w as it lies in the slot then, or where it is where
  // there are no slots. Requires: takes.
  Matrix bring(const Matrix& w, Copies& copies) const;
  // Where w's expanded codes are to lie.
  BufferPtr expanded(const Matrix& w) const;
  // What is to be overwritten behind the last use of what the program's last copy brings, or null.
  const VulkanBuffer* poisoned(const Copies& copies) const {
    return poison_ && copies.size() != 0 ? buffers_[(copies.size() - 1) % n_slots()].get() : nullptr;
  }

  // How many bytes a submission may read where they lie in host memory (KernelOptions::read_at_once), and how
  // many a product with n tokens reads of w.
  uint64_t read_at_once() const { return read_at_once_; }
  uint64_t reads_in_host(const Matrix& w, uint32_t n) const;

  // Submits a program: commands.parts()[n_plain + i + 1] uses what copy i brings. Those before it are
  // submissions of their own.
  void submit(Commands& commands, const Copies& copies, uint32_t n_plain);

 private:
  struct Entry;
  class Submission;
  void make_semaphores();
  // Where there are codes in fives, they are expanded into the last buffer. One will do, since kernels run
  // one after the other.
  uint32_t n_slots() const { return how_ == HostWeights::fives ? kWeightSlots - 1 : kWeightSlots; }

  const Device& device_;
  const HostWeights wanted_;
  HostWeights how_;
  const bool poison_;
  const uint64_t read_at_once_;
  std::array<std::shared_ptr<VulkanBuffer>, kWeightSlots> buffers_;  // the slots come first
  VkSemaphore copied_ = VK_NULL_HANDLE, used_ = VK_NULL_HANDLE;
  uint64_t base_ = 0;               // of the next program
  WeightReader* reader_ = nullptr;  // of what stays in the file
};

}  // namespace bitnet::vk
