// Norms and rounds the vectors that a shortlisted LM head multiplies (common/shortlist.glsl). A workgroup
// takes one. What is found of the first begins at nothing.
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_arithmetic : require
#extension GL_KHR_shader_subgroup_shuffle : require
#include "params.h"

layout(local_size_x_id = CONSTANT_WORKGROUP_SIZE) in;

layout(push_constant) uniform Push { NormPush push; };
layout(binding = 0) readonly buffer X { vec4 x[]; };
layout(binding = 1) readonly buffer Weight { vec4 weight[]; };
layout(binding = 2) readonly buffer Bias { vec4 bias[]; };
layout(binding = 3) buffer Y { vec4 y[]; };                    // [n_tokens][n / 4]; X without a norm
layout(binding = 4) writeonly buffer Parts { uint parts[]; };  // int8 [n_tokens][high, low][n]
layout(binding = 5) writeonly buffer Vectors { ShortlistVector vectors[]; };
layout(binding = 6) writeonly buffer Found { ShortlistFound found; };

#include "common/subgroup.glsl"
#include "common/reduce.glsl"
#include "common/norm_row.glsl"
#include "common/shortlist.glsl"

void main() {
  uint lane = gl_LocalInvocationID.x, token = gl_WorkGroupID.x, quads = push.n / 4;
  uint row = (push.first_row + token) * quads;
  RowNorm row_norm = norm_of_row(row);
  float largest = 0.0, squares = 0.0;
  for (uint i = lane; i < quads; i += gl_WorkGroupSize.x) {
    vec4 v = normed(row, i, row_norm);
    if (kNorm != NORM_NEVER) y[token * quads + i] = v;
    v = abs(v);
    largest = max(largest, max(max(v.x, v.y), max(v.z, v.w)));
    squares += dot(v, v);
  }
  vec2 both = workgroup_add_max(squares, largest);
  squares = both.x;
  largest = both.y;
  bool usable = is_usable(largest) && is_finite(squares);
  // So that no sum of products with codes overflows an int32, and the high part is an int8.
  float most = min(8191.0, floor(2147483647.0 / (127.0 * float(push.n))));
  float t = usable ? largest / most : 0.0, inverse = usable ? most / largest : 0.0, errors = 0.0;
  for (uint i = lane; i < quads; i += gl_WorkGroupSize.x) {
    vec4 v = kNorm == NORM_NEVER ? x[row + i] : y[token * quads + i];
    precise vec4 p = clamp(roundEven(v * inverse), -most, most);
    precise vec4 f = fma(vec4(-t), p, v);
    errors += dot(f, f);
    ivec4 whole = ivec4(p), high = whole + 64 >> 7;
    parts[2 * token * quads + i] = pack_int8(high);
    parts[(2 * token + 1) * quads + i] = pack_int8(whole - 128 * high);
  }
  errors = workgroup_add(errors);
  if (lane != 0) return;
  if (token == 0) found.n_done = found.n = 0u;
  float norm = sqrt(squares) * kEnlarged, error = sqrt(errors) * kEnlarged + kUlp * norm;
  vectors[token] = usable ? ShortlistVector(t, norm, error, 1u) : ShortlistVector(0.0, 0.0, 0.0, 0u);
}
