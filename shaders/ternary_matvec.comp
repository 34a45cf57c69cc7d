// A ternary matrix times the int8 vectors of a few tokens, too few for tiles; also the products of decode where
// decode.comp is not used. A subgroup takes kRows output rows and kTokens tokens at once, so that what it loads
// of either serves all of the others; its lanes stride over the halves of the row's blocks. It is compiled as:
//   plain     y[row]  = result
//   ADD       y[row] += result                      (the residual stream)
//   GATE_UP   y[row]  = act(gate) * up              (rows n_out of gate, then n_out of up)
#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_GOOGLE_include_directive : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_arithmetic : require
#extension GL_KHR_shader_subgroup_shuffle : require
#ifdef INTEGER_DOT
#extension GL_EXT_spirv_intrinsics : require
#endif
#include "params.h"

layout(local_size_x = 64) in;
layout(constant_id = CONSTANT_ROWS) const uint kRows = 2;
layout(constant_id = CONSTANT_TOKENS) const uint kTokens = 1;  // no more than lanes of a subgroup

layout(push_constant) uniform Push { TernaryPush push; };
layout(binding = 0) readonly buffer W { uvec4 w[]; };          // [rows][n_in / 64]
layout(binding = 1) readonly buffer Q { uvec4 q[]; };          // [n_tokens][n_in / 16]
layout(binding = 2) readonly buffer QInfo { uvec2 q_info[]; };  // [n_tokens]: bits of s, sum(q)
layout(binding = 3) buffer Y { float y[]; };                   // [n_tokens][n_out]

#include "common/subgroup.glsl"
#include "common/ternary.glsl"
#ifdef GATE_UP
#include "common/activation.glsl"
#endif

#ifdef GATE_UP
const uint kOutRows = kRows / 2;  // gate rows, then as many up rows
#else
const uint kOutRows = kRows;
#endif

void multiply(uint first, uint first_token) {
  uint halves = push.n_in / 64;
  uint rows[kRows];
  int acc[kRows][kTokens];
  UNROLL for (uint r = 0; r < kRows; ++r) {  // past the end the last row again; its sum is not written
    rows[r] = min(first + r % kOutRows, push.n_out - 1) + r / kOutRows * push.n_out;
    UNROLL for (uint t = 0; t < kTokens; ++t) acc[r][t] = 0;
  }
  for (uint h = LANE; h < halves; h += SUBGROUP_SIZE) {
    uvec4 bits[kRows];
    UNROLL for (uint r = 0; r < kRows; ++r) bits[r] = w[rows[r] * halves + h];
    UNROLL for (uint t = 0; t < kTokens; ++t) {
      uint at = min(first_token + t, push.n_tokens - 1) * (push.n_in / 16) + activation_of_half(h);
      uvec4 q0 = q[at], q1 = q[at + 2], q2 = q[at + 4], q3 = q[at + 6];
      UNROLL for (uint r = 0; r < kRows; ++r) {
        acc[r][t] = dot_codes(bits[r], 6, q0, acc[r][t]);
        acc[r][t] = dot_codes(bits[r], 4, q1, acc[r][t]);
        acc[r][t] = dot_codes(bits[r], 2, q2, acc[r][t]);
        acc[r][t] = dot_codes(bits[r], 0, q3, acc[r][t]);
      }
    }
  }
  int own[kRows];  // of the token that this lane writes
  UNROLL for (uint r = 0; r < kRows; ++r)
    UNROLL for (uint t = 0; t < kTokens; ++t) {
      int sum = subgroup_add(acc[r][t]);
      if (t == 0 || LANE == t) own[r] = sum;
    }
  uint token = first_token + LANE;
  if (LANE >= kTokens || token >= push.n_tokens) return;

  float s = uintBitsToFloat(q_info[token].x);
  int q_sum = int(q_info[token].y);
  UNROLL for (uint r = 0; r < kOutRows; ++r) {
    if (first + r >= push.n_out) break;
    uint at = token * push.n_out + first + r;
#ifdef GATE_UP
    y[at] = gated(ternary_result(own[r], q_sum, s, push.scale0),
                  ternary_result(own[kOutRows + r], q_sum, s, push.scale1));
#else
    precise float result = ternary_result(own[r], q_sum, s, scale_of_row(first + r));
#ifdef ADD
    result = y[at] + result;
#endif
    y[at] = result;
#endif
  }
}

void main() {
  uint stride = gl_NumWorkGroups.x * N_SUBGROUPS * kOutRows;
  for (uint first = gl_WorkGroupID.x * N_SUBGROUPS * kOutRows; first < push.n_out; first += stride)
    multiply(first + SUBGROUP * kOutRows, gl_WorkGroupID.y * kTokens);
}
