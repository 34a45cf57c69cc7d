// The Recorder of the Vulkan backend, which writes kernels into a command buffer.
//
// Thread rule: as the Device.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "decode.h"
#include "engine/backend.h"
#include "kernels.h"
#include "memory.h"
#include "program.h"
#include "shortlist.h"
#include "split_sums.h"
#include "stream.h"

namespace bitnet::vk {

// How many partial results argmax has of a row of logits.
uint32_t argmax_partials(const Device& device, uint32_t n_vocab);

// What is bound where a model has no such buffer, and the kernel does not read it.
inline const Buffer* or_any(const BufferPtr& buffer, const Buffer& any) {
  return buffer ? buffer.get() : &any;
}

// Whether the stages of decode compute it.
inline bool in_stages(const Norm& norm) { return !norm || norm_of(norm) == NORM_ALWAYS; }

// The experts of one token as far as they are recorded: they become stages of decode once the second product
// is. Where something else comes in between, each step is a dispatch.
struct ExpertsSoFar {
  Matrix router;
  Norm norm;
  Quantised q;
  const Buffer *x, *logits;
  Routing routing{};
  std::optional<Picked> picked{};  // behind route
  Matrix gate_up{};                // behind the first product, then it has rows
  const Buffer* h = nullptr;
  Act act{};
  float clamp = 0;
};

// The shortlist of a head, or null where it has none.
using ShortlistOf = std::function<const Shortlist*(const Table&)>;

// A program begins with the copy of the run's parameters to the device (without host_params those of the
// program before stay valid) and ends by making visible what the host reads. Between two kernels stands a
// full memory barrier, since each needs what the one before it wrote; where one does not, beside_last_ says
// so. The kernels of the blocks for one token are collected and become one dispatch where the device can do
// that (vk/decode.h). In front of a product whose matrix comes by a slot of the stream the commands are cut,
// and before that wherever a submission would read too much in host memory.
class VulkanRecorder : public Recorder {
 public:
  VulkanRecorder(const Device& device, VulkanKernels& kernels, Decode& decode, const Stream* stream,
                 const ExpertPlaces* places, const ShortlistOf* shortlists, const VulkanBuffer* host_params,
                 VulkanBuffer& params, SplitSums* split_sums, VulkanProgram& program);
  void finish();
  void decode(DecodeDispatches dispatches);
  void make_shortlist(const Table& table, const Shortlist& shortlist);

  void embed(const Table& table, const EmbedExtra& extra, const Buffer& x, uint32_t n) override;
  void quantise(const Matrix& w, const In& in, uint32_t n) override;
  void product(const Matrix& w, const Quantised& q, const Out& out, uint32_t n) override;
  void rotate(const Buffer& x, const Rotation& rotation, Turn turn, uint32_t n_features, const Buffer& y,
              uint32_t n) override;
  void linear(const Matrix& w, const In& in, const Out& out, uint32_t n) override;
  void route(const Routing& routing, const Picked& picked, uint32_t n) override;
  void linear_of_experts(const Matrix& w, const In& in, const Out& out, const Picked& picked,
                         uint32_t n) override;
  void rope_store_kv(const Buffer& qkv, const AttentionInput& input, const Buffer& rotation,
                     const Buffer& k_cache, const Buffer& v_cache, const AttentionShape& shape,
                     uint32_t n) override;
  void attention(const Buffer& qkv, const Buffer& k_cache, const Buffer& v_cache, const Buffer& o,
                 const AttentionShape& shape, uint32_t n) override;
  void self_attention(const Buffer& qkv, const AttentionInput& input, const Buffer& rotation,
                      const Buffer& k_cache, const Buffer& v_cache, const AttentionScratch& scratch,
                      const Buffer& o, const AttentionShape& shape, uint32_t n) override;
  void delta_net(const Buffer& qkvz, const Buffer& gates, const DeltaInput& input, const DeltaState& state,
                 const DeltaScratch& scratch, const Buffer& o, const DeltaShape& shape, uint32_t n,
                 uint32_t keep) override;
  void multiply_sigmoid(const Buffer& y, const Buffer& gate, uint32_t n_values) override;
  void norm(const Buffer& x, uint32_t first_row, const Norm& norm, uint32_t n_features, const Buffer& y,
            uint32_t n) override;
  void add_normed(const Buffer& t, const Norm& norm, uint32_t n_features, const Buffer& x,
                  uint32_t n) override;
  void multiply(const Buffer& g, const Buffer& by, uint32_t width, uint32_t by_stride, uint32_t by_offset,
                uint32_t n) override;
  void combine_per_layer(const Buffer& projected, const Norm& norm, float projected_scale,
                         const Buffer& embedded, float embedded_scale, uint32_t n_slices, uint32_t width,
                         uint32_t n) override;
  void scale(const Buffer& x, float factor, uint32_t n_values) override;
  void finish_logits(const Buffer& logits, uint32_t n_vocab, float softcap, const Buffer* suppressed,
                     uint32_t n_suppressed, uint32_t rows) override;
  void head(const Table& table, const Buffer& y, const Buffer& logits, uint32_t n) override;
  void head_and_choose(const Table& table, const HeadInput& in, const Buffer& logits,
                       const Choosing& choosing, uint32_t n) override;
  void argmax(const Buffer& logits, uint32_t n_vocab, const Buffer& partial, const Buffer& result,
              uint32_t rows) override;
  void sample(const Buffer& logits, uint32_t n_vocab, const Buffer& partial, const SamplingBuffers& sampling,
              const Buffer& result, uint32_t rows) override;
  void copy(const Buffer& from, uint64_t from_offset, const Buffer& to, uint64_t to_offset,
            uint64_t bytes) override;

 private:
  template <typename Push>
  void dispatch(const Kernel& kernel, const Push& push, std::initializer_list<const Buffer*> buffers,
                uint32_t groups_x, uint32_t groups_y = 1, uint32_t groups_z = 1) {
    dispatch_bytes(kernel, std::as_bytes(std::span(&push, 1)), buffers, groups_x, groups_y, groups_z);
  }
  void dispatch_bytes(const Kernel& kernel, std::span<const std::byte> push,
                      std::initializer_list<const Buffer*> buffers, uint32_t groups_x, uint32_t groups_y,
                      uint32_t groups_z);
  void quantise_by_expert(const Matrix& w, const In& in, const Picked& picked, uint32_t n);
  void add_down_of_experts(const Matrix& w, const Quantised& in, const Out& out, const Picked& picked,
                           uint32_t n);
  void product_of_experts(const Matrix& w, const Quantised& in, const Out& out, const Picked& picked,
                          uint32_t n);
  void product_of_blocks(const Matrix& w, const Quantised& in, const Out& out, uint32_t n);
  void product_of_floats(const Matrix& w, const Buffer& x, const Out& out, uint32_t n);
  void multiply(const Matrix& w, const Quantised& in, const Out& out, uint32_t n);
  void change(const Kernel& kernel, const ElementPush& push, const Buffer& x, const Buffer& by, uint32_t n);
  void split_attention(const Buffer& qkv, const Buffer& k_cache, const Buffer& v_cache, const Buffer& chunks,
                       uint32_t max_chunks, const Buffer& o, const AttentionShape& shape, uint32_t n);
  void merge_partials(const Buffer& partial, uint32_t n_vocab, const Buffer& result, uint32_t rows);
  const Matrix& at_hand(const Matrix& w, uint32_t n);
  // What a product with n tokens reads of w in host memory.
  uint64_t reads_in_host(const Matrix& w, uint32_t n) const;
  // Ends the submission in front of what reads so many bytes more there, where that would be too many, and
  // counts them.
  void make_room(uint64_t bytes);
  void read_in_host(uint64_t bytes) { make_room(bytes), host_bytes_ += bytes; }
  void end_piece();
  void rotate_quantise(const Kernel& kernel, const Matrix& w, const In& in, uint32_t n);
  bool can_rotate_in_chain(const Matrix& w, const In& in, uint32_t n);
  bool turns_its_input(const Matrix& w, const In& in, uint32_t n);
  bool rotate_in_stages(const Matrix& w, const In& in, uint32_t n);
  void decode_collected();
  void dispatch_gates(const FloatGates& gates);
  bool is_router(const Matrix& w, const In& in, const Out& out, uint32_t n) const;
  // Whether the first or the second product of experts goes on with those that are recorded so far. The
  // second is false where these cannot be stages.
  bool first_goes_on(const Matrix& w, const In& in, const Out& out, const Picked& picked);
  bool second_in_stages(const Matrix& w, const In& in, const Out& out, const Picked& picked);
  void dispatch_route(const Routing& routing, const Picked& picked, uint32_t n);
  uint64_t experts_in_host(const Matrix& w, const Picked& picked, uint32_t n) const;
  void dispatch_experts(const ExpertsSoFar& experts);
  void dispatch_linear_of_experts(const Matrix& w, const In& in, const Out& out, const Picked& picked,
                                  uint32_t n);
  // Behind the first matrix that is copied chains would be short, and many: each has buffers of its own.
  bool in_chains() const { return program_.copies.size() == 0; }
  bool add_stage(bool continues, uint32_t n, const std::function<void(DecodeStages&)>& add);
  uint32_t groups_for_rows(uint32_t rows, uint32_t rows_per_subgroup) const;
  void barrier();
  void dispatch_barrier();

  const Device& device_;
  VulkanKernels& kernels_;
  Decode& decode_;
  const Stream* stream_;           // null: there is no matrix in the host's memory
  const ShortlistOf* shortlists_;  // null: a head has none
  const ExpertPlaces* places_;     // null: nobody asks which experts a token uses
  VulkanBuffer& params_;
  SplitSums* split_sums_;  // or null: no tile is split
  VulkanProgram& program_;
  VkCommandBuffer commands_;
  DecodeStages collected_;
  std::optional<FloatGates> gates_;  // what a DeltaNet that comes next can compute itself
  std::optional<ExpertsSoFar> experts_;
  Matrix brought_;                // what at_hand gives
  uint64_t host_bytes_ = 0;       // that the submission, with what is collected, reads in host memory so far
  bool after_transfer_ = false;   // the last command was a transfer, and no barrier followed yet
  const Kernel* last_ = nullptr;  // of the last command, where that was a dispatch
  bool beside_last_ = false;      // the next dispatch needs nothing of the last one and runs beside it
};

}  // namespace bitnet::vk
