// As ternary_matvec.comp, for a matrix of groups (common/groups.glsl). The lanes of a subgroup stride over
// the groups of its rows. CONSTANT_OUT says where the result goes:
//   OUT_STORE  y[row]  = result
//   OUT_ADD    y[row] += result            (the residual stream)
//   OUT_GATE   y[row]  = act(gate) * up    (rows n_out of gate, then n_out of up)
#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_GOOGLE_include_directive : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_arithmetic : require
#extension GL_KHR_shader_subgroup_shuffle : require
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
layout(constant_id = CONSTANT_TOKENS) const uint kTokens = 1;  // no more than lanes of a subgroup
layout(constant_id = CONSTANT_INPUT_UNITS) const uint kInputUnits = 0;
layout(constant_id = CONSTANT_OUT) const uint kOut = OUT_STORE;
#ifdef EXPERTS
#define REST_AT(i) uvec4(0)
const uint kRest = 0;
#else
#define REST_AT(i) rest_q[i]
layout(constant_id = CONSTANT_REST) const uint kRest = 0;
#endif

layout(push_constant) uniform Push { GroupsPush push; };
#ifndef EXPERTS
layout(binding = 0) readonly buffer W { uvec4 w[]; };          // [rows][n_in / 64]
layout(binding = 4) readonly buffer Scales { uint scales[]; };  // F16 [rows][n_in / 64 / kScaleGroups]
layout(binding = 7) readonly buffer RestQ { uvec4 rest_q[]; };  // as q, with kRest
#endif
layout(binding = 1) readonly buffer Q { uvec4 q[]; };          // [n_tokens][n_in / 16]
layout(binding = 2) readonly buffer QInfo { uvec2 q_info[]; };  // [n_tokens]: bits of s, sum(q)
layout(binding = 3) buffer Y { float y[]; };                   // [n_tokens][n_out]
layout(binding = 5) readonly buffer Sums { int sums[]; };      // [n_tokens][n_in / kUnit]: sum of a unit's inputs
layout(binding = 6) readonly buffer Shares { float shares[]; };  // with kInputUnits, of a unit

#include "common/subgroup.glsl"
#include "common/ternary.glsl"
#include "common/groups.glsl"
#include "common/activation.glsl"
#include "common/experts.glsl"
#ifdef EXPERTS  // a pair a row of workgroups
#define FIRST_INPUT PAIR_INPUT
#define INPUT_TOKEN(first, t) (first)
#define PAST_TOKENS(token) false
#else
#define FIRST_INPUT (gl_WorkGroupID.y * kTokens)
#define INPUT_TOKEN(first, t) min((first) + (t), push.n_tokens - 1)
#define PAST_TOKENS(token) ((token) >= push.n_tokens)
#endif

const uint kOutRows = kOut == OUT_GATE ? kRows / 2 : kRows;  // gate rows, then as many up rows

void multiply(uint first, uint first_token) {
  uint groups = push.n_in / 64, row_scales = groups / kScaleGroups;
  uint rows[kRows];
  int acc[kRows][kTokens];
  UNROLL for (uint r = 0; r < kRows; ++r) {  // past the end the last row again; its sum is not written
    rows[r] = min(first + r % kOutRows, push.n_out - 1) + r / kOutRows * push.n_out;
    UNROLL for (uint t = 0; t < kTokens; ++t) acc[r][t] = 0;
  }
  for (uint first_group = 0; first_group < groups; first_group += SUBGROUP_SIZE) {
    uint own = first_group + LANE, g = min(own, groups - 1);
    uvec4 bits[kRows];
    float of_group[kRows];
    UNROLL for (uint r = 0; r < kRows; ++r) {
      bits[r] = w[rows[r] * groups + g];
      uint scale = rows[r] * row_scales + g / kScaleGroups;
      of_group[r] = half_of(scales[scale / 2], scale) * push.fixed_point;
    }
    UNROLL for (uint t = 0; t < kTokens; ++t) {
      uint at = INPUT_TOKEN(first_token, t) * groups + g, unit = at / kUnitGroups;
      uvec4 q0 = q[at * 4], q1 = q[at * 4 + 1], q2 = q[at * 4 + 2], q3 = q[at * 4 + 3];
      uvec4 r0 = uvec4(0), r1 = r0, r2 = r0, r3 = r0;
      if (kRest != 0) {
        r0 = REST_AT(at * 4);
        r1 = REST_AT(at * 4 + 1);
        r2 = REST_AT(at * 4 + 2);
        r3 = REST_AT(at * 4 + 3);
      }
      int q_sum = sums[unit];
      float share = kInputUnits != 0 ? shares[unit] : 1.0;
      // Neighbours have the groups of a unit, which the first of them rounds.
      if (own >= groups || kUnitGroups == 2 && LANE % 2 != 0) share = 0.0;
      UNROLL for (uint r = 0; r < kRows; ++r) {
        int dot = dot_group(bits[r], q0, q1, q2, q3, 0);
        if (kRest != 0) dot = dot_group(bits[r], r0, r1, r2, r3, REST_STEPS * dot);
        if (kUnitGroups == 2) dot += shuffle_xor(dot, 1);
        acc[r][t] += rounded_share(dot - q_sum, of_group[r], share);
      }
    }
  }
  int own[kRows];  // of the token that this lane writes
  UNROLL for (uint r = 0; r < kRows; ++r)
    UNROLL for (uint t = 0; t < kTokens; ++t) {
      int sum = subgroup_add(acc[r][t]);
      if (t == 0 || LANE == t) own[r] = sum;
    }
  if (LANE >= kTokens || PAST_TOKENS(first_token + LANE)) return;

  float s = uintBitsToFloat(q_info[INPUT_TOKEN(first_token, LANE)].x);
  UNROLL for (uint r = 0; r < kOutRows; ++r) {
    if (first + r >= push.n_out) break;
    uint at = PAIR_OUTPUT(first_token + LANE) * push.n_out + first + r;
    if (kOut == OUT_GATE) {
      y[at] = gated(ternary_result(own[r], 0, s, push.scale0),
                    ternary_result(own[kRows - kOutRows + r], 0, s, push.scale1));
    } else {
      precise float result = ternary_result(own[r], 0, s, scale_of_row(first + r));
      if (kOut == OUT_ADD) result = y[at] + result;
      y[at] = result;
    }
  }
}

void main() {
  BEGIN_PAIR
  uint stride = gl_NumWorkGroups.x * N_SUBGROUPS * kOutRows;
  for (uint first = gl_WorkGroupID.x * N_SUBGROUPS * kOutRows; first < push.n_out; first += stride)
    multiply(first + SUBGROUP * kOutRows, FIRST_INPUT);
}
