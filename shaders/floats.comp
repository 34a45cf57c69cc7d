// The product of a matrix of floats (F32, F16 or BF16, as in the file) with the f32 rows of its input. A
// subgroup takes kRows rows for kTokens tokens; its lanes stride over them eight features at a time. Whatever
// the two numbers are, each sum is made in the same order, which is the head's (head.comp). CONSTANT_OUT says
// where the result goes (common/dense_out.glsl); with OUT_GATE the second half of kRows is up.
#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_GOOGLE_include_directive : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_arithmetic : require
#extension GL_KHR_shader_subgroup_shuffle : require
#include "params.h"

layout(local_size_x = 64) in;
layout(constant_id = CONSTANT_ROWS) const uint kRows = 2;
layout(constant_id = CONSTANT_TOKEN_TILES) const uint kTokens = 1;
layout(constant_id = CONSTANT_OUT) const uint kOut = OUT_STORE;

layout(push_constant) uniform Push { DensePush push; };
layout(binding = 0) readonly buffer W { uvec4 w[]; };       // [rows][n_in]
layout(binding = 1) readonly buffer X { vec4 x[]; };        // [n_tokens][n_in / 4]
layout(binding = 2) buffer Y { float y[]; };                // [n_tokens][stride]
layout(binding = 3) readonly buffer WUp { uvec4 w_up[]; };  // with OUT_GATE the second tensor
layout(binding = 4) readonly buffer Bias { float bias[]; };

#include "common/subgroup.glsl"
#include "common/table.glsl"
#include "common/activation.glsl"
#include "common/dense_out.glsl"
#include "common/floats.glsl"

const uint kOutRows = kOut == OUT_GATE ? kRows / 2 : kRows;  // gate rows, then as many up rows

// Rows and tokens past the end repeat the last one; their sums are not written.
void multiply(uint first_row, uint first_token) {
  uint eights = push.n_in / 8;
  float acc[kRows][kTokens];
  UNROLL for (uint r = 0; r < kRows; ++r)
    UNROLL for (uint t = 0; t < kTokens; ++t) acc[r][t] = 0.0;
  for (uint i = LANE; i < eights; i += SUBGROUP_SIZE) {
    vec4 low[kRows], high[kRows];
    UNROLL for (uint r = 0; r < kRows; ++r) {
      uint at = min(first_row + r % kOutRows, push.n_out - 1) * eights + i;
      uvec4 first, second = uvec4(0);
      if (kTableType == TABLE_F32) {
        first = r < kOutRows ? w[2 * at] : w_up[2 * at];
        second = r < kOutRows ? w[2 * at + 1] : w_up[2 * at + 1];
      } else {
        first = r < kOutRows ? w[at] : w_up[at];
      }
      eight_floats(first, second, low[r], high[r]);
    }
    UNROLL for (uint t = 0; t < kTokens; ++t) {
      uint at = (min(first_token + t, push.n_tokens - 1) * eights + i) * 2;
      vec4 a = x[at], b = x[at + 1];
      UNROLL for (uint r = 0; r < kRows; ++r) acc[r][t] = add_eight(low[r], high[r], a, b, acc[r][t]);
    }
  }
  UNROLL for (uint t = 0; t < kTokens; ++t)
    UNROLL for (uint r = 0; r < kRows; ++r) acc[r][t] = subgroup_add(acc[r][t]);
  if (LANE != 0) return;
  UNROLL for (uint t = 0; t < kTokens; ++t)
    UNROLL for (uint r = 0; r < kOutRows; ++r)
      if (first_row + r < push.n_out && first_token + t < push.n_tokens) {
        precise float result = acc[r][t] * push.scale0, up = acc[kRows - kOutRows + r][t] * push.scale1;
        put(first_token + t, first_row + r, result, up);
      }
}

// Neighbouring workgroups take other tokens for the same rows, which are then still in a cache.
void main() {
  uint stride = gl_NumWorkGroups.y * N_SUBGROUPS * kOutRows;
  for (uint first = gl_WorkGroupID.y * N_SUBGROUPS * kOutRows; first < push.n_out; first += stride)
    multiply(first + SUBGROUP * kOutRows, gl_WorkGroupID.x * kTokens);
}
