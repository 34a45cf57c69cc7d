// Rounds the vectors that a shortlisted LM head multiplies (common/shortlist.glsl). A workgroup takes one.
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_arithmetic : require
#include "params.h"

layout(local_size_x_id = CONSTANT_WORKGROUP_SIZE) in;

layout(push_constant) uniform Push { HeadPush push; };
layout(binding = 0) readonly buffer Y { vec4 y[]; };                // [n_tokens][n_embd / 4]
layout(binding = 1) writeonly buffer Parts { uint parts[]; };       // int8 [n_tokens][high, low][n_embd]
layout(binding = 2) writeonly buffer Vectors { ShortlistVector vectors[]; };

#include "common/subgroup.glsl"
#include "common/reduce.glsl"
#include "common/shortlist.glsl"

void main() {
  uint lane = gl_LocalInvocationID.x, token = gl_WorkGroupID.x, quads = push.n_embd / 4;
  float largest = 0.0, squares = 0.0;
  for (uint i = lane; i < quads; i += gl_WorkGroupSize.x) {
    vec4 v = abs(y[token * quads + i]);
    largest = max(largest, max(max(v.x, v.y), max(v.z, v.w)));
    squares += dot(v, v);
  }
  vec2 both = workgroup_add_max(squares, largest);
  squares = both.x;
  largest = both.y;
  bool usable = is_usable(largest) && is_finite(squares);
  // So that no sum of products with codes overflows an int32, and the high part is an int8.
  float most = min(8191.0, floor(2147483647.0 / (127.0 * float(push.n_embd))));
  float t = usable ? largest / most : 0.0, inverse = usable ? most / largest : 0.0, errors = 0.0;
  for (uint i = lane; i < quads; i += gl_WorkGroupSize.x) {
    vec4 v = y[token * quads + i];
    precise vec4 p = clamp(roundEven(v * inverse), -most, most);
    precise vec4 f = fma(vec4(-t), p, v);
    errors += dot(f, f);
    ivec4 whole = ivec4(p), high = whole + 64 >> 7;
    parts[2 * token * quads + i] = pack_int8(high);
    parts[(2 * token + 1) * quads + i] = pack_int8(whole - 128 * high);
  }
  errors = workgroup_add(errors);
  if (lane != 0) return;
  float norm = sqrt(squares) * kEnlarged, error = sqrt(errors) * kEnlarged + kUlp * norm;
  vectors[token] = usable ? ShortlistVector(t, norm, error, 1u) : ShortlistVector(0.0, 0.0, 0.0, 0u);
}
