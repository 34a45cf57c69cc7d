// Recorded commands, and what they use for as long as they exist.
//
// Thread rule: as the Device.
#pragma once

#include <memory>
#include <vector>

#include "decode.h"
#include "engine/backend.h"
#include "expert_places.h"
#include "memory.h"
#include "stream.h"

namespace bitnet::vk {

// Where commands and their descriptor sets come from. To make one takes a driver 0.6 ms, as long as a GPU
// needs for a block of a prompt.
class ProgramPools {
 public:
  explicit ProgramPools(const Device& device) : commands(device), copies(device), device_(device) {}
  ~ProgramPools();
  ProgramPools(const ProgramPools&) = delete;
  ProgramPools& operator=(const ProgramPools&) = delete;

  VkDescriptorSet allocate_set(VkDescriptorSetLayout layout);
  void clear();  // takes all sets and copies back. Requires: the commands are done

  Commands commands;
  Copies copies;

 private:
  void add_pool();

  const Device& device_;
  std::vector<VkDescriptorPool> pools_;
  size_t current_ = 0;  // of pools_, those before it are full
};

// What programs have left for others.
using SparePools = std::vector<std::unique_ptr<ProgramPools>>;

// A recorded command buffer with the descriptor sets it uses.
class VulkanProgram : public Program {
 public:
  // `spare`: where the pools come from and go to, and outlives the program; null: they are its own.
  explicit VulkanProgram(const Device& device, SparePools* spare = nullptr);
  ~VulkanProgram() override;

  VkDescriptorSet allocate_set(VkDescriptorSetLayout layout) { return pools_->allocate_set(layout); }
  uint32_t dispatches() const override { return n_dispatches; }

 private:
  SparePools* spare_;
  std::unique_ptr<ProgramPools> pools_;

 public:
  Commands& commands;
  Copies& copies;                         // of which each brings what the next part of the commands uses
  uint32_t n_plain = 0;                   // parts in front of these copies that need none, but for the last
  std::vector<DecodeDispatches> decodes;  // the commands use their buffers
  ExpertUses experts;                     // of one token
  uint32_t n_dispatches = 0;              // that the commands have
};

}  // namespace bitnet::vk
