#include "vk/kernels.h"

#include <algorithm>

#include "shaders/shaders.h"

namespace bitnet::vk {
namespace {

// Rows are reduced by one workgroup: 256 wide where the device allows it (128 is what Vulkan promises). A
// software device runs the invocations one after the other and only loses time at the barriers of a wide one.
Specialisation wide(const Device& device) {
  return {.workgroup_size =
              device.info().software ? 64U : std::min(256U, device.limits().maxComputeWorkGroupInvocations)};
}

// More rows a subgroup save loads of the vector, fewer leave more subgroups to hide the memory's latency.
Specialisation matvec_rows(const Device& device) { return {.rows = device.info().software ? 4U : 2U}; }

}  // namespace

#define DOT(name) \
  integer_dot ? std::span<const uint32_t>(name##_dot_spv) : std::span<const uint32_t>(name##_emulated_spv)

Kernels::Kernels(const Device& d, VkPipelineCache cache, bool integer_dot)
    : embed_f16(d, cache, "embed", embed_spv, {}),
      embed_f32(d, cache, "embed_f32", embed_spv, {.table_f32 = 1}),
      rms_norm(d, cache, "rms_norm", rms_norm_spv, wide(d)),
      rms_norm_quantise(d, cache, "rms_norm_quantise", rms_norm_quantise_spv, wide(d)),
      matvec(d, cache, "ternary_matvec", DOT(ternary_matvec), matvec_rows(d)),
      matvec_add(d, cache, "ternary_matvec_add", DOT(ternary_matvec_add), matvec_rows(d)),
      matvec_gate_up(d, cache, "ternary_matvec_gate_up", DOT(ternary_matvec_gate_up), matvec_rows(d)),
      matmul(d, cache, "ternary_matmul", DOT(ternary_matmul), {}),
      matmul_add(d, cache, "ternary_matmul_add", DOT(ternary_matmul_add), {}),
      matmul_gate_up(d, cache, "ternary_matmul_gate_up", DOT(ternary_matmul_gate_up), {}),
      rope_store_kv(d, cache, "rope_store_kv", rope_store_kv_spv, {}),
      head_f16(d, cache, "head", head_spv, {}),
      head_f32(d, cache, "head_f32", head_spv, {.table_f32 = 1}),
      argmax(d, cache, "argmax", argmax_spv, {}),
      argmax_merge(d, cache, "argmax_merge", argmax_merge_spv, {}),
      device_(d),
      cache_(cache) {}

#undef DOT

const Kernel& Kernels::attention(uint32_t heads) {
  const Specialisation constants{.workgroup_size = 128, .heads = heads};
  return attention_.try_emplace(heads, device_, cache_, "attention", attention_spv, constants).first->second;
}

}  // namespace bitnet::vk
