// x[t] = table[token t], for the tokens whose row is in this chunk of the table. A row of workgroups takes a
// token.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "params.h"

layout(local_size_x = 64) in;
layout(constant_id = CONSTANT_TABLE_F32) const bool kTableF32 = false;

layout(push_constant) uniform Push { EmbedPush push; };
layout(binding = 0) readonly buffer Params { uint params[]; };
layout(binding = 1) readonly buffer Table { uint table[]; };
layout(binding = 2) writeonly buffer X { vec2 x[]; };  // [n_tokens][n_embd / 2]

void main() {
  uint t = gl_WorkGroupID.y;
  uint i = gl_GlobalInvocationID.x;  // pair of features
  uint row = params[PARAMS_TOKENS + t] - push.row_begin;
  uint pairs = push.n_embd / 2;
  if (row >= push.n_rows || i >= pairs) return;  // a row below the chunk wraps to a large number
  uint at = row * pairs + i;
  x[t * pairs + i] = kTableF32 ? vec2(uintBitsToFloat(table[2 * at]), uintBitsToFloat(table[2 * at + 1]))
                               : unpackHalf2x16(table[at]);
}
