// x[t] = table[token t], for the tokens whose row is in this chunk of the table. A row of workgroups takes a
// token; an invocation takes eight features of it, or the 32 of a unit.
#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_GOOGLE_include_directive : require
#include "params.h"
#include "common/half.glsl"

layout(local_size_x = 64) in;

layout(push_constant) uniform Push { EmbedPush push; };
layout(binding = 0) readonly buffer Params { uint params[]; };
layout(binding = 1) readonly buffer Table { uvec4 table[]; };
layout(binding = 2) writeonly buffer X { vec4 x[]; };  // [n_tokens][n_embd / 4]

// A word behind the last row is read, but not used.
#define TABLE_QUADS table
#define TABLE_WORD(i) table[min((i) / 4, uint(table.length()) - 1)][(i) % 4]
#include "common/table.glsl"

void main() {
  uint t = gl_WorkGroupID.y;
  uint i = gl_GlobalInvocationID.x;  // eight features, or unit
  uint row = params[PARAMS_TOKENS + t] - push.row_begin;
  if (row >= push.n_rows) return;  // a row below the chunk wraps to a large number
  if (kFloatTable) {
    uint eights = push.n_embd / 8;
    if (i < eights) decode_eight(row * eights + i, x[2 * (t * eights + i)], x[2 * (t * eights + i) + 1]);
    return;
  }
  if (i >= push.n_embd / 32) return;
  vec4 f[8], scale, minimum;
  decode_unit(row * row_bytes(push.n_embd), i, f, scale, minimum);
  for (uint j = 0; j < 8; ++j) {
    precise vec4 product = scale[j / 2] * (f[j] - kBias);
    x[(t * push.n_embd + feature_of_run(i, j / 2)) / 4 + j % 2] = product - minimum[j / 2];
  }
}
