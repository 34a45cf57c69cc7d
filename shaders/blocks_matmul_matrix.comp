// As ternary_matmul_groups_matrix.comp, for a matrix of blocks (common/blocks.glsl). A step is two runs of
// each row and token for each of the kParts subgroups that make a tile together, whose sums are added in the
// end. The products of a unit are a sum of their own, which a subgroup scales and rounds where it is, in the
// elements of the matrices, before it adds it to that of the whole row. So each element needs the scale of
// its row and the share of its token's inputs: they are in the same element of matrices whose columns, or
// rows, are all the same, loaded with a stride of 0. Where a unit is shorter than a product of matrices,
// zeros take the place of the other unit's codes. CONSTANT_OUT says where the result goes
// (common/dense_out.glsl); with OUT_GATE the first half of a subgroup's tiles is gate, the second the same
// rows of up. With OUT_STORE up to three tensors with the same inputs are one dispatch, each a layer of
// workgroups of as many rows as the largest has.
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
layout(constant_id = CONSTANT_MATRIX_K) const uint kK = 32;  // 16 or 32
layout(constant_id = CONSTANT_ROW_TILES) const uint kRowTiles = 2;
layout(constant_id = CONSTANT_TOKEN_TILES) const uint kTokenTiles = 2;
layout(constant_id = CONSTANT_SUBGROUP_ROWS) const uint kSubgroupRows = 4;
layout(constant_id = CONSTANT_SUBGROUP_TOKENS) const uint kSubgroupTokens = 2;
layout(constant_id = CONSTANT_PARTS) const uint kParts = 1;
layout(constant_id = CONSTANT_OUT) const uint kOut = OUT_STORE;
layout(constant_id = CONSTANT_SUBGROUP_SIZE) const uint kSubgroupSize = 32;

layout(push_constant) uniform Push { DensePush first, second, third; } tensors;
layout(binding = 0) readonly buffer W { uvec4 w[]; };           // [rows], as pack_blocks.h has them
layout(binding = 1) readonly buffer Q { uvec4 q[]; };           // [n_tokens][n_in / 16]
layout(binding = 2) readonly buffer QInfo { uvec2 q_info[]; };   // [n_tokens]: bits of s, sum(q)
layout(binding = 3) buffer Y { float y[]; };                    // [n_tokens][stride]
layout(binding = 4) readonly buffer Scales { uint scales[]; };  // [rows], as pack_blocks.h has them
layout(binding = 5) readonly buffer WSecond { uvec4 w_second[]; };  // of the second tensor, with OUT_GATE up
layout(binding = 6) readonly buffer ScalesSecond { uint scales_second[]; };
layout(binding = 7) readonly buffer Sums { int sums[]; };       // [n_tokens][n_in / 16], sums of 16 inputs
layout(binding = 8) readonly buffer Bias { float bias[]; };
layout(binding = 9) readonly buffer Shares { float shares[]; };  // [n_tokens][n_in / 32]
layout(binding = 10) readonly buffer WThird { uvec4 w_third[]; };
layout(binding = 11) readonly buffer ScalesThird { uint scales_third[]; };

DensePush push;  // of this workgroup's tensor

#define MATRICES
#include "common/half.glsl"
#include "common/blocks.glsl"
#include "common/activation.glsl"
#include "common/dense_out.glsl"

RUN_CODES(codes_of, uint row, w)
RUN_CODES(codes_of_second, uint row, w_second)
RUN_CODES(codes_of_third, uint row, w_third)
RUN_SCALES(scales_at, uint row, scales)
RUN_SCALES(scales_at_second, uint row, scales_second)
RUN_SCALES(scales_at_third, uint row, scales_third)

#define MatrixA icoopmatNV<8, gl_ScopeSubgroup, kM, kK>
#define MatrixB icoopmatNV<8, gl_ScopeSubgroup, kK, kN>
#define MatrixC icoopmatNV<32, gl_ScopeSubgroup, kM, kN>

const uint kElements = kM * kN / kSubgroupSize;  // of a matrix of sums that an invocation has
const uint kSubgroupTileRows = kM * kRowTiles, kSubgroupTileTokens = kN * kTokenTiles;
const uint kTileRows = kSubgroupTileRows * kSubgroupRows, kTileTokens = kSubgroupTileTokens * kSubgroupTokens;
const uint kSubgroupOutRows = kOut == OUT_GATE ? kSubgroupTileRows / 2 : kSubgroupTileRows;
const uint kOutRows = kSubgroupOutRows * kSubgroupRows;

// Shared memory in uvec4: rows of a step, then the tokens, each of 64 int8 a part and a gap that keeps eight
// rows out of each other's banks. With zeros a row has 32 int8 for each unit of 16. Then as floats the scales
// of each unit, the tokens' shares of each run, the minima of each run, and the tokens' sums of each run.
const uint kRuns = 2 * kParts, kUnits = kRuns * 32 / kUnit;  // of a step
const bool kZeros = kUnit < kK;
const uint kProducts = kUnit < kK ? 1 : kUnit / kK;       // of matrices for a unit
const uint kUnitQuads = (kUnit < kK ? kK : kUnit) / 16;   // in a row
const uint kStrideW = kUnits * kUnitQuads + 1, kQuads = 2 * kRuns, kStride = kQuads + 1;
const uint kTokensAt = kTileRows * kStrideW, kScalesAt = kTokensAt + kTileTokens * kStride;
const uint kSharesAt = kScalesAt + kUnits * kTileRows / 4;
const uint kMinimaAt = kSharesAt + kRuns * kTileTokens / 4;
const uint kSumsAt = kMinimaAt + kMinimum * kRuns * kTileRows / 4;
const uint kStep = kSumsAt + kMinimum * kRuns * kTileTokens / 4;
// In the end a subgroup's sums of one column of tiles: [kN tokens][kSubgroupTileRows].
const uint kSums = kN * kSubgroupTileRows / 4;
const uint kSubgroups = kSubgroupRows * kSubgroupTokens;  // of each part
const uint kPartSums = kSums * kSubgroups, kAllSums = kPartSums * kParts;
// Results of such a column, and how many of them an invocation has.
const uint kResults = kN * kSubgroupOutRows, kSharing = kSubgroupSize * kParts;
const uint kOwnResults = (kResults + kSharing - 1) / kSharing;
shared uvec4 tile[kStep > kAllSums ? kStep : kAllSums];

#include "common/parts.glsl"

const uint kFetchW = (kTileRows * kRuns + gl_WorkGroupSize.x - 1) / gl_WorkGroupSize.x;
const uint kFetchQ = (kTileTokens * kQuads + gl_WorkGroupSize.x - 1) / gl_WorkGroupSize.x;
const uint kFetchRuns = (kTileTokens * kRuns + gl_WorkGroupSize.x - 1) / gl_WorkGroupSize.x;
RunCodes next_codes[kFetchW];
uvec2 next_scales[kFetchW];
uvec4 next_q[kFetchQ];
float next_shares[kFetchRuns];
ivec2 next_sums[kFetchRuns];

uint lane;

uint own_tensor() { return kOut == OUT_STORE ? gl_WorkGroupID.z : 0; }

// What stays the same from step to step of what an invocation brings: its rows of the tensor, and where its
// tokens begin in q and in shares.
uint next_rows[kFetchW], first_q[kFetchQ], first_share[kFetchRuns];

// The row of a tensor that is row `r` of the tile, of gate or up. Rows past the end repeat the last one.
uint tensor_row(uint r) {
  return min(gl_WorkGroupID.x * kOutRows + r / kSubgroupTileRows * kSubgroupOutRows +
             r % kSubgroupTileRows % kSubgroupOutRows, push.n_out - 1);
}
bool is_up(uint r) { return r % kSubgroupTileRows >= kSubgroupOutRows; }

// Rows and tokens past the end repeat the last one; their sums are never written. Invocations that have
// nothing to bring bring what the last one does: what is loaded on a condition meets what was there before,
// and is waited for at once.
uint fetched_row(uint i) { return min((lane + i * gl_WorkGroupSize.x) / kRuns, kTileRows - 1); }
void prepare_fetch() {
  uint runs = push.n_in / 32, first_token = gl_WorkGroupID.y * kTileTokens, last_token = push.n_tokens - 1;
  UNROLL for (uint i = 0; i < kFetchW; ++i) next_rows[i] = tensor_row(fetched_row(i));
  UNROLL for (uint i = 0; i < kFetchQ; ++i) {
    uint at = min(lane + i * gl_WorkGroupSize.x, kTileTokens * kQuads - 1);
    first_q[i] = min(first_token + at / kQuads, last_token) * runs * 2;
  }
  UNROLL for (uint i = 0; i < kFetchRuns; ++i) {
    uint at = min(lane + i * gl_WorkGroupSize.x, kTileTokens * kRuns - 1);
    first_share[i] = min(first_token + at / kRuns, last_token) * runs;
  }
}

// A run past the end repeats the last one, and store() gives it scales of 0.
void fetch(uint step_) {
  uint runs = push.n_in / 32, run = min(step_ * kRuns + lane % kRuns, runs - 1);
  UNROLL for (uint i = 0; i < kFetchW; ++i) {
    uint row = next_rows[i], tensor = kOut == OUT_GATE && is_up(fetched_row(i)) ? 1 : own_tensor();
    if (tensor == 0) {
      next_codes[i] = codes_of(row, run, runs);
      next_scales[i] = scales_at(row, run, runs);
    } else if (tensor == 1) {
      next_codes[i] = codes_of_second(row, run, runs);
      next_scales[i] = scales_at_second(row, run, runs);
    } else {
      next_codes[i] = codes_of_third(row, run, runs);
      next_scales[i] = scales_at_third(row, run, runs);
    }
  }
  UNROLL for (uint i = 0; i < kFetchQ; ++i)
    next_q[i] = q[first_q[i] + min(step_ * kQuads + lane % kQuads, runs * 2 - 1)];
  UNROLL for (uint i = 0; i < kFetchRuns; ++i) {
    next_shares[i] = shares[first_share[i] + run];
    if (kMinimum != 0) {
      uint sum = (first_share[i] + run) * 2;
      next_sums[i] = ivec2(sums[sum], sums[sum + 1]);
    }
  }
}

void store(uint step_) {
  uint runs = push.n_in / 32;
  UNROLL for (uint i = 0; i < kFetchW; ++i) {
    uint at = lane + i * gl_WorkGroupSize.x, row = at / kRuns, run = at % kRuns;
    if (at >= kTileRows * kRuns) break;
    float fixed_ = is_up(row) ? push.fixed1 : push.fixed0;
    if (step_ * kRuns + run >= runs) fixed_ = 0.0;
    vec3 scales = scales_of(next_scales[i], next_rows[i], step_ * kRuns + run, runs, fixed_);
    uvec4 first, second;
    unpack(next_codes[i], first, second);
    uint to = row * kStrideW + run * 32 / kUnit * kUnitQuads;
    tile[to] = first;
    tile[to + 1] = kZeros ? uvec4(0) : second;
    if (kZeros) {
      tile[to + 2] = uvec4(0);
      tile[to + 3] = second;
    }
    uint scale = run * 32 / kUnit * kTileRows + row;
    tile[kScalesAt + scale / 4][scale % 4] = floatBitsToUint(scales.x);
    if (kUnit == 16)
      tile[kScalesAt + (scale + kTileRows) / 4][scale % 4] = floatBitsToUint(scales.y);
    uint minimum = run * kTileRows + row;
    if (kMinimum != 0) tile[kMinimaAt + minimum / 4][minimum % 4] = floatBitsToUint(scales.z);
  }
  UNROLL for (uint i = 0; i < kFetchQ; ++i) {
    uint at = lane + i * gl_WorkGroupSize.x;
    if (at >= kTileTokens * kQuads) break;
    tile[kTokensAt + at / kQuads * kStride + at % kQuads] = next_q[i];
  }
  UNROLL for (uint i = 0; i < kFetchRuns; ++i) {
    uint at = lane + i * gl_WorkGroupSize.x, to = at % kRuns * kTileTokens + at / kRuns;
    if (at >= kTileTokens * kRuns) break;
    tile[kSharesAt + to / 4][to % 4] = floatBitsToUint(next_shares[i]);
    if (kMinimum != 0)
      tile[kSumsAt + to / 4][to % 4] = floatBitsToUint(float(next_sums[i].x + next_sums[i].y));
  }
}

// As rounded_share(), for a sum that is a float, and with kHalfway too much.
int rounded_sum(float sum, float scale, float share) {
  precise float of_unit = scale * share;
  precise float half_to_even = fma(sum, of_unit, kHalfwayFloat);
  return floatBitsToInt(half_to_even);
}

void main() {
  push = own_tensor() == 0 ? tensors.first : own_tensor() == 1 ? tensors.second : tensors.third;
  if (gl_WorkGroupID.x * kOutRows >= push.n_out) return;
  lane = gl_LocalInvocationIndex;
  uint part = kParts > 1 ? gl_SubgroupID / kSubgroups : 0, subgroup = gl_SubgroupID - part * kSubgroups;
  uint subgroup_row = subgroup % kSubgroupRows, subgroup_token = subgroup / kSubgroupRows;
  uint rows_at = subgroup_row * kSubgroupTileRows, tokens_at = subgroup_token * kSubgroupTileTokens;

  MatrixC acc[kRowTiles][kTokenTiles];
  UNROLL for (uint i = 0; i < kRowTiles; ++i)
    UNROLL for (uint j = 0; j < kTokenTiles; ++j) acc[i][j] = MatrixC(0);

  prepare_fetch();
  fetch(0);
  uint n_steps = (push.n_in / 32 + kRuns - 1) / kRuns;
  for (uint step_ = 0; step_ < n_steps; ++step_) {
    barrier();
    store(step_);
    barrier();
    fetch(min(step_ + 1, n_steps - 1));
    UNROLL for (uint own_unit = 0; own_unit < kUnits / kParts; ++own_unit) {
      uint unit = part * (kUnits / kParts) + own_unit;
      uint run = unit * kUnit / 32, quad = kZeros ? run * 2 : unit * kUnit / 16;  // of the tokens
      MatrixB b[kTokenTiles][kProducts];
      MatrixC share[kTokenTiles], q_sum[kTokenTiles];  // of each column's token
      UNROLL for (uint j = 0; j < kTokenTiles; ++j) {
        uint token = tokens_at + j * kN, at = kTokensAt + token * kStride + quad;
        UNROLL for (uint k = 0; k < kProducts; ++k)
          coopMatLoadNV(b[j][k], tile, at + k * kK / 16, kStride, true);
        coopMatLoadNV(share[j], tile, kSharesAt + (run * kTileTokens + token) / 4, 0, false);
        if (kMinimum != 0) coopMatLoadNV(q_sum[j], tile, kSumsAt + (run * kTileTokens + token) / 4, 0, false);
      }
      UNROLL for (uint i = 0; i < kRowTiles; ++i) {
        uint row = rows_at + i * kM;
        MatrixA a[kProducts];
        MatrixC scale, minimum;
        UNROLL for (uint k = 0; k < kProducts; ++k)
          coopMatLoadNV(a[k], tile, row * kStrideW + unit * kUnitQuads + k * kK / 16, kStrideW, false);
        coopMatLoadNV(scale, tile, kScalesAt + (unit * kTileRows + row) / 4, 0, true);
        if (kMinimum != 0) coopMatLoadNV(minimum, tile, kMinimaAt + (run * kTileRows + row) / 4, 0, true);
        UNROLL for (uint j = 0; j < kTokenTiles; ++j) {
          MatrixC sum = MatrixC(kHalfway);
          UNROLL for (uint k = 0; k < kProducts; ++k) sum = coopMatMulAddNV(a[k], b[j][k], sum);
          UNROLL for (uint e = 0; e < kElements; ++e) {
            float of_inputs = intBitsToFloat(share[j][e]);
            precise float exact = intBitsToFloat(sum[e]) - kHalfwayFloat;
            int result = rounded_sum(exact, intBitsToFloat(scale[e]), of_inputs);
            if (kMinimum != 0)
              result -= rounded_sum(intBitsToFloat(q_sum[j][e]), intBitsToFloat(minimum[e]), of_inputs);
            acc[i][j][e] += result;
          }
        }
      }
    }
  }

  barrier();
  uint sums = subgroup * kSums, part_sums = part * kPartSums + sums;
  int bias_of_sum = kMinimum != 0 ? 0 : int(n_steps * kUnits) * kHalfway;
  uint first_row = gl_WorkGroupID.x * kOutRows + subgroup_row * kSubgroupOutRows;
  uint first_token = gl_WorkGroupID.y * kTileTokens + tokens_at;
  UNROLL for (uint j = 0; j < kTokenTiles; ++j) {
    UNROLL for (uint i = 0; i < kRowTiles; ++i)
      coopMatStoreNV(acc[i][j], tile, part_sums + i * kM / 4, kSubgroupTileRows / 4, true);
    // All that results need is loaded before the first is written, so that it is waited for once.
    float before[kOwnResults], q_scales[kOwnResults];
    UNROLL for (uint i = 0; i < kOwnResults; ++i) {
      uint e = gl_SubgroupInvocationID + (part + i * kParts) * kSubgroupSize;
      uint t = min(first_token + j * kN + e / kSubgroupOutRows, push.n_tokens - 1);
      q_scales[i] = uintBitsToFloat(q_info[t].x);
      before[i] = kOut == OUT_ADD ? y[place_of(t, min(first_row + e % kSubgroupOutRows, push.n_out - 1))] : 0.0;
    }
    barrier_of_parts();
    UNROLL for (uint i = 0; i < kOwnResults; ++i) {
      uint e = gl_SubgroupInvocationID + (part + i * kParts) * kSubgroupSize;
      uint token = e / kSubgroupOutRows, row = e % kSubgroupOutRows;
      uint at = token * kSubgroupTileRows + row, t = first_token + j * kN + token;
      if (e >= kResults || t >= push.n_tokens || first_row + row >= push.n_out) continue;
      int sum = sum_of_parts(sums, at);
      int sum_up = sum_of_parts(sums, at + kSubgroupTileRows - kSubgroupOutRows);
      float result = blocks_result(sum - bias_of_sum, q_scales[i], push.scale0);
      float up = blocks_result(sum_up - bias_of_sum, q_scales[i], push.scale1);
      y[place_of(t, first_row + row)] = finished(first_row + row, result, up, before[i]);
    }
    barrier_of_parts();
  }
}
