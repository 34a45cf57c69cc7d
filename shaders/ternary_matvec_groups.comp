// As ternary_matvec.comp, for a matrix of groups (common/groups.glsl). The lanes of a subgroup stride over
// the groups of its rows. CONSTANT_OUT says where the result goes:
//   OUT_STORE  y[row]  = result
//   OUT_ADD    y[row] += result            (the residual stream)
//   OUT_GATE   y[row]  = act(gate) * up    (rows n_out of gate, then n_out of up)
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_arithmetic : require
#ifdef INTEGER_DOT
#extension GL_EXT_spirv_intrinsics : require
#endif
#ifdef EXPERTS
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_buffer_reference_uvec2 : require
#endif
#include "params.h"

layout(local_size_x = 64) in;
layout(constant_id = CONSTANT_ROWS) const uint kRows = 2;
layout(constant_id = CONSTANT_INPUT_UNITS) const uint kInputUnits = 0;
layout(constant_id = CONSTANT_OUT) const uint kOut = OUT_STORE;

layout(push_constant) uniform Push { GroupsPush push; };
#ifndef EXPERTS
layout(binding = 0) readonly buffer W { uvec4 w[]; };          // [rows][n_in / 64]
layout(binding = 4) readonly buffer Scales { uint scales[]; };  // F16 [rows][n_in / 64 / kScaleGroups]
#endif
layout(binding = 1) readonly buffer Q { uvec4 q[]; };          // [n_tokens][n_in / 16]
layout(binding = 2) readonly buffer QInfo { uvec2 q_info[]; };  // [n_tokens]: bits of s, sum(q)
layout(binding = 3) buffer Y { float y[]; };                   // [n_tokens][n_out]
layout(binding = 5) readonly buffer Sums { int sums[]; };      // [n_tokens][n_in / 64]: sum(q) of a group
layout(binding = 6) readonly buffer Shares { float shares[]; };  // with kInputUnits, of a group

#include "common/subgroup.glsl"
#include "common/ternary.glsl"
#include "common/groups.glsl"
#include "common/activation.glsl"
#include "common/experts.glsl"

const uint kOutRows = kOut == OUT_GATE ? kRows / 2 : kRows;  // gate rows, then as many up rows

void multiply(uint first, uint t) {
  uint groups = push.n_in / 64, row_scales = groups / kScaleGroups;
  uint rows[kRows];
  int acc[kRows];
  for (uint r = 0; r < kRows; ++r) {  // past the end the last row again; its sum is not written
    rows[r] = min(first + r % kOutRows, push.n_out - 1) + r / kOutRows * push.n_out;
    acc[r] = 0;
  }
  for (uint g = LANE; g < groups; g += SUBGROUP_SIZE) {
    uvec4 bits[kRows];
    for (uint r = 0; r < kRows; ++r) bits[r] = w[rows[r] * groups + g];
    uint at = t * groups + g;
    uvec4 q0 = q[at * 4], q1 = q[at * 4 + 1], q2 = q[at * 4 + 2], q3 = q[at * 4 + 3];
    int q_sum = sums[at];
    float share = kInputUnits != 0 ? shares[at] : 1.0;
    for (uint r = 0; r < kRows; ++r) {
      int dot = dot_codes(bits[r], 6, q0, -q_sum);
      dot = dot_codes(bits[r], 4, q1, dot);
      dot = dot_codes(bits[r], 2, q2, dot);
      dot = dot_codes(bits[r], 0, q3, dot);
      uint scale = rows[r] * row_scales + g / kScaleGroups;
      acc[r] += rounded_share(dot, half_of(scales[scale / 2], scale) * push.fixed_point, share);
    }
  }
  for (uint r = 0; r < kRows; ++r) acc[r] = subgroup_add(acc[r]);
  if (LANE != 0) return;

  float s = uintBitsToFloat(q_info[t].x);
  for (uint r = 0; r < kOutRows; ++r) {
    if (first + r >= push.n_out) break;
    uint at = PAIR_OUTPUT(t) * push.n_out + first + r;
    if (kOut == OUT_GATE) {
      y[at] = gated(ternary_result(acc[r], 0, s, push.scale0),
                    ternary_result(acc[kRows - kOutRows + r], 0, s, push.scale1));
    } else {
      precise float result = ternary_result(acc[r], 0, s, scale_of_row(first + r));
      if (kOut == OUT_ADD) result = y[at] + result;
      y[at] = result;
    }
  }
}

void main() {
  BEGIN_PAIR
  uint stride = gl_NumWorkGroups.x * N_SUBGROUPS * kOutRows;
  for (uint first = gl_WorkGroupID.x * N_SUBGROUPS * kOutRows; first < push.n_out; first += stride)
    multiply(first + SUBGROUP * kOutRows, PAIR_INPUT);
}
