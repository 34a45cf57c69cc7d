// As ternary_matvec_groups.comp, for a matrix of blocks (common/blocks.glsl). The lanes of a subgroup stride
// over the runs of its rows. CONSTANT_OUT says where the result goes (common/dense_out.glsl).
#version 450
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
layout(constant_id = CONSTANT_OUT) const uint kOut = OUT_STORE;

layout(push_constant) uniform Push { DensePush push; };
#ifndef EXPERTS
layout(binding = 0) readonly buffer W { uvec4 w[]; };           // [rows], as pack_blocks.h has them
layout(binding = 4) readonly buffer Scales { uint scales[]; };  // [rows], as pack_blocks.h has them
#endif
layout(binding = 1) readonly buffer Q { uvec4 q[]; };           // [n_tokens][n_in / 16]
layout(binding = 2) readonly buffer QInfo { uvec2 q_info[]; };   // [n_tokens]: bits of s, sum(q)
layout(binding = 3) buffer Y { float y[]; };                    // [n_tokens][stride]
layout(binding = 5) readonly buffer WUp { uvec4 w_up[]; };      // with OUT_GATE the second tensor
layout(binding = 6) readonly buffer ScalesUp { uint scales_up[]; };
layout(binding = 7) readonly buffer Sums { int sums[]; };       // [n_tokens][n_in / 16], sums of 16 inputs
layout(binding = 8) readonly buffer Bias { float bias[]; };
layout(binding = 9) readonly buffer Shares { float shares[]; };  // [n_tokens][n_in / 32]

#include "common/subgroup.glsl"
#include "common/dot.glsl"
#include "common/half.glsl"
#include "common/blocks.glsl"
#include "common/activation.glsl"
#include "common/dense_out.glsl"
#include "common/experts.glsl"

RUN_CODES(codes_of, uint row, w)
RUN_CODES(codes_of_up, uint row, w_up)
RUN_SCALES(scales_at, uint row, scales)
RUN_SCALES(scales_at_up, uint row, scales_up)

const uint kOutRows = kOut == OUT_GATE ? kRows / 2 : kRows;  // gate rows, then as many up rows

void multiply(uint first_row, uint t) {
  uint runs = push.n_in / 32;
  uint rows[kRows];
  int acc[kRows];
  for (uint r = 0; r < kRows; ++r) {  // past the end the last row again; its sum is not written
    rows[r] = min(first_row + r % kOutRows, push.n_out - 1);
    acc[r] = 0;
  }
  for (uint run = LANE; run < runs; run += SUBGROUP_SIZE) {
    RunCodes codes[kRows];
    vec3 scale[kRows];
    for (uint r = 0; r < kRows; ++r) {
      if (r < kOutRows) {
        codes[r] = codes_of(rows[r], run, runs);
        scale[r] = scales_of(scales_at(rows[r], run, runs), rows[r], run, runs, push.fixed0);
      } else {
        codes[r] = codes_of_up(rows[r], run, runs);
        scale[r] = scales_of(scales_at_up(rows[r], run, runs), rows[r], run, runs, push.fixed1);
      }
    }
    uint at = t * runs + run;
    uvec4 inputs[2] = {q[at * 2], q[at * 2 + 1]};
    float share = shares[at];
    int q_sum = 0;
    if (kMinimum != 0) q_sum = sums[at * 2] + sums[at * 2 + 1];
    for (uint r = 0; r < kRows; ++r) {
      uvec4 first, second;
      unpack(codes[r], first, second);
      acc[r] += run_share(first, second, inputs, scale[r], share, q_sum);
    }
  }
  for (uint r = 0; r < kRows; ++r) acc[r] = subgroup_add(acc[r]);
  if (LANE != 0) return;

  float s = uintBitsToFloat(q_info[t].x);
  for (uint r = 0; r < kOutRows; ++r)
    if (first_row + r < push.n_out)
      put(PAIR_OUTPUT(t), first_row + r, blocks_result(acc[r], s, push.scale0),
          blocks_result(acc[kRows - kOutRows + r], s, push.scale1));
}

void main() {
  BEGIN_PAIR
  uint stride = gl_NumWorkGroups.x * N_SUBGROUPS * kOutRows;
  for (uint first = gl_WorkGroupID.x * N_SUBGROUPS * kOutRows; first < push.n_out; first += stride)
    multiply(first + SUBGROUP * kOutRows, PAIR_INPUT);
}
