// The kernels of experts.
#include <algorithm>
#include <bit>

#include "builds.h"
#include "engine/layouts/blocks.h"
#include "kernels.h"

namespace bitnet::vk {

const Kernel& VulkanKernels::route() { return kernel(Shader::route, wide(device_)); }
const Kernel& VulkanKernels::group_pairs() { return kernel(Shader::group_pairs, wide(device_)); }
const Kernel& VulkanKernels::sum_experts() { return kernel(Shader::sum_experts, {}); }

const Kernel& VulkanKernels::quantise_by_expert(const Matrix& w, const Norm& norm, uint32_t pairs_a_row) {
  const Device& d = device_;
  Specialisation constants = quantise_constants(w, norm);
  constants[CONSTANT_PAIRS] = pairs_a_row;
  return kernel(SUBGROUPS(quantise_experts), constants);
}

const Kernel& VulkanKernels::groups_down_experts(const Matrix& w, const Out& out) {
  const Device& d = device_;
  const bool integer_dot = integer_dot_;
  Specialisation constants = product_constants(w, out);
  constants[CONSTANT_ROWS] = 2;
  return kernel(SUBGROUPS_DOT(groups_down_experts), constants);
}

VulkanKernels::Matmul VulkanKernels::of_experts(const Matrix& w, const Out& out, uint32_t pairs_a_row) {
  const Device& d = device_;
  const bool integer_dot = integer_dot_, blocks = w.layout == Layout::blocks;
  Specialisation constants = blocks ? blocks_constants(w.parts[0].type, out) : product_constants(w, out);
  constants[CONSTANT_CLAMP] = std::bit_cast<uint32_t>(out.clamp);
  constants[CONSTANT_PAIRS] = std::max(1U, pairs_a_row);
  if (pairs_a_row != 0) {
    constants[CONSTANT_ROWS] = 4;
    return {kernel(blocks ? (SUBGROUPS_DOT(blocks_matvec_experts)) : (SUBGROUPS_DOT(groups_matvec_experts)),
                   constants),
            0, 1};
  }
  return {kernel(blocks ? (DOT(blocks_matmul_experts)) : (DOT(groups_matmul_experts)), constants),
          out.kind == Out::Kind::gate ? 32U : 64U, kExpertTile};
}

}  // namespace bitnet::vk
