// The input of a BitLinear: y = rms_norm(x), then int8 by the row's largest magnitude (BitNet b1.58, section 2):
//   s = 127 / max(1e-5, max|y|),  q = clamp(round_half_even(y * s), -128, 127)
// Also writes s and sum(q), which every output row needs. One workgroup a row.
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_arithmetic : require
#include "params.h"

layout(local_size_x_id = 0) in;

layout(push_constant) uniform Push { NormPush push; };
layout(binding = 0) readonly buffer X { vec4 x[]; };
layout(binding = 1) readonly buffer Weight { vec4 weight[]; };
layout(binding = 2) writeonly buffer Q { uint q[]; };         // [rows][n / 4], four int8 a word
layout(binding = 3) writeonly buffer QInfo { uvec2 q_info[]; };  // [rows]: bits of s, sum(q)

#include "common/reduce.glsl"
#include "common/rms.glsl"

void main() {
  uint words = push.n / 4;
  uint row = (push.first_row + gl_WorkGroupID.x) * words;
  float inverse = inverse_rms(row);

  float largest = 0.0;
  for (uint i = gl_LocalInvocationID.x; i < words; i += gl_WorkGroupSize.x) {
    vec4 y = abs(x[row + i] * inverse * weight[i]);
    largest = max(largest, max(max(y.x, y.y), max(y.z, y.w)));
  }
  float s = 127.0 / max(1e-5, workgroup_max(largest));

  int sum = 0;
  for (uint i = gl_LocalInvocationID.x; i < words; i += gl_WorkGroupSize.x) {
    ivec4 v = ivec4(clamp(roundEven(x[row + i] * inverse * weight[i] * s), -128.0, 127.0));
    sum += v.x + v.y + v.z + v.w;
    v &= 0xFF;
    q[gl_WorkGroupID.x * words + i] = uint(v.x | v.y << 8 | v.z << 16 | v.w << 24);
  }
  sum = workgroup_add(sum);
  if (gl_LocalInvocationID.x == 0) q_info[gl_WorkGroupID.x] = uvec2(floatBitsToUint(s), uint(sum));
}
