// The gates of a Gated DeltaNet where their matrices are floats: y = W (rms_norm(x) * weight). A workgroup
// takes kTokens tokens, so that W is read once for them, and kRowsEach rows, some of them at a time, so that
// it waits once for all these.
#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_GOOGLE_include_directive : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_arithmetic : require
#extension GL_KHR_shader_subgroup_shuffle : require
#include "params.h"

layout(local_size_x_id = CONSTANT_WORKGROUP_SIZE) in;
layout(constant_id = CONSTANT_NORM_LOADS) const uint kNormLoads = 3;
layout(constant_id = CONSTANT_TABLE_TYPE) const uint kType = TABLE_F32;  // of W: or TABLE_F16 or TABLE_BF16

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

const uint kTokens = 4, kRowsEach = 12;
const uint kRows = 4;  // at a time

shared float parts[kRows][kTokens][kMostSubgroups];

// As workgroup_add() sums up.
float sum_of_parts(uint row, uint token) {
  precise float sum = 0.0;
  for (uint i = 0; i < N_SUBGROUPS; ++i) sum += parts[row][token][i];
  return sum;
}

void main() {
  uint invocation = INVOCATION, words = push.n_in / 4;
  uint first = gl_WorkGroupID.x * kTokens, n = min(kTokens, push.n_tokens - first);
  vec4 own[kTokens][kNormLoads];
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
    squares = subgroup_add(squares);
    if (LANE == 0) parts[0][t][SUBGROUP] = squares;
  }
  barrier();
  UNROLL for (uint t = 0; t < kTokens; ++t) {
    float inverse = inverse_of_sum(sum_of_parts(0, t));
    UNROLL for (uint i = 0; i < kNormLoads; ++i) own[t][i] = normed(own[t][i], inverse);
  }
  barrier();
  uint end = min((gl_WorkGroupID.y + 1) * kRowsEach, push.n_rows);
  for (uint row = gl_WorkGroupID.y * kRowsEach; row < end; row += kRows) {
    vec4 of_row[kRows][kNormLoads];
    UNROLL for (uint r = 0; r < kRows; ++r)
      UNROLL for (uint i = 0; i < kNormLoads; ++i) {
        uint at = min(row + r, end - 1) * words + min(invocation + i * gl_WorkGroupSize.x, words - 1);
        of_row[r][i] = four_floats(kType, kType == TABLE_F32 ? w[at] : uvec4(w2[at], 0, 0));
      }
    UNROLL for (uint r = 0; r < kRows; ++r)
      UNROLL for (uint t = 0; t < kTokens; ++t) {
        float sum = 0.0;
        UNROLL for (uint i = 0; i < kNormLoads; ++i)
          if (invocation + i * gl_WorkGroupSize.x < words) sum = add_four(of_row[r][i], own[t][i], sum);
        sum = subgroup_add(sum);
        if (LANE == 0) parts[r][t][SUBGROUP] = sum;
      }
    barrier();
    uint own_row = gl_LocalInvocationID.x / kTokens, own_token = gl_LocalInvocationID.x % kTokens;
    if (own_row < kRows && row + own_row < end && own_token < n) {
      precise float result = sum_of_parts(own_row, own_token) * push.scale;
      y[(first + own_token) * push.stride + push.first_row + row + own_row] = result;
    }
    barrier();  // the sums are read
  }
}
