// As rms_norm_quantise.comp, for rows of which a workgroup holds all values, so that they are loaded once. An
// invocation has kShares times the values that one has there, and adds up the squares of each share apart, so
// that the sum has the same bits. Neighbours have neighbouring words of four inputs: what a unit of inputs
// has in common they find by shuffles. Requires that a subgroup is no smaller than such a unit.
#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_GOOGLE_include_directive : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_arithmetic : require
#extension GL_KHR_shader_subgroup_shuffle : require
#include "params.h"

layout(local_size_x_id = CONSTANT_WORKGROUP_SIZE) in;
layout(constant_id = CONSTANT_NORM) const uint kNorm = NORM_ALWAYS;
layout(constant_id = CONSTANT_LOADS) const uint kLoads = 1;  // of each share

layout(push_constant) uniform Push { QuantisePush push; };
layout(binding = 0) readonly buffer X { vec4 x[]; };
layout(binding = 1) readonly buffer Weight { vec4 weight[]; };
layout(binding = 2) readonly buffer Bias { vec4 bias[]; };       // of other norms
layout(binding = 3) writeonly buffer Q { uint q[]; };            // [rows][n_in / 4], four int8 a word
layout(binding = 4) writeonly buffer QInfo { uvec2 q_info[]; };  // [rows]: bits of s, sum(q)
#ifdef GROUPS
layout(constant_id = CONSTANT_SUM_WORDS) const uint kSumWords = 16;
layout(binding = 5) writeonly buffer Sums { int sums[]; };        // [rows][n_in / 4 / kSumWords]
layout(binding = 6) writeonly buffer Shares { float shares[]; };  // [rows][n_in / 4 / kUnitWords]
layout(binding = 7) readonly buffer Rest { uint rest[]; };        // of inputs of 16 bits, which these are not
const uint kUnitWords = kSumWords == 4 ? 8 : kSumWords;  // blocks have units of 32 inputs
#endif

#include "common/subgroup.glsl"
#include "common/reduce.glsl"
#include "common/quantise.glsl"

const uint kShares = 4, kWords = kShares * gl_WorkGroupSize.x;  // words of a load of all
shared vec4 parts[kWords / 16];  // sums of squares of each subgroup's shares; smaller subgroups are not used
shared float largest_of_parts[kMostSubgroups];

// As workgroup_add_max() of kWords invocations.
vec2 add_max(float squares[kShares], float largest) {
  precise float own[kShares] = squares;
  UNROLL for (uint step_ = 1; step_ < SUBGROUP_SIZE; step_ *= 2) {
    UNROLL for (uint s = 0; s < kShares; ++s) own[s] += shuffle_xor(own[s], step_);
    largest = max(largest, shuffle_xor(largest, step_));
  }
  UNROLL for (uint s = 0; s < kShares; ++s) {
    uint part = s * N_SUBGROUPS + SUBGROUP;
    if (LANE == 0) parts[part / 4][part % 4] = own[s];
  }
  if (LANE == 0) largest_of_parts[SUBGROUP] = largest;
  barrier();
  precise vec4 sum = parts[0];
  float all = largest_of_parts[0];
  UNROLL for (uint i = 1; i < kShares * N_SUBGROUPS / 4; ++i) sum += parts[i];
  UNROLL for (uint i = 1; i < N_SUBGROUPS; ++i) all = max(all, largest_of_parts[i]);
  return vec2(sum_of_fours(sum), all);
}

void main() {
  uint words = push.n_in / 4;
  uint row = (push.first_row + gl_WorkGroupID.x) * words, to = gl_WorkGroupID.x * words;
  precise vec4 y[kLoads][kShares];
  float squares[kShares], largest = 0.0;
  UNROLL for (uint l = 0; l < kLoads; ++l)
    UNROLL for (uint s = 0; s < kShares; ++s)
      y[l][s] = x[row + min(l * kWords + s * gl_WorkGroupSize.x + INVOCATION, words - 1)];
  UNROLL for (uint s = 0; s < kShares; ++s) squares[s] = 0.0;
  UNROLL for (uint l = 0; l < kLoads; ++l)
    UNROLL for (uint s = 0; s < kShares; ++s) {
      uint i = l * kWords + s * gl_WorkGroupSize.x + INVOCATION;
      if (i >= words) y[l][s] = vec4(0.0);
      if (kNorm != NORM_NEVER) squares[s] = add_squares(y[l][s], squares[s]);
      if (kNorm == NORM_ALWAYS) y[l][s] *= weight[min(i, words - 1)];
      largest = largest_of(y[l][s], largest);
    }
  RowScale scale = row_scale(add_max(squares, largest), kNorm != NORM_NEVER);

  int sum = 0;
  UNROLL for (uint l = 0; l < kLoads; ++l)
    UNROLL for (uint s = 0; s < kShares; ++s) {
      uint i = l * kWords + s * gl_WorkGroupSize.x + INVOCATION;
      float factor = scale.factor;
#ifdef GROUPS
      float of_unit = largest_of(y[l][s], 0.0);
      if (kInputUnits != 0) {
        UNROLL for (uint step_ = 1; step_ < kUnitWords; step_ *= 2)
          of_unit = max(of_unit, shuffle_xor(of_unit, step_));
        factor = factor_of_unit(of_unit);
      }
#endif
      ivec4 four = quantised(y[l][s], factor);
      int own = sum_of(four);
#ifdef GROUPS
      UNROLL for (uint step_ = 1; step_ < kSumWords; step_ *= 2) own += shuffle_xor(own, step_);
#endif
      if (i >= words) continue;
      q[to + i] = packed(four);
#ifdef GROUPS
      if (kInputUnits != 0 && i % kUnitWords == 0) shares[(to + i) / kUnitWords] = share_of_unit(of_unit, scale);
      if (i % kSumWords == 0) sums[(to + i) / kSumWords] = own;
#else
      sum += own;
#endif
    }
#ifndef GROUPS
  sum = workgroup_add(sum);
#endif
  if (gl_LocalInvocationID.x == 0) q_info[gl_WorkGroupID.x] = uvec2(floatBitsToUint(scale.s), uint(sum));
}
