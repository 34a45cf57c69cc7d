// Adds to each row of x what the token's experts gave, times their weights, summed in the order of their ids.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "params.h"

layout(local_size_x = 64) in;

layout(push_constant) uniform Push { SumPush push; };
layout(binding = 0) buffer X { float x[]; };                    // [n_tokens][width]
layout(binding = 1) readonly buffer Results { float results[]; };  // [n_pairs][width]
layout(binding = 2) readonly buffer Weights { float weights[]; };  // [n_tokens][used]
layout(binding = 3) readonly buffer Groups { uint groups[]; };     // as group_pairs.comp writes them

void main() {
  uint i = gl_GlobalInvocationID.x, first = gl_WorkGroupID.y * push.used;
  if (i >= push.width) return;
  precise float sum = 0.0;
  for (uint e = 0; e < push.used; ++e) {
    uint row = push.place_at == 0 ? first + e : groups[push.place_at + first + e];
    precise float part = results[row * push.width + i] * weights[first + e];
    sum += part;
  }
  precise float total = x[gl_WorkGroupID.y * push.width + i] + sum;
  x[gl_WorkGroupID.y * push.width + i] = total;
}
