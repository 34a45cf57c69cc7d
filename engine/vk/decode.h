// The stages of decode.comp: a forward pass of one token as a list, and the kernel and the buffers it needs
// to be one dispatch, or a dispatch a stage.
//
// Thread rule: as the Device.
#pragma once

#include <vector>

#include "engine/backend.h"
#include "kernels.h"
#include "memory.h"
#include "shaders/params.h"

namespace bitnet::vk {

// Stages in the order in which they are to run, each needing what the one before it gives.
class DecodeStages {
 public:
  bool empty() const { return stages_.empty(); }

  // Whether a stage that reads x, and adds to y if that is not null, may be the next: x must be what the last
  // one wrote, and y not older than the places of tagged values hold.
  bool takes_next(const Buffer& x, const Buffer* y) const;

  // As Recorder has them; n_out rows of the result.
  void linear(VulkanKernels::Linear kind, const TernaryMatrix& w, uint32_t n_out, const Buffer& x,
              const Buffer& weight, float epsilon, const Buffer& y);
  void attention(const Buffer& qkv, const Buffer& rotation, const Buffer& k_cache, const Buffer& v_cache,
                 const AttentionScratch& scratch, const Buffer& o, const AttentionShape& shape);
  // That do nothing but wait for each other.
  void empty_stages(uint32_t n, uint32_t n_groups);

 private:
  friend class Decode;
  std::vector<DecodeStage> stages_;
  uint32_t n_short_ = 64;  // features of the longest row but for those of the longest kind
  uint32_t n_long_ = 64;   // of the longest row
  AttentionShape heads_{1, 1, 64, 64};
};

// What is recorded: dispatches of one kernel, with a barrier in front of each.
struct DecodeDispatches {
  const Kernel* kernel;
  std::unique_ptr<VulkanBuffer> stages, groups, progress;  // bindings 1 to 3; outlive the program
  std::unique_ptr<VulkanBuffer> tagged;                    // what stages give each other
  struct Dispatch {
    DecodePush push;
    uint32_t n_groups;
  };
  std::vector<Dispatch> dispatches;
};

class Decode {
 public:
  Decode(const Device& device, VulkanKernels& kernels, Transfer& transfer, VulkanBuffer& params,
         ChainedDecode chained);

  // Whether the device can run these as stages; elsewhere the kernels of prefill do.
  bool takes(const TernaryMatrix& w) const;
  bool takes(const AttentionShape& shape) const;

  DecodeDispatches prepare(DecodeStages stages);
  const VulkanBuffer& stuck() const { return stuck_; }  // binding 4

  // Throws Error(device) if workgroups of a submission that has ended gave up waiting.
  void check() const;

 private:
  DecodeDispatches lay_out(DecodeStages stages, bool chained);
  bool goes_on(const Kernel& kernel);
  std::unique_ptr<VulkanBuffer> upload(std::span<const std::byte> bytes);

  const Device& device_;
  VulkanKernels& kernels_;
  Transfer& transfer_;
  VulkanBuffer& params_;
  bool chained_;
  bool untried_;        // the device has to show that it goes on with workgroups that it has started
  VulkanBuffer stuck_;  // seen by the host: 1 once a workgroup gave up
};

}  // namespace bitnet::vk
