// The table of kernels: every shader of shaders/ that the engine dispatches, as a pipeline of one device.
//
// Thread rule: as the Device.
#pragma once

#include <map>

#include "vk/kernel.h"

namespace bitnet::vk {

struct Kernels {
  // integer_dot: which build of the kernels that multiply int8.
  Kernels(const Device& device, VkPipelineCache cache, bool integer_dot);

  Kernel embed_f16;
  Kernel embed_f32;
  Kernel rms_norm;
  Kernel rms_norm_quantise;
  Kernel matvec;
  Kernel matvec_add;
  Kernel matvec_gate_up;
  Kernel matmul;
  Kernel matmul_add;
  Kernel matmul_gate_up;
  Kernel rope_store_kv;
  Kernel head_f16;
  Kernel head_f32;
  Kernel argmax;
  Kernel argmax_merge;

  // For so many heads a workgroup; made when first asked for, since only a model says how many share a key.
  const Kernel& attention(uint32_t heads);

 private:
  const Device& device_;
  VkPipelineCache cache_;
  std::map<uint32_t, Kernel> attention_;
};

}  // namespace bitnet::vk
