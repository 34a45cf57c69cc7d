// The input of a product for a batch where that wants it rotated: norm.comp, rotate.comp and
// rms_norm_quantise.comp in one, with the bits of these, for matrices of groups whose inputs have units. A
// workgroup takes a row, some blocks of it at a time, of which an invocation has a vec4. A unit is rounded
// before anything is known of the rest of the row.
#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_GOOGLE_include_directive : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_arithmetic : require
#extension GL_KHR_shader_subgroup_shuffle : require
#include "params.h"

layout(local_size_x_id = CONSTANT_WORKGROUP_SIZE) in;  // whole blocks
layout(constant_id = CONSTANT_NORM) const uint kNorm = NORM_ALWAYS;  // or NORM_NEVER
layout(constant_id = CONSTANT_LOADS) const uint kLoads = 1;          // vec4 of an invocation
layout(constant_id = CONSTANT_REST) const uint kRest = 0;            // or REST_TOO
layout(constant_id = CONSTANT_SUM_WORDS) const uint kUnitWords = 16;  // of four inputs

layout(push_constant) uniform Push { RotateQuantisePush push; };
layout(binding = 0) readonly buffer X { vec4 x[]; };
layout(binding = 1) readonly buffer Weight { vec4 weight[]; };
layout(binding = 2) readonly buffer Signs { vec4 signs[]; };      // [n_in / 4]
layout(binding = 3) writeonly buffer Q { uint q[]; };             // [rows][n_in / 4], four int8 a word
layout(binding = 4) writeonly buffer QInfo { uvec2 q_info[]; };   // [rows]: bits of s, and 0
layout(binding = 5) writeonly buffer Sums { int sums[]; };        // [rows][n_in / 4 / kUnitWords]
layout(binding = 6) writeonly buffer Shares { float shares[]; };  // the same
layout(binding = 7) writeonly buffer RestQ { uint rest_q[]; };    // as q, with kRest

shared uvec4 tile[gl_WorkGroupSize.x];

#include "common/subgroup.glsl"
#include "common/reduce.glsl"
#include "common/quantise.glsl"
#include "common/inverse.glsl"
#include "common/turn.glsl"

shared float unit_largest[kLoads * gl_WorkGroupSize.x / kUnitWords];

// What this invocation has of the vec4 `at` of the row, normed; past the end anything.
vec4 normed_at(uint row, uint at, float inverse) {
  precise vec4 y = x[row + at];
  if (kNorm == NORM_ALWAYS) y = normed(y, inverse) * weight[at];
  return y;
}

vec4 turned(vec4 y) {
  y = turned_in_subgroup(y);
  if (quads_in_subgroup() < kBlockQuads) {
    keep_quad(INVOCATION, y);
    barrier();
    turn_tile(gl_WorkGroupSize.x);
    y = quad_at(INVOCATION);
    barrier();  // nobody needs what lies there
  }
  precise vec4 scaled = y * push.factor;
  return scaled;
}

void main() {
  uint words = push.n_in / 4, row = gl_WorkGroupID.x * words;
  float inverse = 1.0;
  if (kNorm == NORM_ALWAYS) {
    float squares = 0.0;
    for (uint i = INVOCATION; i < words; i += gl_WorkGroupSize.x) squares = add_squares(x[row + i], squares);
    inverse = inverse_of_row(squares);
  }

  float largest = 0.0;
  for (uint first = 0; first < words; first += gl_WorkGroupSize.x) {
    uint at = first + INVOCATION, there = min(at, words - 1);
    vec4 y = normed_at(row, there, inverse);
    if (push.has_signs != 0) y *= signs[there];
    y = turned(y);
    float of_unit = largest_of(y, 0.0);
    UNROLL for (uint step_ = 1; step_ < kUnitWords; step_ *= 2)
      of_unit = max(of_unit, shuffle_xor(of_unit, step_));
    float factor = factor_of_unit(of_unit);
    ivec4 four = quantised(y, factor), rest = ivec4(0);
    int sum = sum_of(four);
    if (kRest != 0) {
      rest = quantised_rest(y, factor);
      sum = sum * REST_STEPS + sum_of(rest);
    }
    UNROLL for (uint step_ = 1; step_ < kUnitWords; step_ *= 2) sum += shuffle_xor(sum, step_);
    if (at >= words) continue;
    largest = max(largest, of_unit);
    q[row + at] = packed(four);
    if (kRest != 0) rest_q[row + at] = packed(rest);
    if (at % kUnitWords != 0) continue;
    unit_largest[at / kUnitWords] = of_unit;
    sums[(row + at) / kUnitWords] = sum;
  }

  RowScale scale = row_scale(0.0, largest, false);  // its barrier shows everyone the largest of units
  for (uint unit = gl_LocalInvocationID.x; unit < words / kUnitWords; unit += gl_WorkGroupSize.x)
    shares[row / kUnitWords + unit] = share_of_unit(unit_largest[unit], scale);
  if (kRest != 0) scale.s = scale_of_rest(scale.s);
  if (gl_LocalInvocationID.x == 0) q_info[gl_WorkGroupID.x] = uvec2(floatBitsToUint(scale.s), 0);
}
