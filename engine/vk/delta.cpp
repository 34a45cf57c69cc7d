// Gated DeltaNet, and the gate of gated attention. A token alone has one kernel. Several take three: what
// does not depend on the memory, of all tokens at once; the memory, which goes from token to token; and the
// norm of what it gives. Both ways give the same bits (shaders/common/delta.glsl).
#include <cmath>

#include "recorder.h"

namespace bitnet::vk {
namespace {

constexpr uint32_t kParts = 4, kColumns = 32;  // invocations that share a column, and columns of a workgroup
constexpr uint32_t kTokens = 8;                // of a workgroup, where they do not depend on each other

uint32_t ceil_div(uint32_t a, uint32_t b) { return (a + b - 1) / b; }

Specialisation constants_of(const DeltaShape& shape) {
  return {{CONSTANT_HEAD_DIM, shape.head_dim}, {CONSTANT_CONV, shape.n_conv}};
}

DeltaPush push_of(const DeltaShape& s, float epsilon, uint32_t n) {
  const double features = s.head_dim;
  return {s.n_head_k,
          s.n_head_v,
          n,
          s.grouped ? 1U : 0U,
          epsilon,
          static_cast<float>(1 / std::sqrt(features)),
          static_cast<float>(1 / features)};
}

}  // namespace

const Kernel* VulkanKernels::delta_token(const DeltaShape& shape) {
  const uint32_t size = kParts * shape.head_dim;
  if (size > device_.limits().maxComputeWorkGroupInvocations) return nullptr;
  Specialisation constants = constants_of(shape);
  constants[CONSTANT_WORKGROUP_SIZE] = size;
  return &kernel(device_.is_gpu() ? Shader::delta_token_unrolled : Shader::delta_token, constants);
}

VulkanKernels::Delta VulkanKernels::delta(const DeltaShape& shape) {
  const Specialisation constants = constants_of(shape);
  return {kernel(Shader::delta_mix, constants),
          kernel(device_.is_gpu() ? Shader::delta_scan_unrolled : Shader::delta_scan, constants),
          kernel(Shader::delta_norm, constants)};
}

void VulkanRecorder::delta_net(const Buffer& qkvz, const Buffer& gates, const DeltaInput& input,
                               const DeltaState& state, const DeltaScratch& scratch, const Buffer& o,
                               const DeltaShape& s, uint32_t n) {
  const DeltaPush push = push_of(s, input.norm.epsilon, n);
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
  dispatch(kernels.scan, push, {&params_, &qkvz, mixed, mixed, strengths, inputs, heads},
           s.n_head_v * (s.head_dim / kColumns));
  dispatch(kernels.norm, push, {&qkvz, mixed, weight, &o}, s.n_head_v, ceil_div(n, kTokens));
}

void VulkanRecorder::multiply_sigmoid(const Buffer& y, const Buffer& gate, uint32_t n_values) {
  change(ELEMENT_SIGMOID, {n_values, n_values, 0, 0, 0}, y, gate, 1);
}

}  // namespace bitnet::vk
