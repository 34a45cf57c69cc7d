// Approximates the logits of an LM head by its copy in 8 bits (common/shortlist.glsl). A subgroup takes kRows
// rows and kTokens tokens; the workgroups stride over the rows, and each gives the largest lower bound that
// it meets.
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
layout(constant_id = CONSTANT_ROWS) const uint kRows = 1;
layout(constant_id = CONSTANT_TOKENS) const uint kTokens = 1;

layout(push_constant) uniform Push { HeadPush push; };
layout(binding = 0) readonly buffer Codes { uvec4 codes[]; };  // int8 [n_rows][n_embd]
layout(binding = 1) readonly buffer Rows { ShortlistRow rows[]; };
layout(binding = 2) readonly buffer Parts { uvec4 parts[]; };  // int8 [n_tokens][high, low][n_embd]
layout(binding = 3) readonly buffer Vectors { ShortlistVector vectors[]; };
layout(binding = 4) writeonly buffer Logits { float logits[]; };  // [n_tokens][n_vocab]
layout(binding = 5) writeonly buffer Borders { uint borders[]; };  // [n_tokens][workgroups], as keys

#include "common/subgroup.glsl"
#include "common/dot.glsl"
#include "common/float_key.glsl"
#include "common/shortlist.glsl"

shared uint border[kTokens];

// Rows `first_row` and those behind it times tokens `first_token` and those behind it.
void multiply(uint first_row, uint first_token) {
  int high[kRows][kTokens], low[kRows][kTokens];
  UNROLL for (uint r = 0; r < kRows; ++r)
    UNROLL for (uint t = 0; t < kTokens; ++t) high[r][t] = low[r][t] = 0;
  uint quads = push.n_embd / 16;
  for (uint i = LANE; i < quads; i += SUBGROUP_SIZE) {
    ivec4 code[kRows];
    UNROLL for (uint r = 0; r < kRows; ++r)  // past the end the last row again
      code[r] = ivec4(codes[min(first_row + r, push.n_rows - 1) * quads + i]);
    UNROLL for (uint t = 0; t < kTokens; ++t) {
      uint at = 2 * min(first_token + t, push.n_tokens - 1) * quads + i;
      uvec4 y_high = parts[at], y_low = parts[at + quads];
      UNROLL for (uint r = 0; r < kRows; ++r) {
        high[r][t] = dot_words(code[r], y_high, high[r][t]);
        low[r][t] = dot_words(code[r], y_low, low[r][t]);
      }
    }
  }
  UNROLL for (uint r = 0; r < kRows; ++r)
    UNROLL for (uint t = 0; t < kTokens; ++t) {
      int sum = subgroup_add(128 * high[r][t] + low[r][t]);
      uint row = first_row + r, token = first_token + t;
      if (LANE == 0 && row < push.n_rows && token < push.n_tokens) {
        ShortlistVector y = vectors[token];
        precise float logit = rows[row].scale * y.t * float(sum);
        logits[token * push.n_vocab + row] = logit;
        atomicMax(border[t], key_of(floatBitsToUint(logit - bound_of(rows[row], y))));
      }
    }
}

void main() {
  uint lane = gl_LocalInvocationID.x, first_token = gl_WorkGroupID.y * kTokens;
  if (lane < kTokens) border[lane] = 0u;
  barrier();
  uint stride = gl_NumWorkGroups.x * N_SUBGROUPS * kRows;
  for (uint first = gl_WorkGroupID.x * N_SUBGROUPS * kRows; first < push.n_rows; first += stride)
    multiply(first + SUBGROUP * kRows, first_token);
  barrier();
  if (lane < kTokens && first_token + lane < push.n_tokens)
    borders[(first_token + lane) * gl_NumWorkGroups.x + gl_WorkGroupID.x] = border[lane];
}
