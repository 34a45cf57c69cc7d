// x[t] = table[token t] * scale + positions[position of t], for the tokens whose row is in this chunk of the
// table. A row of workgroups takes a token; an invocation takes eight features of it, or the 32 of a unit.
#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_GOOGLE_include_directive : require
#include "params.h"
#include "common/half.glsl"

layout(local_size_x = 64) in;
layout(constant_id = CONSTANT_POSITIONS) const uint kPositions = 0;

layout(push_constant) uniform Push { EmbedPush push; };
layout(binding = 0) readonly buffer Params { uint params[]; };
layout(binding = 1) readonly buffer Table { uvec4 table[]; };
layout(binding = 2) writeonly buffer X { vec4 x[]; };  // [n_tokens][n_embd / 4]
layout(binding = 3) readonly buffer Positions { vec4 positions[]; };  // [n_ctx][n_embd / 4]

// A word behind the last row is read, but not used.
#define TABLE_QUADS table
#define TABLE_WORD(i) table[min((i) / 4, uint(table.length()) - 1)][(i) % 4]
#include "common/table.glsl"

uint t;

// Gives x[t] its features 4i .. 4i + 3.
void give(uint i, vec4 value) {
  uint quads = push.n_embd / 4;
  precise vec4 result = value * push.scale;
  if (kPositions != 0) result += positions[(params[PARAMS_POSITION] + t) * quads + i];
  x[t * quads + i] = result;
}

void main() {
  t = gl_WorkGroupID.y;
  uint i = gl_GlobalInvocationID.x;  // eight features, or unit
  uint row = params[PARAMS_TOKENS + t] - push.row_begin;
  if (row >= push.n_rows) return;  // a row below the chunk wraps to a large number
  if (kFloatTable) {
    uint eights = push.n_embd / 8;
    if (i >= eights) return;
    vec4 low, high;
    decode_eight(row * eights + i, low, high);
    give(2 * i, low);
    give(2 * i + 1, high);
    return;
  }
  if (i >= push.n_embd / 32) return;
  vec4 f[8], scale, minimum;
  decode_unit(row * row_bytes(push.n_embd), i, f, scale, minimum);
  for (uint j = 0; j < 8; ++j) {
    precise vec4 product = scale[j / 2] * (f[j] - kBias);
    precise vec4 value = product - minimum[j / 2];
    give(feature_of_run(i, j / 2) / 4 + j % 2, value);
  }
}
