// Makes the input of a BitLinear for a batch: rows of int8, and for each row s and sum(q), which every output
// needs. A workgroup takes a row.
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_arithmetic : require
#include "params.h"

layout(local_size_x_id = CONSTANT_WORKGROUP_SIZE) in;

layout(push_constant) uniform Push { QuantisePush push; };
layout(binding = 0) readonly buffer X { vec4 x[]; };
layout(binding = 1) readonly buffer Weight { vec4 weight[]; };
layout(binding = 2) writeonly buffer Q { uint q[]; };         // [rows][n_in / 4], four int8 a word
layout(binding = 3) writeonly buffer QInfo { uvec2 q_info[]; };  // [rows]: bits of s, sum(q)

#include "common/subgroup.glsl"
#include "common/reduce.glsl"
#include "common/quantise.glsl"

void main() {
  uint words = push.n_in / 4, row = gl_WorkGroupID.x * words;
  float squares = 0.0, largest = 0.0;
  for (uint i = gl_LocalInvocationID.x; i < words; i += gl_WorkGroupSize.x) {
    squares = add_squares(x[row + i], squares);
    precise vec4 y = x[row + i] * weight[i];
    largest = largest_of(y, largest);
  }
  RowScale scale = row_scale(squares, largest);

  int sum = 0;
  for (uint i = gl_LocalInvocationID.x; i < words; i += gl_WorkGroupSize.x) {
    precise vec4 y = x[row + i] * weight[i];
    q[row + i] = quantised(y, scale.factor, sum);
  }
  sum = workgroup_add(sum);
  if (gl_LocalInvocationID.x == 0) q_info[gl_WorkGroupID.x] = uvec2(floatBitsToUint(scale.s), uint(sum));
}
