// As ternary_matmul_groups.comp, for a matrix of blocks (common/blocks.glsl). A step is one run of each row
// and token. CONSTANT_OUT says where the result goes (common/dense_out.glsl); with
// OUT_GATE the first half of an invocation's rows is gate, the second the same rows of up.
#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_GOOGLE_include_directive : require
#ifdef INTEGER_DOT
#extension GL_EXT_spirv_intrinsics : require
#endif
#ifdef EXPERTS
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_buffer_reference_uvec2 : require
#endif
#include "params.h"

layout(local_size_x = 64) in;
layout(constant_id = CONSTANT_OUT) const uint kOut = OUT_STORE;

layout(push_constant) uniform Push { DensePush push; };
#ifndef EXPERTS
layout(binding = 0) readonly buffer W { uvec4 w[]; };           // [rows], as pack_blocks.h has them
layout(binding = 4) readonly buffer Scales { uint scales[]; };  // [rows], as pack_blocks.h has them
#endif
layout(binding = 1) readonly buffer Q { uvec4 q[]; };           // [n_tokens][n_in / 16]
layout(binding = 2) readonly buffer QInfo { uvec2 q_info[]; };   // [n_tokens]: bits of s, sum(q)
layout(binding = 3) buffer Y { float y[]; };                    // [n_tokens][stride]
layout(binding = 5) readonly buffer WUp { uvec4 w_up[]; };      // with OUT_GATE the second tensor
layout(binding = 6) readonly buffer ScalesUp { uint scales_up[]; };
layout(binding = 7) readonly buffer Sums { int sums[]; };       // [n_tokens][n_in / 16], sums of 16 inputs
layout(binding = 8) readonly buffer Bias { float bias[]; };
layout(binding = 9) readonly buffer Shares { float shares[]; };  // [n_tokens][n_in / 32]

#include "common/dot.glsl"
#include "common/half.glsl"
#include "common/blocks.glsl"
#include "common/activation.glsl"
#include "common/dense_out.glsl"
#include "common/experts.glsl"

RUN_CODES(codes_of, uint row, w)
RUN_CODES(codes_of_up, uint row, w_up)
RUN_SCALES(scales_at, uint row, scales)
RUN_SCALES(scales_at_up, uint row, scales_up)

const uint kRows = 8, kTokens = 4;            // of an invocation
const uint kTileRows = 64, kTileTokens = 32;  // of a workgroup: 8 x 8 invocations
const uint kOutRows = kOut == OUT_GATE ? kTileRows / 2 : kTileRows;
const uint kQuads = 2;                          // uvec4 of a token's run
const uint kFetch = kTileTokens * kQuads / 64;  // of which an invocation brings as many

shared uvec4 tile_w[kTileRows][2];
shared vec3 tile_scales[kTileRows];
shared uvec4 tile_q[kTileTokens][kQuads];
shared float tile_shares[kTileTokens];
shared int tile_sums[kTileTokens];

// What an invocation brings, on its way into registers.
RunCodes next_codes;
uvec4 next_q[kFetch];
uvec2 next_scale;
float next_share;
int next_sum;

// The row of its tensor, gate or up, that this invocation brings.
uint tensor_row() {
  return min(gl_WorkGroupID.x * kOutRows + gl_LocalInvocationID.x % kOutRows, push.n_out - 1);
}

// Rows and tokens past the end repeat the last one; their sums are never written.
void fetch(uint run) {
  uint lane = gl_LocalInvocationID.x, runs = push.n_in / 32;
  uint row = tensor_row();
  uint first_token = FIRST_TOKEN(kTileTokens), last_token = END_TOKEN - 1;
  if (lane < kOutRows) {
    next_codes = codes_of(row, run, runs);
    next_scale = scales_at(row, run, runs);
  } else {
    next_codes = codes_of_up(row, run, runs);
    next_scale = scales_at_up(row, run, runs);
  }
  uint own = min(first_token + lane, last_token) * runs + run;
  next_share = shares[own];
  if (kMinimum != 0) next_sum = sums[own * 2] + sums[own * 2 + 1];
  UNROLL for (uint i = 0; i < kFetch; ++i) {
    uint quad = lane + 64 * i, t = min(first_token + quad / kQuads, last_token);
    next_q[i] = q[(t * runs + run) * kQuads + quad % kQuads];
  }
}

void store(uint run) {
  uint lane = gl_LocalInvocationID.x;
  uvec4 first, second;
  unpack(next_codes, first, second);
  tile_w[lane][0] = first;
  tile_w[lane][1] = second;
  float fixed_ = lane < kOutRows ? push.fixed0 : push.fixed1;
  tile_scales[lane] = scales_of(next_scale, tensor_row(), run, push.n_in / 32, fixed_);
  if (lane < kTileTokens) {
    tile_shares[lane] = next_share;
    if (kMinimum != 0) tile_sums[lane] = next_sum;
  }
  UNROLL for (uint i = 0; i < kFetch; ++i) {
    uint quad = lane + 64 * i;
    tile_q[quad / kQuads][quad % kQuads] = next_q[i];
  }
}

void main() {
  BEGIN_TILE
  uint tile_row = gl_LocalInvocationID.x % 8;  // an invocation's rows are tile_row + 8 i
  uint tile_token = gl_LocalInvocationID.x / 8, first_token = FIRST_TOKEN(kTileTokens);

  int acc[kRows][kTokens];
  UNROLL for (uint i = 0; i < kRows; ++i)
    UNROLL for (uint j = 0; j < kTokens; ++j) acc[i][j] = 0;

  fetch(0);
  uint runs = push.n_in / 32;
  for (uint run = 0; run < runs; ++run) {
    barrier();
    store(run);
    barrier();
    if (run + 1 < runs) fetch(run + 1);
    uvec4 q[kTokens][kQuads];
    float share[kTokens];
    int q_sums[kTokens];
    UNROLL for (uint j = 0; j < kTokens; ++j) {
      UNROLL for (uint i = 0; i < kQuads; ++i) q[j][i] = tile_q[tile_token + 8 * j][i];
      share[j] = tile_shares[tile_token + 8 * j];
      q_sums[j] = kMinimum != 0 ? tile_sums[tile_token + 8 * j] : 0;
    }
    UNROLL for (uint i = 0; i < kRows; ++i) {
      uint row = tile_row + 8 * i;
      uvec4 first = tile_w[row][0], second = tile_w[row][1];
      vec3 scale = tile_scales[row];
      UNROLL for (uint j = 0; j < kTokens; ++j)
        acc[i][j] += run_share(first, second, q[j], scale, share[j], q_sums[j]);
    }
  }

  UNROLL for (uint j = 0; j < kTokens; ++j) {
    uint t = first_token + tile_token + 8 * j;
    if (t >= END_TOKEN) break;
    float s = uintBitsToFloat(q_info[t].x);
    UNROLL for (uint i = 0; i < kOutRows / 8; ++i) {
      uint row = gl_WorkGroupID.x * kOutRows + tile_row + 8 * i;
      if (row >= push.n_out) break;
      put(t, row, blocks_result(acc[i][j], s, push.scale0),
          blocks_result(acc[(kTileRows - kOutRows) / 8 + i][j], s, push.scale1));
    }
  }
}
