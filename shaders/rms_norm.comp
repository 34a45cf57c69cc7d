// y = rms_norm(x) * weight: the last norm, in front of the LM head. A workgroup takes a row.
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_arithmetic : require
#include "params.h"

layout(local_size_x_id = CONSTANT_WORKGROUP_SIZE) in;

layout(push_constant) uniform Push { NormPush push; };
layout(binding = 0) readonly buffer X { vec4 x[]; };
layout(binding = 1) readonly buffer Weight { vec4 weight[]; };
layout(binding = 2) writeonly buffer Y { vec4 y[]; };

#include "common/subgroup.glsl"
#include "common/reduce.glsl"
#include "common/rms.glsl"

void main() {
  uint row = (push.first_row + gl_WorkGroupID.x) * (push.n / 4);
  float inverse = inverse_rms(row);
  for (uint i = gl_LocalInvocationID.x; i < push.n / 4; i += gl_WorkGroupSize.x)
    y[gl_WorkGroupID.x * (push.n / 4) + i] = x[row + i] * inverse * weight[i];
}
