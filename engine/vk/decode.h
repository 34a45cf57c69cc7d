// The forward pass of one token, or of a few that follow each other, as a list of stages of decode.comp, and
// the kernel and buffers that run it in one dispatch, or in a dispatch a stage.
//
// Thread rule: as the Device.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <vector>

#include "engine/backend.h"
#include "engine/kernel_options.h"
#include "kernels.h"
#include "memory.h"
#include "shaders/params.h"
#include "stuck_chains.h"

namespace bitnet::vk {

// The workgroups of a chain that an H200 runs at a time, one on each multiprocessor. The shapes of loops were
// measured there (decode_kernels.cpp); how many a device runs is found out (Decode::find_groups_at_once).
constexpr uint32_t kGroupsOfALargeGpu = 132;

// A Gated DeltaNet of one token (Recorder::delta_net). Where `gates_of` is not null, the gates are W norm(x)
// of this product of floats, and nobody has computed them.
struct DeltaStage {
  const Buffer &qkvz, &gates;
  const DeltaInput& input;
  const DeltaState& state;
  const Buffer& o;
  const DeltaShape& shape;
  const FloatGates* gates_of = nullptr;
};

// The experts of one token: x += what they give (Recorder::route and linear_of_experts).
struct ExpertStages {
  const Matrix& router;  // of F32
  const Norm& norm;
  const Routing& routing;
  const Matrix &gate_up, &down;
  const Buffer &x, &logits, &h;
  uint32_t used;
  Act act;
  float clamp;
  uint64_t ids = 0;  // address of a row for the host, or 0
};

// Stages in the order in which they run; each needs the result of the one before it.
class DecodeStages {
 public:
  explicit DecodeStages(uint32_t n_tokens = 1) : n_tokens_(n_tokens) {}
  bool empty() const { return stages_.empty(); }
  uint32_t n_tokens() const { return n_tokens_; }

  // Whether a stage that reads x may be the next one: x must be what the last stage wrote, one kernel must
  // be able to multiply all matrices (common_weights), and all gates must have the same function.
  // A product may also read what the stage before it reads, in place of what it gives. Only a DeltaNet that
  // reads both, attention that it is the gate of, or attention at the end of a list may follow it.
  bool takes_next(const Matrix& w, const In& in, const Out& out) const;
  bool takes_next(const DeltaStage& delta) const;
  bool takes_next(const ExpertStages& experts) const;
  // One kernel has one block for all rotations, and the same heads for all of attention.
  bool takes_next(const Buffer& x, const Rotation& rotation) const;
  bool takes_next(const Buffer& qkv, const AttentionInput& input, const AttentionShape& shape) const;

  // As in Recorder.
  void linear(const Matrix& w, const In& in, const Out& out);
  void attention(const Buffer& qkv, const AttentionInput& input, const Buffer& rotation,
                 const Buffer& k_cache, const Buffer& v_cache, const AttentionScratch& scratch,
                 const Buffer& o, const AttentionShape& shape);
  void delta_net(const DeltaStage& delta);
  void experts(const ExpertStages& experts);
  // Whether o, which the last stage gives, can be multiplied by the logistic of the gate there; then it is.
  bool takes_gate(const Buffer& o, const Buffer& gate);
  // As Recorder::rotate goes there, of x normed where there is a norm.
  void rotate(const Buffer& x, const Norm& norm, const Rotation& rotation, uint32_t n_features,
              const Buffer& y);
  // Whether y is x normed and rotated.
  bool has_rotated(const Buffer& x, const Norm& norm, const Buffer& y) const;
  // Stages that do nothing but wait for each other.
  void empty_stages(uint32_t n, uint32_t n_groups);
  // n_groups workgroups of which all but the last wait for that one, which ends only if all run at a time.
  void waits_for_the_last(uint32_t n_groups);

 private:
  friend class Decode;

  DecodeShape shape() const;
  // Whether what products take is rounded by stages of their own, and how these are put in front of them.
  bool rounds_apart() const {
    return n_tokens_ > ROUNDED_HERE && weights_ && weights_->layout == Layout::trits;
  }
  void round_apart();
  // Bytes of what a stage gives.
  uint64_t given_bytes(const DecodeStage& s) const;
  uint64_t given_bytes() const;  // of all stages together
  // Fills in for each stage from where it takes its input and to where it gives its results; `rounded` is
  // CONSTANT_ROUNDED, `given` has given_bytes() for the results, `chunks` is for what attention hands over in
  // itself, or of several tokens counts.
  void lay_flow(uint32_t rounded, uint64_t given, uint64_t chunks);

  bool has_block_of(const Rotation& rotation) const;
  void set_rotation(const Rotation& rotation, DecodeStage& s);
  bool reads_last(const Buffer& x) const;
  bool reads_beside_last(const Buffer& x) const;

  uint32_t n_tokens_;
  std::vector<DecodeStage> stages_;
  bool backwards_ = false;  // workgroups of the last stage begin first
  bool open_ = false;       // no stage reads what the last but one gives
  std::optional<Act> act_;
  DecodeShape::Experts experts_;  // of all layers, or none
  std::optional<DecodeShape::Weights> weights_;
  std::optional<AttentionShape> heads_;
  uint32_t head_input_ = 0;  // CONSTANT_HEAD_INPUT
  bool windows_ = false;     // whether any attention does not see all keys
  DeltaShape delta_;         // of all DeltaNets, or without heads
  uint32_t rotated_ = 0;     // features of a block of all rotations, or 0
  uint32_t turned_ = 0;      // the most features that a product turns itself
};

// What chains work with that do not run at the same time.
struct DecodeMemory {
  std::unique_ptr<VulkanBuffer> progress;  // binding 3
  std::unique_ptr<VulkanBuffer> chunks;    // counts, then tagged: what attention hands over in itself
  std::unique_ptr<VulkanBuffer> given;     // what stages give each other; NOT_GIVEN when a chain begins
};

// The dispatches of one kernel that are recorded, with a barrier in front of each.
struct DecodeDispatches {
  const Kernel* kernel;
  std::unique_ptr<VulkanBuffer> stages, groups;  // bindings 1 and 2; outlive the program
  std::shared_ptr<const DecodeMemory> memory;
  uint64_t given_bytes;  // that a chain needs to be NOT_GIVEN; 0 where each stage is a dispatch
  struct Dispatch {
    DecodePush push;
    uint32_t n_groups;
  };
  std::vector<Dispatch> dispatches;
};

// Stages cannot be run that Decode::takes from now on no longer takes: what was recorded with them may be
// recorded again.
class StagesFailed : public Error {
 public:
  using Error::Error;
};

inline bool is_of_experts(const DecodeStage& s) { return s.kind >= STAGE_ROUTER; }

class Decode {
 public:
  Decode(const Device& device, VulkanKernels& kernels, Transfer& transfer, VulkanBuffer& params,
         const KernelOptions& options, StuckChains stuck_chains);

  // Whether the device can run stages at all, and these. Requires for these: it can at all. Where it cannot,
  // the kernels of prefill are used. It no longer can once its driver has failed at a kernel of stages, and
  // no longer those of several tokens once it had no memory for them.
  bool possible() const { return !lacks_kernel_ && kernels_.has_decode({}); }
  bool takes(const DecodeStages& stages) const;

  // Throws StagesFailed where the driver cannot make the kernel, or has no memory for several tokens.
  DecodeDispatches prepare(DecodeStages stages);
  const VulkanBuffer& stuck() const { return stuck_; }  // binding 4

  // Memory for what attention of a few tokens finds in chunks of keys, of so many bytes. All programs share
  // it. Nullopt where that would take too much of the device's, or it has less.
  std::optional<AttentionScratch> scratch(uint64_t bytes);

  // Throws Error(device) if a workgroup of a submission that has ended gave up waiting, which is remembered.
  void check() const;
  // Remembers the same where one of these was a chain: the device was lost with them, as it is where a driver
  // ends what takes too long before a workgroup gives up.
  void lost(std::span<const DecodeDispatches> decodes) const;

 private:
  const Kernel& kernel(const DecodeShape& shape);
  DecodeDispatches lay_out(DecodeStages stages, const DecodeShape& shape, const Kernel& kernel, bool chained,
                           uint32_t at_once);
  void share_out(std::vector<DecodeStage>& stages, const DecodeShape& shape, uint32_t n_tokens, uint32_t size,
                 uint32_t at_once) const;
  bool has_room(DecodeStages list) const;
  std::shared_ptr<const DecodeMemory> memory(uint64_t progress, uint64_t chunks, uint64_t given,
                                             uint32_t n_tokens);
  bool ends(DecodeStages empty, const Kernel& kernel);
  bool goes_on(const Kernel& kernel);
  uint32_t find_groups_at_once(const Kernel& kernel);
  uint32_t groups_at_once(const DecodeShape& shape);
  std::unique_ptr<VulkanBuffer> allocate(uint64_t bytes);
  std::unique_ptr<VulkanBuffer> upload(std::span<const std::byte> bytes);

  const Device& device_;
  VulkanKernels& kernels_;
  Transfer& transfer_;
  VulkanBuffer& params_;
  StuckChains stuck_chains_;
  bool lacks_kernel_ = false;
  bool lacks_memory_ = false;  // for chains of several tokens
  bool is_small_ = false;      // the device runs few workgroups at a time, as was seen more than once
  bool chained_;
  bool untried_;  // it has not been tried yet whether the device lets workgroups go on that it has started
  bool fails_;    // ChainedDecode::fails
  // Workgroups of each kernel that the device runs at a time. Each norms and rounds the whole vector, so that
  // more of them take turns to do the same: fewer take more rows, one set after the other.
  std::map<const Kernel*, uint32_t> found_at_once_;
  const uint32_t wanted_at_once_;               // KernelOptions::groups_at_once
  VulkanBuffer stuck_;                          // the host can read it; 1 once a workgroup gave up waiting
  std::shared_ptr<const VulkanBuffer> shared_;  // of which allocate() gives parts
  uint64_t shared_taken_ = 0;
  std::vector<AttentionScratch> scratch_;       // the last one is the largest; programs use the others
  std::shared_ptr<const DecodeMemory> memory_;  // of all chains that are recorded now, or null
};

}  // namespace bitnet::vk
