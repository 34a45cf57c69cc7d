// The second product of a few tokens' experts, for matrices of groups: adds to a row of x what the experts of
// its token give, times their weights, summed in the order of their ids. The bits are those of
// ternary_matvec_groups.comp and sum_experts.comp. The rows of an expert are short, so the lanes of a
// subgroup stride over the groups of one row of all experts. What a step waits for is memory, so kItems
// groups are loaded at a time, and what is the same for all rows beforehand.
#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_GOOGLE_include_directive : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_arithmetic : require
#extension GL_KHR_shader_subgroup_shuffle : require
#ifdef INTEGER_DOT
#extension GL_EXT_spirv_intrinsics : require
#endif
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_buffer_reference_uvec2 : require
#include "params.h"

layout(local_size_x = 64) in;
layout(constant_id = CONSTANT_ROWS) const uint kRows = 2;
layout(constant_id = CONSTANT_INPUT_UNITS) const uint kInputUnits = 0;

layout(push_constant) uniform Push { DownPush push; };
layout(binding = 1) readonly buffer Q { uvec4 q[]; };             // [n_pairs][n_in / 16]
layout(binding = 2) readonly buffer QInfo { uvec2 q_info[]; };    // [n_pairs]: bits of s, sum(q)
layout(binding = 3) buffer X { float x[]; };                      // [n_tokens][n_out]
layout(binding = 5) readonly buffer Sums { int sums[]; };         // [n_pairs][n_in / 64]: sum(q) of a group
layout(binding = 6) readonly buffer Shares { float shares[]; };   // with kInputUnits, of a group
layout(binding = 7) readonly buffer Weights { float weights[]; };  // [n_pairs]

#include "common/subgroup.glsl"
#include "common/ternary.glsl"
#include "common/groups.glsl"
#include "common/experts.glsl"

const uint kItems = 2;

// Of the experts of this token.
shared uvec4 addresses[MOST_USED];  // of codes and of scales
shared vec2 factors[MOST_USED];     // the scale of the input, and the weight

void load_experts(uint first_pair) {
  for (uint e = gl_LocalInvocationID.x; e < push.used; e += gl_WorkGroupSize.x) {
    take_expert(expert_rows[first_pair + e]);
    addresses[e] = uvec4(expert_codes, expert_scales);
    factors[e] = vec2(uintBitsToFloat(q_info[first_pair + e].x), weights[first_pair + e]);
  }
  barrier();
}

// What group `g` of the input of a pair, which has expert `e` of the token's, gives in row `row` of that.
int of_group(uint row, uint e, uint pair, uint g) {
  uint groups = push.n_in / 64, at = pair * groups + g;
  expert_codes = addresses[e].xy;
  expert_scales = addresses[e].zw;
  uvec4 bits = w[row * groups + g];
  int dot = dot_codes(bits, 6, q[at * 4], -sums[at]);
  dot = dot_codes(bits, 4, q[at * 4 + 1], dot);
  dot = dot_codes(bits, 2, q[at * 4 + 2], dot);
  dot = dot_codes(bits, 0, q[at * 4 + 3], dot);
  uint scale = row * (groups / kScaleGroups) + g / kScaleGroups;
  float share = kInputUnits != 0 ? shares[at] : 1.0;
  return rounded_share(dot, half_of(scales[scale / 2], scale) * push.fixed_point, share);
}

// `sum` and what an expert gives, of which acc is the integer.
float add_expert(float sum, int acc, uint e) {
  precise float part = ternary_result(acc, 0, factors[e].x, push.scale0) * factors[e].y;
  precise float more = sum + part;
  return more;
}

void multiply(uint first, uint token) {
  uint groups = push.n_in / 64, items = push.used * groups, first_pair = token * push.used, expert = 0;
  int acc[kRows];
  float sum[kRows];
  UNROLL for (uint r = 0; r < kRows; ++r) {
    acc[r] = 0;
    sum[r] = 0.0;
  }
  for (uint begin = 0; begin < items; begin += kItems * SUBGROUP_SIZE) {
    uint own[kItems];
    int part[kItems][kRows];
    UNROLL for (uint i = 0; i < kItems; ++i) {
      uint item = min(begin + i * SUBGROUP_SIZE + LANE, items - 1);
      own[i] = item / groups;
      UNROLL for (uint r = 0; r < kRows; ++r)  // past the end the last row again; its sum is not written
        part[i][r] = of_group(min(first + r, push.n_out - 1), own[i], first_pair + own[i], item % groups);
    }
    uint last = (min(begin + kItems * SUBGROUP_SIZE, items) - 1) / groups;
    for (uint e = begin / groups; e <= last; ++e) {
      UNROLL for (uint r = 0; r < kRows; ++r) {
        if (e != expert) {
          sum[r] = add_expert(sum[r], acc[r], expert);
          acc[r] = 0;
        }
        int share = 0;
        UNROLL for (uint i = 0; i < kItems; ++i)
          if (e == own[i] && begin + i * SUBGROUP_SIZE + LANE < items) share += part[i][r];
        acc[r] += subgroup_add(share);
      }
      expert = e;
    }
  }
  if (LANE != 0) return;
  for (uint r = 0; r < kRows && first + r < push.n_out; ++r) {
    uint at = token * push.n_out + first + r;
    precise float total = x[at] + add_expert(sum[r], acc[r], expert);
    x[at] = total;
  }
}

void main() {
  load_experts(gl_WorkGroupID.y * push.used);
  uint stride = gl_NumWorkGroups.x * N_SUBGROUPS * kRows;
  for (uint first = gl_WorkGroupID.x * N_SUBGROUPS * kRows; first < push.n_out; first += stride)
    multiply(first + SUBGROUP * kRows, gl_WorkGroupID.y);
}
