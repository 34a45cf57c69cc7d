// The LM head: logits[t][row] = table[row] . y[t], with rows of F32, F16 or BF16 and sums in f32. A subgroup
// takes kRows rows and kTokens tokens, so that what it loads of a row serves all of these tokens. Its lanes
// stride over the rows eight features at a time, and the workgroups stride over the rows.
#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_GOOGLE_include_directive : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_arithmetic : require
#extension GL_KHR_shader_subgroup_shuffle : require
#include "params.h"

layout(local_size_x = 64) in;
layout(constant_id = CONSTANT_ROWS) const uint kRows = 1;
layout(constant_id = CONSTANT_TOKENS) const uint kTokens = 1;

layout(push_constant) uniform Push { HeadPush push; };
layout(binding = 0) readonly buffer Table { uvec4 table[]; };
layout(binding = 1) readonly buffer Y { vec4 y[]; };            // [n_tokens][n_embd / 4]
layout(binding = 2) writeonly buffer Logits { float logits[]; };  // [n_tokens][n_vocab]

#include "common/subgroup.glsl"
#define TABLE_QUADS table
#include "common/table.glsl"
#include "common/head_row.glsl"

// Rows `first_row` and those behind it times tokens `first_token` and those behind it.
void multiply(uint first_row, uint first_token) {
  float sums[kRows][kTokens];
  UNROLL for (uint r = 0; r < kRows; ++r)
    UNROLL for (uint t = 0; t < kTokens; ++t) sums[r][t] = 0.0;
  uint eights = push.n_embd / 8;
  for (uint i = LANE; i < eights; i += SUBGROUP_SIZE) {
    vec4 low[kRows], high[kRows];
    UNROLL for (uint r = 0; r < kRows; ++r)  // past the end the last row again
      decode_eight(min(first_row + r, push.n_rows - 1) * eights + i, low[r], high[r]);
    UNROLL for (uint t = 0; t < kTokens; ++t) {
      uint at = 2 * (min(first_token + t, push.n_tokens - 1) * eights + i);
      vec4 y_low = y[at], y_high = y[at + 1];
      UNROLL for (uint r = 0; r < kRows; ++r)
        sums[r][t] = add_eight(low[r], high[r], y_low, y_high, sums[r][t]);
    }
  }
  UNROLL for (uint r = 0; r < kRows; ++r)
    UNROLL for (uint t = 0; t < kTokens; ++t) {
      float logit = subgroup_add(sums[r][t]);
      if (LANE == 0 && first_row + r < push.n_rows && first_token + t < push.n_tokens)
        logits[(first_token + t) * push.n_vocab + push.row_begin + first_row + r] = logit;
    }
}

void main() {
  uint stride = gl_NumWorkGroups.x * N_SUBGROUPS * kRows;
  for (uint first = gl_WorkGroupID.x * N_SUBGROUPS * kRows; first < push.n_rows; first += stride)
    multiply(first + SUBGROUP * kRows, gl_WorkGroupID.y * kTokens);
}
