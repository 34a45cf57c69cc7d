// Copies of some experts on the device, of matrices that lie in host memory: kernels find each expert by a
// table of addresses, so that one without a copy is a slower read over the link and nothing waits for it.
// Between tokens experts that are used come in for others (engine/expert_cache.h).
//
// Thread rule: as the Device.
//
// A change takes three steps. Commands between two programs give the table the address in host memory for
// those that go; when these are done, and with them all programs before, copies bring those that come, on the
// queue for copies where there is one; and when the host finds these done, the next commands give the table
// their addresses on the device. Meanwhile there are no other changes.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "engine/expert_cache.h"
#include "memory.h"

namespace bitnet::vk {

// What a program of one token leaves of its experts: of each layer a row of ids that the host can read, and
// the tables of the matrices with which they were multiplied.
struct ExpertUses {
  std::unique_ptr<VulkanBuffer> ids;  // [rows][used] u32; null without rows
  uint32_t used = 0;
  std::vector<std::vector<const Buffer*>> rows;  // Matrix::addresses
};

class ExpertPlaces {
 public:
  ExpertPlaces(const Device& device, Transfer& transfer, bool poison);
  ~ExpertPlaces();
  ExpertPlaces(const ExpertPlaces&) = delete;
  ExpertPlaces& operator=(const ExpertPlaces&) = delete;

  void make(uint32_t n) { n_ = n; }  // as of the backend
  // Matrix::addresses, or null where the device cannot multiply such a matrix.
  BufferPtr addresses_of(const Matrix& w);

  bool any() const { return !caches_.empty(); }
  // Adds a row, and returns the byte of uses.ids where its ids are to go. Requires: any().
  uint64_t add_row(ExpertUses& uses, uint32_t used) const;

  // What a program has used that has ended. Others may be on their way.
  void follow(const ExpertUses& uses);
  const ExpertReads& reads() const { return reads_; }

 private:
  using Addresses = std::array<uint64_t, 4>;  // of codes and scales, and of the same of up
  struct Source {
    BufferPtr whole;                       // of all experts, or null
    std::shared_ptr<VulkanBuffer> places;  // null where there are none
    uint64_t bytes = 0;                    // of an expert
  };
  struct Cached {
    uint32_t n_expert;
    std::shared_ptr<VulkanBuffer> table;
    std::array<Source, 4> sources;
    std::optional<ExpertCache> cache;
  };
  struct Change {
    Cached* of;
    ExpertCache::Change change;
  };

  static Addresses in_memory(const Cached& of, uint32_t expert);
  static Addresses on_device(const Cached& of, uint32_t place);
  void give_places(Cached& cached);
  bool copies_are_done() const;
  void write_tables(const std::vector<Change>& changes);
  void copy(const std::vector<Change>& changes);

  const Device& device_;
  Transfer& transfer_;
  const bool poison_;
  uint32_t n_ = 0;
  std::map<const Buffer*, Cached> caches_;  // by the table
  std::optional<Commands> tables_;          // this and what follows: made with the first places
  VkCommandPool pool_ = VK_NULL_HANDLE;
  VkCommandBuffer copies_ = VK_NULL_HANDLE;
  // Of change number turn_: whether the tables were written, and the copies made.
  VkSemaphore written_ = VK_NULL_HANDLE, copied_ = VK_NULL_HANDLE;
  uint64_t turn_ = 0;
  std::vector<Change> coming_;  // that are copied, or were, and are not in the tables yet
  ExpertReads reads_;
};

}  // namespace bitnet::vk
