// Makes the input of a product for a batch: rows of int8 in one plane or two, and for each row s and sum(q),
// which every output needs. A workgroup takes a row. With GROUPS also sums of each few inputs.
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_arithmetic : require
#include "params.h"

layout(local_size_x_id = CONSTANT_WORKGROUP_SIZE) in;
layout(constant_id = CONSTANT_NORM) const uint kNorm = NORM_ALWAYS;

layout(push_constant) uniform Push { QuantisePush push; };
layout(binding = 0) readonly buffer X { vec4 x[]; };
layout(binding = 1) readonly buffer Weight { vec4 weight[]; };
layout(binding = 2) readonly buffer Bias { vec4 bias[]; };
layout(binding = 3) writeonly buffer Q { uint q[]; };         // [rows][planes][n_in / 4], four int8 a word
layout(binding = 4) writeonly buffer QInfo { uvec2 q_info[]; };  // [rows]: bits of s, sum(q)
#ifdef GROUPS
layout(constant_id = CONSTANT_SUM_WORDS) const uint kSumWords = 16;
layout(binding = 5) writeonly buffer Sums { int sums[]; };  // [rows][words / kSumWords]
#endif

#include "common/subgroup.glsl"
#include "common/reduce.glsl"
#include "common/quantise.glsl"
#include "common/layer_norm.glsl"

uint words, row;
LayerNorm layer;

vec4 weighted(uint i) {
  if (kNorm == NORM_LAYER) return layer_normed(x[row + i], layer, weight[i], bias[i]);
  precise vec4 y = x[row + i];
  if (kNorm == NORM_ALWAYS) y *= weight[i];
  return y;
}

#ifdef GROUPS
// The sums of four inputs each, of which kSumWords neighbours are added.
shared int quads[gl_WorkGroupSize.x];
#endif

void main() {
  words = push.n_in / 4;
  row = (push.first_row + gl_WorkGroupID.x) * words;
  if (kNorm == NORM_LAYER) layer = layer_norm(row, push.n_in, push.epsilon);
  float squares = 0.0, largest = 0.0;
  for (uint i = gl_LocalInvocationID.x; i < words; i += gl_WorkGroupSize.x) {
    squares = add_squares(x[row + i], squares);
    largest = largest_of(weighted(i), largest);
  }
  RowScale scale = row_scale(squares, largest, kNorm == NORM_ALWAYS || kNorm == NORM_ONES);

  int sum = 0;
  uint to = gl_WorkGroupID.x * kPlanes * words;
#ifdef GROUPS
  for (uint first = 0; first < words; first += gl_WorkGroupSize.x) {
    uint i = first + gl_LocalInvocationID.x;
    int quad = 0;
    if (i < words) {
      ivec4 four = quantised(weighted(i), scale.factor);
      quad = sum_of(four);
      if (kPlanes == 2) q[to + i] = packed(high_plane(four));
      q[to + (kPlanes - 1) * words + i] = packed(four);
    }
    quads[gl_LocalInvocationID.x] = quad;
    barrier();
    if (i < words && i % kSumWords == 0) {
      int group = 0;
      for (uint k = 0; k < kSumWords; ++k) group += quads[gl_LocalInvocationID.x + k];
      sums[gl_WorkGroupID.x * (words / kSumWords) + i / kSumWords] = group;
    }
    barrier();
    sum += quad;
  }
#else
  for (uint i = gl_LocalInvocationID.x; i < words; i += gl_WorkGroupSize.x) {
    ivec4 four = quantised(weighted(i), scale.factor);
    sum += sum_of(four);
    q[to + i] = packed(four);
  }
#endif
  sum = workgroup_add(sum);
  if (gl_LocalInvocationID.x == 0) q_info[gl_WorkGroupID.x] = uvec2(floatBitsToUint(scale.s), uint(sum));
}
