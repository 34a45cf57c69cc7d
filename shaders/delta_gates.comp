// The gates of a Gated DeltaNet where their matrices are floats: y = W (rms_norm(x) * weight). A workgroup
// takes kTokens tokens, so that W is read once for them.
#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_GOOGLE_include_directive : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_arithmetic : require
#include "params.h"

layout(local_size_x_id = CONSTANT_WORKGROUP_SIZE) in;
layout(constant_id = CONSTANT_NORM_LOADS) const uint kNormLoads = 3;

layout(push_constant) uniform Push { GatesPush push; };
layout(binding = 0) readonly buffer W { uvec4 w[]; };  // [n_rows][n_in] of F32
layout(binding = 1) readonly buffer W2 { uvec2 w2[]; };  // or of a type of 16 bits
layout(binding = 2) readonly buffer X { vec4 x[]; };     // [n_tokens][n_in / 4]
layout(binding = 3) readonly buffer Weight { vec4 weight[]; };
layout(binding = 4) writeonly buffer Y { float y[]; };  // [n_tokens][stride]

#include "common/subgroup.glsl"
#include "common/reduce.glsl"
#include "common/quantise.glsl"
#include "common/delta_gates.glsl"

const uint kTokens = 4;

shared float parts[2][kTokens][kMostSubgroups];  // of one row, and of the next

void main() {
  uint invocation = SUBGROUP * SUBGROUP_SIZE + LANE, words = push.n_in / 4;
  uint first = gl_WorkGroupID.x * kTokens, n = min(kTokens, push.n_tokens - first);
  vec4 own[kTokens][kNormLoads];
  float inverse[kTokens];
  UNROLL for (uint t = 0; t < kTokens; ++t) {
    float squares = 0.0;
    UNROLL for (uint i = 0; i < kNormLoads; ++i) {
      uint at = invocation + i * gl_WorkGroupSize.x;
      own[t][i] = vec4(0.0);
      if (at >= words) continue;
      vec4 v = x[(first + min(t, n - 1)) * words + at];
      squares = add_squares(v, squares);
      precise vec4 product = v * weight[at];
      own[t][i] = product;
    }
    inverse[t] = inverse_of_row(squares);
    barrier();  // everyone has read the sums of subgroups
  }
  for (uint row = 0; row < push.n_rows; ++row) {
    vec4 of_row[kNormLoads];
    UNROLL for (uint i = 0; i < kNormLoads; ++i) {
      uint at = row * words + min(invocation + i * gl_WorkGroupSize.x, words - 1);
      of_row[i] = four_floats(push.type, push.type == TABLE_F32 ? w[at] : uvec4(w2[at], 0, 0));
    }
    UNROLL for (uint t = 0; t < kTokens; ++t) {
      float sum = 0.0;
      UNROLL for (uint i = 0; i < kNormLoads; ++i)
        if (invocation + i * gl_WorkGroupSize.x < words) sum = add_four(of_row[i], own[t][i], inverse[t], sum);
      sum = subgroup_add(sum);
      if (LANE == 0) parts[row % 2][t][SUBGROUP] = sum;
    }
    barrier();
    if (gl_LocalInvocationID.x >= n) continue;
    precise float total = 0.0;
    for (uint i = 0; i < N_SUBGROUPS; ++i) total += parts[row % 2][gl_LocalInvocationID.x][i];
    precise float result = total * push.scale;
    y[(first + gl_LocalInvocationID.x) * push.stride + push.first_row + row] = result;
  }
}
