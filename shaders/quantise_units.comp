// As rms_norm_quantise.comp with REST_TOO, for matrices of groups, in one pass over each row: a unit is rounded before
// anything is known of the rest of the row. A workgroup takes a row, which its invocations hold: neighbours have
// neighbouring vec4, so that what a unit has in common they find by shuffles. Requires that a subgroup is no smaller
// than a unit has words.
#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_GOOGLE_include_directive : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_arithmetic : require
#extension GL_KHR_shader_subgroup_shuffle : require
#include "params.h"

layout(local_size_x_id = CONSTANT_WORKGROUP_SIZE) in;
layout(constant_id = CONSTANT_NORM) const uint kNorm = NORM_ALWAYS;  // or another, but NORM_LAYER
layout(constant_id = CONSTANT_LOADS) const uint kLoads = 1;          // vec4 of an invocation
layout(constant_id = CONSTANT_SUM_WORDS) const uint kUnitWords = 16;  // of four inputs

layout(push_constant) uniform Push { QuantisePush push; };
layout(binding = 0) readonly buffer X { vec4 x[]; };
layout(binding = 1) readonly buffer Weight { vec4 weight[]; };
layout(binding = 2) readonly buffer Bias { vec4 bias[]; };        // of other norms
layout(binding = 3) writeonly buffer Q { uint q[]; };             // [rows][n_in / 4], four int8 a word
layout(binding = 4) writeonly buffer QInfo { uvec2 q_info[]; };   // [rows]: bits of s, and 0
layout(binding = 5) writeonly buffer Sums { int sums[]; };        // [rows][n_in / 4 / kUnitWords]
layout(binding = 6) writeonly buffer Shares { float shares[]; };  // the same
layout(binding = 7) writeonly buffer RestQ { uint rest_q[]; };    // as q

#include "common/subgroup.glsl"
#include "common/reduce.glsl"
#include "common/quantise.glsl"

void main() {
  uint words = push.n_in / 4, to = gl_WorkGroupID.x * words, row = push.first_row * words + to;
  precise vec4 y[kLoads];
  UNROLL for (uint l = 0; l < kLoads; ++l) y[l] = x[row + min(l * gl_WorkGroupSize.x + INVOCATION, words - 1)];

  float squares = 0.0, largest = 0.0, of_unit[kLoads];
  UNROLL for (uint l = 0; l < kLoads; ++l) {
    uint at = l * gl_WorkGroupSize.x + INVOCATION;
    if (at >= words) y[l] = vec4(0.0);
    if (kNorm != NORM_NEVER) squares = add_squares(y[l], squares);
    if (kNorm == NORM_ALWAYS) y[l] *= weight[min(at, words - 1)];
    of_unit[l] = largest_of(y[l], 0.0);
  }
  UNROLL for (uint step_ = 1; step_ < kUnitWords; step_ *= 2)
    UNROLL for (uint l = 0; l < kLoads; ++l) of_unit[l] = max(of_unit[l], shuffle_xor(of_unit[l], step_));
  UNROLL for (uint l = 0; l < kLoads; ++l) largest = max(largest, of_unit[l]);

  int sum[kLoads];
  UNROLL for (uint l = 0; l < kLoads; ++l) {
    uint at = l * gl_WorkGroupSize.x + INVOCATION;
    float factor = factor_of_unit(of_unit[l]);
    ivec4 four = quantised(y[l], factor), rest = quantised_rest(y[l], factor);
    sum[l] = sum_of(four) * REST_STEPS + sum_of(rest);
    if (at >= words) continue;
    q[to + at] = packed(four);
    rest_q[to + at] = packed(rest);
  }
  UNROLL for (uint step_ = 1; step_ < kUnitWords; step_ *= 2)
    UNROLL for (uint l = 0; l < kLoads; ++l) sum[l] += shuffle_xor(sum[l], step_);

  RowScale scale = row_scale(squares, largest, kNorm != NORM_NEVER);
  UNROLL for (uint l = 0; l < kLoads; ++l) {
    uint at = l * gl_WorkGroupSize.x + INVOCATION;
    if (at >= words || at % kUnitWords != 0) continue;
    sums[(to + at) / kUnitWords] = sum[l];
    shares[(to + at) / kUnitWords] = share_of_unit(of_unit[l], scale);
  }
  if (gl_LocalInvocationID.x == 0) q_info[gl_WorkGroupID.x] = uvec2(floatBitsToUint(scale_of_rest(scale.s)), 0);
}
