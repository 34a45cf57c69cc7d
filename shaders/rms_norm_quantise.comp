// Makes the input of a product for a batch: rows of int8, and for each row s and sum(q), which every output
// needs. A workgroup takes a row. With GROUPS sums of each unit or 16 inputs take the place of the row's, and
// where units of 128, 64 or 32 inputs are rounded each for itself their shares are written too
// (common/quantise.glsl). CONSTANT_REST makes the second int8 of Input::int16_units, by itself or beside the
// first one; then sums and s are of both.
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_arithmetic : require
#extension GL_KHR_shader_subgroup_shuffle : require
#include "params.h"

layout(local_size_x_id = CONSTANT_WORKGROUP_SIZE) in;
layout(constant_id = CONSTANT_NORM) const uint kNorm = NORM_ALWAYS;

layout(push_constant) uniform Push { QuantisePush push; };
layout(binding = 0) readonly buffer X { vec4 x[]; };
layout(binding = 1) readonly buffer Weight { vec4 weight[]; };
layout(binding = 2) readonly buffer Bias { vec4 bias[]; };
#ifdef GROUPS
layout(binding = 3) writeonly buffer Q { uvec4 q[]; };           // [rows][n_in / 16], 16 int8 each
#else
layout(binding = 3) writeonly buffer Q { uint q[]; };            // [rows][n_in / 4], four int8 a word
#endif
layout(binding = 4) writeonly buffer QInfo { uvec2 q_info[]; };  // [rows]: bits of s, sum(q)
#ifdef GROUPS
layout(constant_id = CONSTANT_SUM_WORDS) const uint kSumWords = 16;
layout(binding = 5) writeonly buffer Sums { int sums[]; };        // [rows][n_in / 4 / kSumWords]
layout(constant_id = CONSTANT_REST) const uint kRest = 0;
layout(binding = 6) writeonly buffer Shares { float shares[]; };  // [rows][n_in / 16 / kUnitQuads]
#ifndef EXPERTS
layout(binding = 7) writeonly buffer RestQ { uvec4 rest_q[]; };   // as q, with REST_TOO
#endif
#endif

#include "common/subgroup.glsl"
#include "common/reduce.glsl"
#include "common/quantise.glsl"
#include "common/layer_norm.glsl"

#ifdef EXPERTS
layout(constant_id = CONSTANT_PAIRS) const uint kPairs = 1;
layout(binding = 7) readonly buffer Groups { uint groups[]; };  // as group_pairs.comp writes them
#endif

uint words, row;
LayerNorm layer;

vec4 weighted(uint i) {
  if (kNorm == NORM_LAYER) return layer_normed(x[row + i], layer, weight[i], bias[i]);
  precise vec4 y = x[row + i];
  if (kNorm == NORM_ALWAYS) y *= weight[i];
  return y;
}

#ifdef GROUPS
// An invocation takes a quad of words, 16 inputs.
const uint kUnitQuads = kSumWords == 4 ? 2 : kSumWords / 4;  // blocks have units of 32 inputs
shared float quads_largest[gl_WorkGroupSize.x];
shared int quads_sum[gl_WorkGroupSize.x];

// Rounds a row.
void quantise_units(RowScale scale) {
  uint lane = gl_LocalInvocationID.x, quads = words / 4, sum_quads = kSumWords / 4;
  uint unit = lane / kUnitQuads * kUnitQuads;
  for (uint first = 0; first < quads; first += gl_WorkGroupSize.x) {
    uint at = first + lane;
    vec4 y[4];
    float largest = 0.0, factor = scale.factor;
    if (at < quads)
      for (uint k = 0; k < 4; ++k) {
        y[k] = weighted(at * 4 + k);
        largest = largest_of(y[k], largest);
      }
    quads_largest[lane] = largest;
    barrier();
    if (kInputUnits != 0) {
      for (uint k = 0; k < kUnitQuads; ++k) largest = max(largest, quads_largest[unit + k]);
      factor = factor_of_unit(largest);
      if (at < quads && lane == unit)
        shares[(gl_WorkGroupID.x * quads + at) / kUnitQuads] = share_of_unit(largest, scale);
    }
    int quad = 0;
    if (at < quads) {
      uvec4 four;
      for (uint k = 0; k < 4; ++k) {
        ivec4 rounded = kRest == REST_ALONE ? quantised_rest(y[k], factor) : quantised(y[k], factor);
        quad += sum_of(rounded);
        four[k] = packed(rounded);
      }
      q[gl_WorkGroupID.x * quads + at] = four;
#ifndef EXPERTS
      if (kRest == REST_TOO) {
        quad *= REST_STEPS;
        for (uint k = 0; k < 4; ++k) {
          ivec4 rounded = quantised_rest(y[k], factor);
          quad += sum_of(rounded);
          four[k] = packed(rounded);
        }
        rest_q[gl_WorkGroupID.x * quads + at] = four;
      }
#endif
    }
    quads_sum[lane] = quad;
    barrier();
    if (at < quads && lane % sum_quads == 0) {
      int group = 0;
      for (uint k = 0; k < sum_quads; ++k) group += quads_sum[lane + k];
      sums[(gl_WorkGroupID.x * quads + at) / sum_quads] = group;
    }
  }
}
#endif

void main() {
  words = push.n_in / 4;
#ifdef EXPERTS
  row = groups[push.first_row + gl_WorkGroupID.x] / kPairs * words;  // where the list has the pair of this place
#else
  row = (push.first_row + gl_WorkGroupID.x) * words;
#endif
  if (kNorm == NORM_LAYER) layer = layer_norm(row, push.n_in, push.epsilon);
  float squares = 0.0, largest = 0.0;
  for (uint i = gl_LocalInvocationID.x; i < words; i += gl_WorkGroupSize.x) {
    squares = add_squares(x[row + i], squares);
    largest = largest_of(weighted(i), largest);
  }
  RowScale scale = row_scale(squares, largest, kNorm == NORM_ALWAYS || kNorm == NORM_ONES);

#ifdef GROUPS
  quantise_units(scale);
  int sum = 0;
  if (kRest != 0) scale.s = scale_of_rest(scale.s);
#else
  int sum = 0;
  uint to = gl_WorkGroupID.x * words;
  for (uint i = gl_LocalInvocationID.x; i < words; i += gl_WorkGroupSize.x) {
    ivec4 four = quantised(weighted(i), scale.factor);
    sum += sum_of(four);
    q[to + i] = packed(four);
  }
  sum = workgroup_add(sum);
#endif
  if (gl_LocalInvocationID.x == 0) q_info[gl_WorkGroupID.x] = uvec2(floatBitsToUint(scale.s), uint(sum));
}
