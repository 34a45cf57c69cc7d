// What gemma4 gives each layer of a token: y = (rms_norm(y * projected_scale) * weight + embedded *
// embedded_scale) / sqrt(2), where the norm is over each slice. A row of workgroups takes a token, a
// workgroup a slice.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "params.h"

layout(local_size_x = 64) in;
layout(constant_id = CONSTANT_NORM) const uint kNorm = NORM_ALWAYS;

layout(push_constant) uniform Push { CombinePush push; };
layout(binding = 0) buffer Y { vec4 y[]; };                        // [n_tokens][n_slices][width / 4]
layout(binding = 1) readonly buffer Embedded { vec4 embedded[]; };  // as Y
layout(binding = 2) readonly buffer Weight { vec4 weight[]; };      // [width / 4]

shared float sums[gl_WorkGroupSize.x];

vec4 projected(uint i) {
  precise vec4 v = y[i] * push.projected_scale;
  return v;
}

float inverse_rms(uint slice) {
  uint lane = gl_LocalInvocationID.x;
  precise float sum = 0.0;
  for (uint i = lane; i < push.width / 4; i += gl_WorkGroupSize.x) {
    vec4 v = projected(slice + i);
    sum = fma(v.x, v.x, fma(v.y, v.y, fma(v.z, v.z, fma(v.w, v.w, sum))));
  }
  sums[lane] = sum;
  for (uint step_ = gl_WorkGroupSize.x / 2; step_ > 0; step_ /= 2) {
    barrier();
    if (lane < step_) sums[lane] += sums[lane + step_];
  }
  barrier();
  return 1.0 / sqrt(sums[0] / float(push.width) + push.epsilon);
}

void main() {
  uint slice = (gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x) * (push.width / 4);
  float inverse = inverse_rms(slice);
  for (uint i = gl_LocalInvocationID.x; i < push.width / 4; i += gl_WorkGroupSize.x) {
    vec4 normed = projected(slice + i) * inverse;
    if (kNorm == NORM_ALWAYS) normed *= weight[i];
    y[slice + i] = (normed + embedded[slice + i] * push.embedded_scale) * 0.70710678118;
  }
}
