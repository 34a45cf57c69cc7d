// Prefill on a device that multiplies int8 matrices. It works as ternary_matmul does, but a subgroup
// multiplies tiles of kM rows x kK features with tiles of kK features x kN tokens (cooperative matrices,
// VK_KHR_cooperative_matrix). A workgroup computes kRowTiles x kSubgroupRows tiles of rows by kTokenTiles x
// kSubgroupTokens tiles of tokens. In each step it unpacks one 128-block of each row into int8 in shared
// memory, beside the tokens' int8, while those of the next step are on their way. It is compiled as
// ternary_matmul is (plain, ADD, GATE_UP); with GATE_UP the first half of a subgroup's tiles is gate, the
// second the same rows of up. It is written for GL_NV_cooperative_matrix, which glslang 12 knows;
// khr_matrices.cpp turns that into KHR's extension. Where there are few sums, kParts subgroups make those of
// a tile together: a step has a block for each of them, and in the end their sums are added.
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
layout(constant_id = CONSTANT_PARTS) const uint kParts = 1;
layout(constant_id = CONSTANT_SUBGROUP_SIZE) const uint kSubgroupSize = 32;

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

// Shared memory in uvec4: rows of a step, then its tokens, each of 128 int8 a part and a gap that keeps eight
// rows out of each other's banks. The order of features in a block: half of it, shift, byte.
const uint kOwnUnits = 8, kUnits = kOwnUnits * kParts, kStride = kUnits + 1;
const uint kTokensAt = kTileRows * kStride, kStep = (kTileRows + kTileTokens) * kStride;
// In the end a subgroup's sums of one column of tiles: [kN tokens][kSubgroupTileRows].
const uint kSubgroups = kSubgroupRows * kSubgroupTokens;  // of each part
const uint kSums = kN * kSubgroupTileRows / 4, kPartSums = kSums * kSubgroups, kAllSums = kPartSums * kParts;
// Results of such a column, how many of them an invocation has, and for how many of these it loads y at once.
const uint kResults = kN * kSubgroupOutRows, kSharing = kSubgroupSize * kParts;
const uint kOwnResults = (kResults + kSharing - 1) / kSharing;
#ifdef ADD
const uint kAhead = kOwnResults;
#else
const uint kAhead = 1;
#endif
shared uvec4 tile[kStep > kAllSums ? kStep : kAllSums];

#include "common/parts.glsl"

const uint kHalves = 2 * kParts;  // of blocks, of a row in a step
const uint kFetchW = (kTileRows * kHalves + gl_WorkGroupSize.x - 1) / gl_WorkGroupSize.x;
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

// Rows and tokens past the end repeat the last one; their sums are never written. Blocks past the end repeat
// the last one too, and store() gives them tokens of 0. Invocations that have nothing to bring bring what the
// last one does: what is loaded on a condition meets what was there before, and is waited for at once.
void fetch(uint step_) {
#ifdef GATE_UP
  uint last_row = 2 * push.n_out - 1;
#else
  uint last_row = push.n_out - 1;
#endif
  uint halves = push.n_in / 64, units = push.n_in / 16;
  UNROLL for (uint i = 0; i < kFetchW; ++i) {
    uint at = min(lane + i * gl_WorkGroupSize.x, kTileRows * kHalves - 1);
    uint row = min(matrix_row(at / kHalves), last_row);
    next_w[i] = w[row * halves + min(step_ * kHalves + at % kHalves, halves - 1)];
  }
  UNROLL for (uint i = 0; i < kFetchQ; ++i) {
    uint at = min(lane + i * gl_WorkGroupSize.x, kTileTokens * kUnits - 1);
    uint t = min(gl_WorkGroupID.y * kTileTokens + at / kUnits, push.n_tokens - 1);
    next_q[i] = q[t * units + min(step_ * kUnits + at % kUnits, units - 1)];
  }
}

void store(uint step_) {
  UNROLL for (uint i = 0; i < kFetchW; ++i) {
    uint at = lane + i * gl_WorkGroupSize.x, to = at / kHalves * kStride + at % kHalves * 4;
    if (at >= kTileRows * kHalves) break;
    UNROLL for (uint s = 0; s < 4; ++s) tile[to + s] = next_w[i] >> (6 - 2 * s) & 0x03030303u;
  }
  UNROLL for (uint i = 0; i < kFetchQ; ++i) {
    uint at = lane + i * gl_WorkGroupSize.x, unit = at % kUnits, block = unit / 8 * 8;
    if (at >= kTileTokens * kUnits) break;
    bool is_past_end = kParts > 1 && step_ * kUnits + unit >= push.n_in / 16;
    tile[kTokensAt + at / kUnits * kStride + block + unit % 2 * 4 + unit % 8 / 2] =  // of half unit % 2
        is_past_end ? uvec4(0) : next_q[i];
  }
}

// Number `i` of an invocation's results of a column of tiles.
uint result_of(uint i, uint part) { return gl_SubgroupInvocationID + (part + i * kParts) * kSubgroupSize; }

void main() {
  lane = gl_LocalInvocationIndex;
  uint part = kParts > 1 ? gl_SubgroupID / kSubgroups : 0, subgroup = gl_SubgroupID - part * kSubgroups;
  uint subgroup_row = subgroup % kSubgroupRows, subgroup_token = subgroup / kSubgroupRows;

  MatrixC acc[kRowTiles][kTokenTiles];
  UNROLL for (uint i = 0; i < kRowTiles; ++i)
    UNROLL for (uint j = 0; j < kTokenTiles; ++j) acc[i][j] = MatrixC(0);

  fetch(0);
  uint n_steps = (push.n_in / 128 + kParts - 1) / kParts;
  for (uint step_ = 0; step_ < n_steps; ++step_) {
    barrier();
    store(step_);
    barrier();
    fetch(min(step_ + 1, n_steps - 1));
    UNROLL for (uint unit = 0; unit < kOwnUnits; unit += kK / 16) {
      uint k = part * kOwnUnits + unit;
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
  uint sums = subgroup * kSums;
  uint first_row = gl_WorkGroupID.x * kOutRows + subgroup_row * kSubgroupOutRows;
  uint first_token = gl_WorkGroupID.y * kTileTokens + subgroup_token * kSubgroupTileTokens;
  UNROLL for (uint j = 0; j < kTokenTiles; ++j) {
    UNROLL for (uint i = 0; i < kRowTiles; ++i)
      coopMatStoreNV(acc[i][j], tile, part * kPartSums + sums + i * kM / 4, kSubgroupTileRows / 4, true);
    barrier_of_parts();
    for (uint first = 0; first < kOwnResults; first += kAhead) {
#ifdef ADD
      float before[kAhead];
      UNROLL for (uint i = 0; i < kAhead; ++i) {
        uint e = result_of(first + i, part);
        uint t = min(first_token + j * kN + e / kSubgroupOutRows, push.n_tokens - 1);
        before[i] = y[t * push.n_out + min(first_row + e % kSubgroupOutRows, push.n_out - 1)];
      }
#endif
      UNROLL for (uint i = 0; i < kAhead; ++i) {
        uint e = result_of(first + i, part), token = e / kSubgroupOutRows, row = e % kSubgroupOutRows;
        uint at = token * kSubgroupTileRows + row, t = first_token + j * kN + token;
        if (e >= kResults || t >= push.n_tokens || first_row + row >= push.n_out) continue;
        float s = uintBitsToFloat(q_info[t].x);
        int q_sum = int(q_info[t].y);
        int sum = sum_of_parts(sums, at);
        uint to = t * push.n_out + first_row + row;
#ifdef GATE_UP
        uint at_up = at + kSubgroupOutRows;
        y[to] = gated(ternary_result(sum, q_sum, s, push.scale0),
                      ternary_result(sum_of_parts(sums, at_up), q_sum, s, push.scale1));
#else
        precise float result = ternary_result(sum, q_sum, s, scale_of_row(first_row + row));
#ifdef ADD
        result = before[i] + result;
#endif
        y[to] = result;
#endif
      }
    }
    barrier_of_parts();
  }
}
