// Decode: a whole BitLinear in one dispatch, y = W int8(rms_norm(x) * weight), for one token. Every workgroup
// norms and quantises the vector for itself (it lies in the caches) while its share of the weights is on its way
// from memory: they are asked for first and used last. kLanes lanes share a row, so that a subgroup's loads are
// long runs of several rows. Compiled as ternary_matvec is (plain, ADD, GATE_UP), with the same bits as result.
#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_GOOGLE_include_directive : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_arithmetic : require
#extension GL_KHR_shader_subgroup_shuffle : require
#ifdef INTEGER_DOT
#extension GL_EXT_spirv_intrinsics : require
#endif
#include "params.h"

layout(local_size_x_id = 0) in;
layout(constant_id = 4) const uint kLanes = 8;       // of a subgroup, that share a row; a power of 2
layout(constant_id = 5) const uint kLoads = 5;       // uvec4 of a row that a lane takes
layout(constant_id = 6) const uint kNormLoads = 3;   // vec4 of the vector that an invocation norms

layout(push_constant) uniform Push { BitLinearPush push; };
layout(binding = 0) readonly buffer W { uvec4 w[]; };          // [rows][n_in / 64]
layout(binding = 1) readonly buffer X { vec4 x[]; };           // [n_in / 4]
layout(binding = 2) readonly buffer Weight { vec4 weight[]; };  // [n_in / 4]
layout(binding = 3) buffer Y { float y[]; };                   // [n_out]

#include "common/reduce.glsl"
#include "common/quantise.glsl"
#include "common/ternary.glsl"

#ifdef GATE_UP
const uint kParts = 2;  // the row of gate, and that of up
#else
const uint kParts = 1;
#endif

// int8, [s][half]: at s the activations that meet the codes at shift 6 - 2s of each half of a block. Neighbouring
// lanes take neighbouring halves, so no two of them want the same bank.
const uint kHalves = kLoads * kLanes;
shared uvec4 q[4][kHalves];

void main() {
  uint lane = gl_SubgroupInvocationID % kLanes, halves = push.n_in / 64, words = push.n_in / 4;
  uint row = (gl_WorkGroupID.x * gl_NumSubgroups + gl_SubgroupID) * (gl_SubgroupSize / kLanes) +
             gl_SubgroupInvocationID / kLanes;
  uvec4 bits[kParts][kLoads];
  UNROLL for (uint part = 0; part < kParts; ++part)
    UNROLL for (uint i = 0; i < kLoads; ++i) {
      uint h = lane + i * kLanes;  // past the end codes of 0, which add nothing
      bits[part][i] = h < halves ? w[(min(row, push.n_out - 1) + part * push.n_out) * halves + h] : uvec4(0);
    }

#ifdef ADD
  float residual = y[min(row, push.n_out - 1)];
#endif

  float squares = 0.0, largest = 0.0;
  vec4 normed[kNormLoads];
  UNROLL for (uint i = 0; i < kNormLoads; ++i) {
    uint at = gl_LocalInvocationID.x + i * gl_WorkGroupSize.x;
    if (at >= words) break;
    squares = add_squares(x[at], squares);
    precise vec4 product = x[at] * weight[at];
    normed[i] = product;
    largest = largest_of(product, largest);
  }
  RowScale scale = row_scale(squares, largest);
  int sum = 0;
  UNROLL for (uint i = 0; i < kNormLoads; ++i) {
    uint at = gl_LocalInvocationID.x + i * gl_WorkGroupSize.x;
    if (at >= words) break;
    uint quad = at / 4;  // of a block's eight: 2s + half
    q[quad % 8 / 2][quad / 8 * 2 + quad % 2][at % 4] = quantised(normed[i], scale.factor, sum);
  }
  sum = workgroup_add(sum);  // its barrier also shows everyone q

  ivec4 sums[kParts];  // one for each shift, still scaled by it
  UNROLL for (uint part = 0; part < kParts; ++part) sums[part] = ivec4(0);
  UNROLL for (uint i = 0; i < kLoads; ++i) {
    uint h = lane + i * kLanes;
    uvec4 q0 = q[0][h], q1 = q[1][h], q2 = q[2][h], q3 = q[3][h];
    UNROLL for (uint part = 0; part < kParts; ++part) {
      uvec4 codes = bits[part][i];
      sums[part].x = dot_codes_at(codes >> 6, 0, q0, sums[part].x);
      sums[part].y = dot_codes_at(codes, 4, q1, sums[part].y);
      sums[part].z = dot_codes_at(codes, 2, q2, sums[part].z);
      sums[part].w = dot_codes_at(codes, 0, q3, sums[part].w);
    }
  }
  int acc[kParts];
  UNROLL for (uint part = 0; part < kParts; ++part) {
    acc[part] = sums[part].x + (sums[part].y >> 4) + (sums[part].z >> 2) + sums[part].w;
    UNROLL for (uint step = kLanes / 2; step > 0; step /= 2) acc[part] += subgroupShuffleXor(acc[part], step);
  }
  if (lane != 0 || row >= push.n_out) return;
#ifdef GATE_UP
  float gate = max(ternary_result(acc[0], sum, scale.s, push.scale0), 0.0);
  y[row] = gate * gate * ternary_result(acc[1], sum, scale.s, push.scale1);
#else
  precise float result = ternary_result(acc[0], sum, scale.s, scale_of_row(row));
#ifdef ADD
  result = residual + result;
#endif
  y[row] = result;
#endif
}
