// Gated DeltaNet, and the gate of gated attention. A token alone has one kernel. Several take three: what
// does not depend on the memory, of all tokens at once; the memory, which goes from token to token; and the
// norm of what it gives. Both ways give the same bits (shaders/common/delta.glsl).
#include <algorithm>
#include <cmath>

#include "ceil_div.h"
#include "recorder.h"

namespace bitnet::vk {
namespace {

constexpr uint32_t kColumns = 32;  // of a memory, that a workgroup takes
constexpr uint32_t kTokens = 8;    // that a workgroup takes where they do not depend on each other
constexpr uint32_t kGateTokens = 4, kGateRows = 12;  // as delta_gates.comp has them

Specialisation constants_of(const DeltaShape& shape) {
  return {{CONSTANT_DELTA_DIM, shape.head_dim}, {CONSTANT_CONV, shape.n_conv}};
}

DeltaPush push_of(const DeltaShape& s, float epsilon, uint32_t n, uint32_t keep) {
  const double features = s.head_dim;
  return {s.n_head_k,
          s.n_head_v,
          n,
          keep,
          s.grouped ? 1U : 0U,
          epsilon,
          static_cast<float>(1 / std::sqrt(features)),
          static_cast<float>(1 / features)};
}

}  // namespace

const Kernel* VulkanKernels::delta_token(const DeltaShape& shape) {
  const uint32_t size = kDeltaParts * shape.head_dim;
  if (size > device_.limits().maxComputeWorkGroupInvocations) return nullptr;
  Specialisation constants = constants_of(shape);
  constants[CONSTANT_WORKGROUP_SIZE] = size;
  return &kernel(device_.is_gpu() ? Shader::delta_token_unrolled : Shader::delta_token, constants);
}

VulkanKernels::Delta VulkanKernels::delta(const DeltaShape& shape) {
  const Specialisation constants = constants_of(shape);
  const Shader scan = device_.shared_subgroups() ? Shader::delta_scan_shared
                      : device_.is_gpu()         ? Shader::delta_scan_unrolled
                                                 : Shader::delta_scan;
  // Between the tokens that a scan has at hand and the next its subgroups wait for each other.
  const uint32_t few = std::max(1U, 512 / shape.head_dim);
  Specialisation of_scan = constants;
  of_scan[CONSTANT_TOKENS] = 4 * few;
  if (declared_bytes(scan, of_scan) > device_.limits().maxComputeSharedMemorySize)
    of_scan[CONSTANT_TOKENS] = few;
  return {kernel(Shader::delta_mix, constants), kernel(scan, of_scan), kernel(Shader::delta_norm, constants)};
}

// Two tensors of few rows beside each other are those of gates: routers are one, and others have more rows.
bool are_gates(const Matrix& w, const Norm& norm, const Out& out) {
  constexpr uint32_t kMostRows = 1024;
  const auto is_float = [](const Matrix::Part& part) { return part.rows != 0 && !has_blocks(part.type); };
  return w.layout == Layout::floats && is_float(w.parts[0]) && is_float(w.parts[1]) && w.parts[2].rows == 0 &&
         w.rows() <= kMostRows && !w.bias && norm_of(norm) == NORM_ALWAYS && out.kind == Out::Kind::store;
}

const Kernel& VulkanKernels::delta_gates(const FloatGates& gates, TensorType type) {
  const Device& d = device_;
  Specialisation constants = wide(d);
  constants[CONSTANT_TABLE_TYPE] = static_cast<uint32_t>(type);
  constants[CONSTANT_NORM_LOADS] = ceil_div(gates.w.n_in / 4, constants.at(CONSTANT_WORKGROUP_SIZE));
  return kernel(d.shared_subgroups() ? Shader::delta_gates_shared
                : d.is_gpu()         ? Shader::delta_gates_unrolled
                                     : Shader::delta_gates,
                constants);
}

// A stage's workgroup takes whole heads.
bool VulkanKernels::delta_in_stages(const DeltaShape& s) const {
  const uint32_t columns = wide(device_).at(CONSTANT_WORKGROUP_SIZE) / kDeltaParts;
  return columns % s.head_dim == 0 && s.n_head_v % (columns / s.head_dim) == 0;
}

void VulkanRecorder::dispatch_gates(const FloatGates& g) {
  uint32_t first_row = 0;
  for (const Matrix::Part& part : {g.w.parts[0], g.w.parts[1]}) {
    const Buffer& codes = *part.codes;
    dispatch(kernels_.delta_gates(g, part.type),
             GatesPush{g.w.n_in, part.rows, g.n, first_row, g.w.rows(), part.scale, g.epsilon},
             {&codes, &codes, g.x, g.weight.get(), g.y}, ceil_div(g.n, kGateTokens),
             ceil_div(part.rows, kGateRows));
    first_row += part.rows;
  }
}

void VulkanRecorder::delta_net(const Buffer& qkvz, const Buffer& gates, const DeltaInput& input,
                               const DeltaState& state, const DeltaScratch& scratch, const Buffer& o,
                               const DeltaShape& s, uint32_t n, uint32_t keep) {
  if (n == 1 && in_chains() && decode_.possible() && kernels_.delta_in_stages(s)) {
    const std::optional<FloatGates> of =
        gates_ && gates_->y == &gates ? std::exchange(gates_, {}) : std::nullopt;
    const DeltaStage stage{qkvz, gates, input, state, o, s, of ? &*of : nullptr};
    if (add_stage(collected_.takes_next(stage), n, [&](DecodeStages& stages) { stages.delta_net(stage); }))
      return;
    gates_ = of;
  }
  const DeltaPush push = push_of(s, input.norm.epsilon, n, keep);
  const Buffer *conv = input.conv.get(), *bias = input.time_bias.get(), *decay = input.decay.get(),
               *weight = input.norm.weight.get(), *inputs = state.conv.get(), *heads = state.heads.get(),
               *mixed = scratch.mixed.get(), *strengths = scratch.gates.get();
  const Kernel* token = n == 1 ? kernels_.delta_token(s) : nullptr;
  if (token)
    return dispatch(*token, push, {&params_, &qkvz, &gates, conv, bias, decay, weight, inputs, heads, &o},
                    s.n_head_v);
  const VulkanKernels::Delta kernels = kernels_.delta(s);
  dispatch(kernels.mix, push, {&params_, &qkvz, &gates, conv, bias, decay, inputs, mixed, strengths},
           2 * s.n_head_k + s.n_head_v, ceil_div(n, kTokens));
  dispatch(kernels.scan, push, {&params_, mixed, mixed, strengths, heads},
           s.n_head_v * (s.head_dim / kColumns));
  dispatch(kernels.norm, push, {&params_, &qkvz, mixed, weight, inputs, &o}, s.n_head_v,
           ceil_div(n, kTokens));
}

void VulkanRecorder::multiply_sigmoid(const Buffer& y, const Buffer& gate, uint32_t n_values) {
  if (collected_.takes_gate(y, gate)) return;
  change(kernels_.elementwise(ELEMENT_SIGMOID), {n_values, n_values, 0, 0, 0}, y, gate, 1);
}

}  // namespace bitnet::vk
