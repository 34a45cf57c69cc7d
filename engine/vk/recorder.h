// The Recorder of the Vulkan backend, which writes kernels into a command buffer.
//
// Thread rule: as the Device.
#pragma once

#include <vector>

#include "decode.h"
#include "engine/backend.h"
#include "kernels.h"
#include "memory.h"

namespace bitnet::vk {

// A recorded command buffer with the descriptor sets it uses.
class VulkanProgram : public Program {
 public:
  explicit VulkanProgram(const Device& device);
  ~VulkanProgram() override;

  VkDescriptorSet allocate_set(VkDescriptorSetLayout layout);

  Commands commands;
  std::vector<DecodeDispatches> decodes;  // the commands use their buffers

 private:
  void add_pool();

  const Device& device_;
  std::vector<VkDescriptorPool> pools_;
};

// A program begins with the copy of the run's parameters to the device (without host_params those of the
// program before stay valid) and ends by making visible what the host reads. Between any two kernels stands a
// full memory barrier, since each needs what the one before it wrote. The kernels of the blocks for one token
// are collected and become one dispatch where the device can do that (vk/decode.h).
class VulkanRecorder : public Recorder {
 public:
  VulkanRecorder(const Device& device, VulkanKernels& kernels, Decode& decode,
                 const VulkanBuffer* host_params, VulkanBuffer& params, VulkanProgram& program);
  void finish();
  void decode(DecodeDispatches dispatches);

  void embed(const Embedding& table, Buffer& x, uint32_t n) override;
  void rms_norm_quantise(Buffer& x, Buffer& weight, uint32_t n_features, float epsilon, Quantised& q,
                         uint32_t n) override;
  void ternary(const TernaryMatrix& w, Quantised& q, Buffer& y, uint32_t n) override;
  void ternary_add(const TernaryMatrix& w, Quantised& q, Buffer& y, uint32_t n) override;
  void ternary_gate_up(const TernaryMatrix& w, Quantised& q, Buffer& y, uint32_t n) override;
  void rope_store_kv(Buffer& qkv, Buffer& rotation, Buffer& k_cache, Buffer& v_cache,
                     const AttentionShape& shape, uint32_t n) override;
  void attention(Buffer& qkv, Buffer& k_cache, Buffer& v_cache, Buffer& o, const AttentionShape& shape,
                 uint32_t n) override;
  void bit_linear(const TernaryMatrix& w, Buffer& x, Buffer& weight, float epsilon, Quantised& q, Buffer& y,
                  uint32_t n) override;
  void bit_linear_add(const TernaryMatrix& w, Buffer& x, Buffer& weight, float epsilon, Quantised& q,
                      Buffer& y, uint32_t n) override;
  void bit_linear_gate_up(const TernaryMatrix& w, Buffer& x, Buffer& weight, float epsilon, Quantised& q,
                          Buffer& y, uint32_t n) override;
  void self_attention(Buffer& qkv, Buffer& rotation, Buffer& k_cache, Buffer& v_cache,
                      AttentionScratch& scratch, Buffer& o, const AttentionShape& shape, uint32_t n) override;
  void rms_norm(Buffer& x, uint32_t first_row, Buffer& weight, uint32_t n_features, float epsilon, Buffer& y,
                uint32_t n) override;
  void head(const Embedding& table, Buffer& y, Buffer& logits, uint32_t n) override;
  void argmax(Buffer& logits, uint32_t n_vocab, Buffer& partial, Buffer& result) override;
  void sample(Buffer& logits, uint32_t n_vocab, Buffer& partial, SamplingBuffers& sampling,
              Buffer& result) override;
  void copy(Buffer& from, uint64_t from_offset, Buffer& to, uint64_t to_offset, uint64_t bytes) override;

 private:
  template <typename Push>
  void dispatch(const Kernel& kernel, const Push& push, std::initializer_list<const Buffer*> buffers,
                uint32_t groups_x, uint32_t groups_y = 1);
  void ternary_product(VulkanKernels::Linear kind, const Kernel& matvec, const TernaryMatrix& w,
                       uint32_t n_out, Quantised& q, Buffer& y, uint32_t n);
  void decode_collected();
  DecodeStages& next_stage(const Buffer& x, const Buffer* y = nullptr);
  uint32_t groups_for_rows(uint32_t rows, uint32_t rows_per_subgroup) const;
  void barrier();
  void dispatch_barrier();

  const Device& device_;
  VulkanKernels& kernels_;
  Decode& decode_;
  VulkanBuffer& params_;
  VulkanProgram& program_;
  VkCommandBuffer commands_;
  DecodeStages collected_;
  bool after_transfer_ = false;  // the last command was a transfer, and no barrier followed yet
};

}  // namespace bitnet::vk
