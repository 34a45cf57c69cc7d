// Prefill: a ternary matrix times a batch of int8 vectors, in tiles. A workgroup computes kTileRows output
// rows x kTileTokens tokens. In each step it brings one 128-block of each row and token into shared memory,
// while those of the next step are on their way; an invocation keeps kRows x kTokens sums in registers. It is
// compiled as ternary_matvec is (plain, ADD, GATE_UP); with GATE_UP the first half of an invocation's rows is
// gate, the second the same rows of up.
#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_GOOGLE_include_directive : require
#ifdef INTEGER_DOT
#extension GL_EXT_spirv_intrinsics : require
#endif
#include "params.h"

layout(local_size_x = 64) in;

layout(push_constant) uniform Push { TernaryPush push; };
layout(binding = 0) readonly buffer W { uvec4 w[]; };          // [rows][n_in / 64]
layout(binding = 1) readonly buffer Q { uvec4 q[]; };          // [n_tokens][n_in / 16]
layout(binding = 2) readonly buffer QInfo { uvec2 q_info[]; };  // [n_tokens]: bits of s, sum(q)
layout(binding = 3) buffer Y { float y[]; };                   // [n_tokens][n_out]

#include "common/ternary.glsl"
#ifdef GATE_UP
#include "common/activation.glsl"
#endif

const uint kRows = 8, kTokens = 4;           // of an invocation
const uint kTileRows = 64, kTileTokens = 32; // of a workgroup: 8 x 8 invocations
#ifdef GATE_UP
const uint kOutRows = kTileRows / 2;
#else
const uint kOutRows = kTileRows;
#endif

const uint kFetch = kTileTokens * 8 / 64;  // uvec4 of the tokens that an invocation brings

shared uvec4 tile_w[2][kTileRows];    // the block's two halves
shared uvec4 tile_q[kTileTokens][8];  // at 2s + half

// The row of the stacked matrix that is row `r` of the tile.
uint matrix_row(uint r) {
#ifdef GATE_UP
  uint row = gl_WorkGroupID.x * kOutRows + r % kOutRows;
  return r < kOutRows ? row : push.n_out + row;
#else
  return gl_WorkGroupID.x * kOutRows + r;
#endif
}

void main() {
  uint lane = gl_LocalInvocationID.x;
  uint tile_row = lane % 8, tile_token = lane / 8;  // an invocation's rows are tile_row + 8 i
  uint first_token = gl_WorkGroupID.y * kTileTokens;
  uint halves = push.n_in / 64, words = push.n_in / 16;
#ifdef GATE_UP
  uint last_row = 2 * push.n_out - 1;
#else
  uint last_row = push.n_out - 1;
#endif

  // Rows and tokens past the end repeat the last one; their sums are never written.
  uint row_at = min(matrix_row(lane), last_row) * halves;
  uint q_at[kFetch];
  UNROLL for (uint i = 0; i < kFetch; ++i)
    q_at[i] = min(first_token + (lane + 64 * i) / 8, push.n_tokens - 1) * words + lane % 8;

  int acc[kRows][kTokens];
  UNROLL for (uint i = 0; i < kRows; ++i)
    UNROLL for (uint j = 0; j < kTokens; ++j) acc[i][j] = 0;

  uvec4 next_w[2] = uvec4[2](w[row_at], w[row_at + 1]), next_q[kFetch];
  UNROLL for (uint i = 0; i < kFetch; ++i) next_q[i] = q[q_at[i]];
  uint blocks = push.n_in / 128;
  for (uint block = 0; block < blocks; ++block) {
    barrier();
    tile_w[0][lane] = next_w[0];
    tile_w[1][lane] = next_w[1];
    UNROLL for (uint i = 0; i < kFetch; ++i) tile_q[(lane + 64 * i) / 8][lane % 8] = next_q[i];
    barrier();
    if (block + 1 < blocks) {
      next_w[0] = w[row_at + 2 * block + 2];
      next_w[1] = w[row_at + 2 * block + 3];
      UNROLL for (uint i = 0; i < kFetch; ++i) next_q[i] = q[q_at[i] + 8 * block + 8];
    }
    UNROLL for (uint half_ = 0; half_ < 2; ++half_) {
      uvec4 bits[kRows];
      UNROLL for (uint i = 0; i < kRows; ++i) bits[i] = tile_w[half_][tile_row + 8 * i];
      UNROLL for (uint s = 0; s < 4; ++s) {
        uvec4 qs[kTokens];
        UNROLL for (uint j = 0; j < kTokens; ++j) qs[j] = tile_q[tile_token + 8 * j][2 * s + half_];
        UNROLL for (uint i = 0; i < kRows; ++i)
          UNROLL for (uint j = 0; j < kTokens; ++j)
            acc[i][j] = dot_codes(bits[i], 6 - 2 * s, qs[j], acc[i][j]);
      }
    }
  }

  for (uint j = 0; j < kTokens; ++j) {
    uint t = first_token + tile_token + 8 * j;
    if (t >= push.n_tokens) break;
    float s = uintBitsToFloat(q_info[t].x);
    int q_sum = int(q_info[t].y);
#ifdef GATE_UP
    for (uint i = 0; i < kRows / 2; ++i) {
      uint row = gl_WorkGroupID.x * kOutRows + tile_row + 8 * i;
      if (row >= push.n_out) break;
      y[t * push.n_out + row] = gated(ternary_result(acc[i][j], q_sum, s, push.scale0),
                                      ternary_result(acc[i + kRows / 2][j], q_sum, s, push.scale1));
    }
#else
    for (uint i = 0; i < kRows; ++i) {
      uint row = gl_WorkGroupID.x * kOutRows + tile_row + 8 * i;
      if (row >= push.n_out) break;
      uint at = t * push.n_out + row;
      precise float result = ternary_result(acc[i][j], q_sum, s, scale_of_row(row));
#ifdef ADD
      result = y[at] + result;
#endif
      y[at] = result;
    }
#endif
  }
}
