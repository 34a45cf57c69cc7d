// Prefill on a device that multiplies int8 matrices. It works as ternary_matmul does, but a subgroup
// multiplies tiles of kM rows x kK features with tiles of kK features x kN tokens (cooperative matrices,
// VK_KHR_cooperative_matrix). A workgroup computes kRowTiles x kSubgroupRows tiles of rows by kTokenTiles x
// kSubgroupTokens tiles of tokens. In each step it unpacks one 128-block of each row into int8 in shared
// memory, beside the tokens' int8, while those of the next step are on their way. It is compiled as
// ternary_matmul is (plain, ADD, GATE_UP); with GATE_UP the first half of a subgroup's tiles is gate, the
// second the same rows of up. It is written for GL_NV_cooperative_matrix, which glslang 12 knows;
// khr_matrices.cpp turns that into KHR's extension.
#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_shader_explicit_arithmetic_types_int8 : require
#extension GL_GOOGLE_include_directive : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_NV_cooperative_matrix : require
#extension GL_NV_integer_cooperative_matrix : require
#include "params.h"

layout(local_size_x_id = CONSTANT_WORKGROUP_SIZE) in;
layout(constant_id = CONSTANT_MATRIX_M) const uint kM = 16;
layout(constant_id = CONSTANT_MATRIX_N) const uint kN = 16;
layout(constant_id = CONSTANT_MATRIX_K) const uint kK = 32;
layout(constant_id = CONSTANT_ROW_TILES) const uint kRowTiles = 2;
layout(constant_id = CONSTANT_TOKEN_TILES) const uint kTokenTiles = 2;
layout(constant_id = CONSTANT_SUBGROUP_ROWS) const uint kSubgroupRows = 4;
layout(constant_id = CONSTANT_SUBGROUP_TOKENS) const uint kSubgroupTokens = 2;

layout(push_constant) uniform Push { TernaryPush push; };
layout(binding = 0) readonly buffer W { uvec4 w[]; };          // [rows][n_in / 64]
layout(binding = 1) readonly buffer Q { uvec4 q[]; };          // [n_tokens][n_in / 16]
layout(binding = 2) readonly buffer QInfo { uvec2 q_info[]; };  // [n_tokens]: bits of s, sum(q)
layout(binding = 3) buffer Y { float y[]; };                   // [n_tokens][n_out]

#include "common/ternary.glsl"
#ifdef GATE_UP
#include "common/activation.glsl"
#endif

#define MatrixA icoopmatNV<8, gl_ScopeSubgroup, kM, kK>
#define MatrixB icoopmatNV<8, gl_ScopeSubgroup, kK, kN>
#define MatrixC icoopmatNV<32, gl_ScopeSubgroup, kM, kN>

const uint kSubgroupTileRows = kM * kRowTiles, kSubgroupTileTokens = kN * kTokenTiles;
const uint kTileRows = kSubgroupTileRows * kSubgroupRows, kTileTokens = kSubgroupTileTokens * kSubgroupTokens;
#ifdef GATE_UP
const uint kSubgroupOutRows = kSubgroupTileRows / 2;
#else
const uint kSubgroupOutRows = kSubgroupTileRows;
#endif
const uint kOutRows = kSubgroupOutRows * kSubgroupRows;

// Shared memory in uvec4: rows of a step, then its tokens, each of 128 int8 and a gap that keeps eight rows
// out of each other's banks. The order of features in a row: half of the block, shift, byte.
const uint kUnits = 8, kStride = kUnits + 1;
const uint kTokensAt = kTileRows * kStride, kStep = (kTileRows + kTileTokens) * kStride;
// In the end a subgroup's sums of one column of tiles: [kN tokens][kSubgroupTileRows].
const uint kSums = kN * kSubgroupTileRows / 4;
const uint kAllSums = kSums * kSubgroupRows * kSubgroupTokens;
shared uvec4 tile[kStep > kAllSums ? kStep : kAllSums];

const uint kFetchW = (kTileRows * 2 + gl_WorkGroupSize.x - 1) / gl_WorkGroupSize.x;
const uint kFetchQ = (kTileTokens * kUnits + gl_WorkGroupSize.x - 1) / gl_WorkGroupSize.x;
uvec4 next_w[kFetchW], next_q[kFetchQ];

uint lane;

// The row of the stacked matrix that is row `r` of the tile.
uint matrix_row(uint r) {
#ifdef GATE_UP
  uint in_group = r % kSubgroupTileRows;
  uint row = gl_WorkGroupID.x * kOutRows + r / kSubgroupTileRows * kSubgroupOutRows +
             in_group % kSubgroupOutRows;
  return in_group < kSubgroupOutRows ? row : push.n_out + row;
#else
  return gl_WorkGroupID.x * kOutRows + r;
#endif
}

// Rows and tokens past the end repeat the last one; their sums are never written.
void fetch(uint block) {
#ifdef GATE_UP
  uint last_row = 2 * push.n_out - 1;
#else
  uint last_row = push.n_out - 1;
#endif
  UNROLL for (uint i = 0; i < kFetchW; ++i) {
    uint at = lane + i * gl_WorkGroupSize.x, row = min(matrix_row(at / 2), last_row);
    if (at < kTileRows * 2) next_w[i] = w[row * (push.n_in / 64) + block * 2 + at % 2];
  }
  UNROLL for (uint i = 0; i < kFetchQ; ++i) {
    uint at = lane + i * gl_WorkGroupSize.x;
    uint t = min(gl_WorkGroupID.y * kTileTokens + at / kUnits, push.n_tokens - 1);
    if (at < kTileTokens * kUnits) next_q[i] = q[t * (push.n_in / 16) + block * kUnits + at % kUnits];
  }
}

void store() {
  UNROLL for (uint i = 0; i < kFetchW; ++i) {
    uint at = lane + i * gl_WorkGroupSize.x, to = at / 2 * kStride + at % 2 * 4;
    if (at >= kTileRows * 2) break;
    UNROLL for (uint s = 0; s < 4; ++s) tile[to + s] = next_w[i] >> (6 - 2 * s) & 0x03030303u;
  }
  UNROLL for (uint i = 0; i < kFetchQ; ++i) {
    uint at = lane + i * gl_WorkGroupSize.x, unit = at % kUnits;
    if (at >= kTileTokens * kUnits) break;
    tile[kTokensAt + at / kUnits * kStride + unit % 2 * 4 + unit / 2] = next_q[i];  // of half unit % 2
  }
}

void main() {
  lane = gl_LocalInvocationIndex;
  uint subgroup_row = gl_SubgroupID % kSubgroupRows, subgroup_token = gl_SubgroupID / kSubgroupRows;

  MatrixC acc[kRowTiles][kTokenTiles];
  UNROLL for (uint i = 0; i < kRowTiles; ++i)
    UNROLL for (uint j = 0; j < kTokenTiles; ++j) acc[i][j] = MatrixC(0);

  fetch(0);
  uint blocks = push.n_in / 128;
  for (uint block = 0; block < blocks; ++block) {
    barrier();
    store();
    barrier();
    if (block + 1 < blocks) fetch(block + 1);
    UNROLL for (uint k = 0; k < kUnits; k += kK / 16) {
      MatrixA a[kRowTiles];
      UNROLL for (uint i = 0; i < kRowTiles; ++i)
        coopMatLoadNV(a[i], tile, (subgroup_row * kSubgroupTileRows + i * kM) * kStride + k, kStride, false);
      UNROLL for (uint j = 0; j < kTokenTiles; ++j) {
        MatrixB b;
        coopMatLoadNV(b, tile, kTokensAt + (subgroup_token * kSubgroupTileTokens + j * kN) * kStride + k,
                      kStride, true);
        UNROLL for (uint i = 0; i < kRowTiles; ++i) acc[i][j] = coopMatMulAddNV(a[i], b, acc[i][j]);
      }
    }
  }

  barrier();
  uint sums = gl_SubgroupID * kSums;
  uint first_row = gl_WorkGroupID.x * kOutRows + subgroup_row * kSubgroupOutRows;
  uint first_token = gl_WorkGroupID.y * kTileTokens + subgroup_token * kSubgroupTileTokens;
  UNROLL for (uint j = 0; j < kTokenTiles; ++j) {
    UNROLL for (uint i = 0; i < kRowTiles; ++i)
      coopMatStoreNV(acc[i][j], tile, sums + i * kM / 4, kSubgroupTileRows / 4, true);
    subgroupBarrier();
    for (uint e = gl_SubgroupInvocationID; e < kN * kSubgroupOutRows; e += gl_SubgroupSize) {
      uint token = e / kSubgroupOutRows, row = e % kSubgroupOutRows;
      uint at = token * kSubgroupTileRows + row, t = first_token + j * kN + token;
      if (t >= push.n_tokens || first_row + row >= push.n_out) continue;
      float s = uintBitsToFloat(q_info[t].x);
      int q_sum = int(q_info[t].y);
      int sum = int(tile[sums + at / 4][at % 4]);
      uint to = t * push.n_out + first_row + row;
#ifdef GATE_UP
      uint at_up = at + kSubgroupOutRows;
      y[to] = gated(ternary_result(sum, q_sum, s, push.scale0),
                    ternary_result(int(tile[sums + at_up / 4][at_up % 4]), q_sum, s, push.scale1));
#else
      precise float result = ternary_result(sum, q_sum, s, scale_of_row(first_row + row));
#ifdef ADD
      result = y[to] + result;
#endif
      y[to] = result;
#endif
    }
    subgroupBarrier();
  }
}
