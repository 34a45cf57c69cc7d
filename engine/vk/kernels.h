// The kernels that the engine dispatches, as pipelines of one device.
//
// Thread rule: as the Device.
#pragma once

#include <map>
#include <optional>

#include "engine/backend.h"
#include "kernel.h"

namespace bitnet::vk {

bool has_blocks(TensorType type);  // of a table: values lie in blocks with scales of their own

struct VulkanKernels {
  // The arguments say which build of the kernels that multiply int8 is used. Requires: the device has what
  // that needs.
  VulkanKernels(const Device& device, VkPipelineCache cache, bool integer_dot, bool matrix);

  Kernel rms_norm;
  Kernel rms_norm_quantise;
  Kernel matvec[3];  // by Out::Kind
  Kernel argmax;
  Kernel argmax_merge;

  // Kernels that are made for the shape of a model when they are first asked for.
  const Kernel& embed(const Table& table);
  const Kernel& head(const Table& table);  // Requires: a dense table
  const Kernel& rope_store_kv(const AttentionInput& input);
  const Kernel& attention(const AttentionShape& shape, uint32_t n_tokens);
  struct Sampling {
    Sampling(const Device& device, VkPipelineCache cache, const Specialisation& constants);
    Kernel count, collect, choose;
  };
  const Sampling& sampling();  // made when first asked for

  // The product for n tokens and n_out rows; a workgroup computes `rows` of them for `tokens`.
  struct Matmul {
    const Kernel& kernel;
    uint32_t rows;
    uint32_t tokens;
  };
  Matmul ternary_matmul(Out::Kind kind, uint32_t n_out, uint32_t n);

  // The kernel of the stages of decode (vk/decode.h), for rows of up to n_short and of up to n_long features,
  // and whether the device can run it.
  bool has_decode(uint32_t n_in, const AttentionShape& heads) const;
  const Kernel& decode(uint32_t n_short, uint32_t n_long, const AttentionShape& heads);
  static uint32_t decode_heads(const AttentionShape& shape);  // heads that one workgroup of attention takes

 private:
  Specialisation decode_constants(uint32_t n_short, uint32_t n_long, const AttentionShape& heads) const;

  const Device& device_;
  VkPipelineCache cache_;
  const bool integer_dot_;
  const bool matrix_;
  std::optional<Sampling> sampling_;
  std::map<Specialisation, Kernel> embed_;
  std::map<Specialisation, Kernel> head_;
  std::map<Specialisation, Kernel> rope_store_kv_;
  std::map<Specialisation, Kernel> attention_;
  std::map<Specialisation, Kernel> matmul_dot_[3];  // by Out::Kind
  std::map<Specialisation, Kernel> matmul_matrix_[3];
  std::map<Specialisation, Kernel> decode_;
};

}  // namespace bitnet::vk
