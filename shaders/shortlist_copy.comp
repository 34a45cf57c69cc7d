// Makes the copy of an LM head in 8 bits that shortlist_approximate.comp reads, and what is known of each row:
//   w = scale * codes + e
// A subgroup takes a row. A row of which no bound can be computed has one that is always reached.
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_arithmetic : require
#extension GL_KHR_shader_subgroup_shuffle : require
#include "params.h"

layout(local_size_x = 64) in;

layout(push_constant) uniform Push { HeadPush push; };
layout(binding = 0) readonly buffer Table { uvec4 table[]; };
layout(binding = 1) writeonly buffer Codes { uvec2 codes[]; };   // int8 [n_rows][n_embd]
layout(binding = 2) writeonly buffer Rows { ShortlistRow rows[]; };

#include "common/subgroup.glsl"
#define TABLE_QUADS table
#include "common/table.glsl"
#include "common/shortlist.glsl"

float largest_of(vec4 v) {
  v = abs(v);
  return max(max(v.x, v.y), max(v.z, v.w));
}

void main() {
  uint row = gl_WorkGroupID.x * N_SUBGROUPS + SUBGROUP, eights = push.n_embd / 8;
  bool is_row = row < push.n_rows;
  row = min(row, push.n_rows - 1);
  float largest = 0.0;
  for (uint i = LANE; i < eights; i += SUBGROUP_SIZE) {
    vec4 low, high;
    decode_eight(row * eights + i, low, high);
    largest = max(largest, max(largest_of(low), largest_of(high)));
  }
  largest = subgroup_max(largest);
  // The bits tell NaN and infinity, since a compiler may assume that floats are finite. But max() drops NaN.
  float squares = 0.0, errors = 0.0;
  bool usable = is_usable(largest), zero = largest == 0.0;
  float scale = usable ? largest / 127.0 : 0.0, inverse = usable ? 127.0 / largest : 0.0;
  for (uint i = LANE; i < eights; i += SUBGROUP_SIZE) {
    vec4 w[2];
    decode_eight(row * eights + i, w[0], w[1]);
    uvec2 packed;
    for (uint j = 0; j < 2; ++j) {
      precise vec4 code = clamp(roundEven(w[j] * inverse), -127.0, 127.0);
      precise vec4 e = fma(vec4(-scale), code, w[j]);
      squares += dot(w[j], w[j]);
      errors += dot(e, e);
      packed[j] = pack_int8(ivec4(code));
    }
    if (is_row) codes[row * eights + i] = packed;
  }
  squares = subgroup_add(squares);
  errors = subgroup_add(errors);
  // NaN stays in a sum of squares.
  if (is_row && LANE == 0) rows[row] = shortlist_row(scale, squares, errors, zero || usable, push.n_embd);
}
