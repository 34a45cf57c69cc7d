// y = norm(x), of rows that are not rounded, or y += norm(x); CONSTANT_NORM says which norm. A workgroup
// takes a row.
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_arithmetic : require
#extension GL_KHR_shader_subgroup_shuffle : require
#include "params.h"

layout(local_size_x_id = CONSTANT_WORKGROUP_SIZE) in;
layout(constant_id = CONSTANT_OUT) const uint kOut = OUT_STORE;

layout(push_constant) uniform Push { NormPush push; };
layout(binding = 0) readonly buffer X { vec4 x[]; };
layout(binding = 1) readonly buffer Weight { vec4 weight[]; };
layout(binding = 2) readonly buffer Bias { vec4 bias[]; };
layout(binding = 3) buffer Y { vec4 y[]; };

#include "common/subgroup.glsl"
#include "common/reduce.glsl"
#include "common/norm_row.glsl"

void main() {
  uint row = (push.first_row + gl_WorkGroupID.x) * (push.n / 4), to = gl_WorkGroupID.x * (push.n / 4);
  RowNorm norm = norm_of_row(row);
  for (uint i = gl_LocalInvocationID.x; i < push.n / 4; i += gl_WorkGroupSize.x) {
    vec4 result = normed(row, i, norm);
    y[to + i] = kOut == OUT_ADD ? y[to + i] + result : result;
  }
}
