// As ternary_matmul_matrix.comp, for a matrix of groups (common/groups.glsl). A step is kGroups groups of
// each row and token. The products of a unit are sums of their own, which a subgroup scales and rounds where
// they are, in the elements of the matrices, before it adds them to those of the whole row. So each element
// needs the scale of its row, and with kInputUnits the share of its token (common/quantise.glsl): they are in
// the same element of matrices whose columns, or rows, are all the same, loaded with a stride of 0. Codes are
// unpacked to -1, 0, +1, so that nothing has to be subtracted. CONSTANT_OUT says where the result goes, as in
// ternary_matvec_groups.comp; with OUT_GATE the first half of a subgroup's tiles is gate, the second the same
// rows of up. Where there are few sums, kParts subgroups make those of a tile together: each has other groups
// of a step, and in the end their sums are added. LARGE_TILES is for tiles of which an invocation has many
// results: neighbouring workgroups then have the same rows, whose codes come from memory once, and behind the
// first tiles each may have several workgroups, which split its steps among them (engine/vk/split_tiles.h).
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
layout(constant_id = CONSTANT_INPUT_UNITS) const uint kInputUnits = 0;
layout(constant_id = CONSTANT_REST) const uint kRest = 0;
layout(constant_id = CONSTANT_OUT) const uint kOut = OUT_STORE;
layout(constant_id = CONSTANT_SUBGROUP_SIZE) const uint kSubgroupSize = 32;
#ifdef LARGE_TILES
layout(constant_id = CONSTANT_SPLIT) const uint kSplit = 0;  // 1: some tiles are split; else no code for it
#endif

layout(push_constant) uniform Push { GroupsPush push; };
layout(binding = 0) readonly buffer W { uvec4 w[]; };          // [rows][n_in / 64]
layout(binding = 1) readonly buffer Q { uvec4 q[]; };          // [n_tokens][n_in / 16]
layout(binding = 2) readonly buffer QInfo { uvec2 q_info[]; };  // [n_tokens]: bits of s, sum(q)
layout(binding = 3) buffer Y { float y[]; };                   // [n_tokens][n_out]
layout(binding = 4) readonly buffer Scales { uint scales[]; };  // F16 [rows][n_in / 64 / kScaleGroups]
layout(binding = 5) readonly buffer Shares { float shares[]; };  // [n_tokens][n_in / kUnit]: with kInputUnits
layout(binding = 6) readonly buffer RestQ { uvec4 rest_q[]; };  // as q, with kRest
#ifdef LARGE_TILES
layout(binding = 7) coherent buffer SplitSums { int split_sums[]; };  // [split tile][split][token of it][row]
layout(binding = 8) buffer SplitsDone { uint splits_done[]; };        // [split tile], 0 between dispatches
#endif

#include "common/ternary.glsl"
#include "common/groups.glsl"
#include "common/activation.glsl"

#define MatrixA icoopmatNV<8, gl_ScopeSubgroup, kM, kK>
#define MatrixB icoopmatNV<8, gl_ScopeSubgroup, kK, kN>
#define MatrixC icoopmatNV<32, gl_ScopeSubgroup, kM, kN>

const uint kElements = kM * kN / kSubgroupSize;  // of a matrix of sums that an invocation has
const uint kSubgroupTileRows = kM * kRowTiles, kSubgroupTileTokens = kN * kTokenTiles;
const uint kTileRows = kSubgroupTileRows * kSubgroupRows, kTileTokens = kSubgroupTileTokens * kSubgroupTokens;
const uint kSubgroupOutRows = kOut == OUT_GATE ? kSubgroupTileRows / 2 : kSubgroupTileRows;
const uint kOutRows = kSubgroupOutRows * kSubgroupRows;

// Shared memory in uvec4: rows of a step, then the tokens, then what the rounding of these left, each of 64
// int8 a group and a gap that keeps eight rows out of each other's banks; then for each unit the scales of
// the rows and the shares of the tokens.
const uint kOwnUnits = kParts > 1 ? 1 : 2 / kUnitGroups;  // of a step, of a subgroup
const uint kUnits = kOwnUnits * kParts, kGroups = kUnits * kUnitGroups;
const uint kQuads = 4 * kGroups, kStride = kQuads + 1, kUnitQuads = 4 * kUnitGroups, kProducts = kUnit / kK;
const uint kPlanes = kRest != 0 ? 2 : 1, kPlane = kTileTokens * kStride;
const uint kTokensAt = kTileRows * kStride, kScalesAt = kTokensAt + kPlanes * kPlane;
const uint kSharesAt = kScalesAt + kUnits * kTileRows / 4;
const uint kStep = kSharesAt + kInputUnits * kUnits * kTileTokens / 4;
// In the end a subgroup's sums of one column of tiles: [kN tokens][kSubgroupTileRows].
const uint kSubgroups = kSubgroupRows * kSubgroupTokens;  // of each part
const uint kSums = kN * kSubgroupTileRows / 4, kPartSums = kSums * kSubgroups, kAllSums = kPartSums * kParts;
shared uvec4 tile[kStep > kAllSums ? kStep : kAllSums];

#include "common/parts.glsl"

const uint kFetchW = (kTileRows * kGroups + gl_WorkGroupSize.x - 1) / gl_WorkGroupSize.x;
const uint kFetchQ = (kTileTokens * kQuads + gl_WorkGroupSize.x - 1) / gl_WorkGroupSize.x;
uvec4 next_w[kFetchW], next_q[kPlanes * kFetchQ];
const uint kFetchShares = (kTileTokens * kUnits + gl_WorkGroupSize.x - 1) / gl_WorkGroupSize.x;
const uint kFetchScales = (kTileRows * kUnits + gl_WorkGroupSize.x - 1) / gl_WorkGroupSize.x;
uint next_scales[kFetchScales];
float next_shares[kFetchShares];

// Whether a step is fetched while the one before it is multiplied. With two planes that takes so many
// registers that small tiles whose inputs nobody divides do better without: more workgroups run, and fetch
// while others multiply.
const bool kAhead = kPlanes == 1 || kParts > 1 || kSubgroupTileRows > 32;

uint lane, row_tile, token_tile;

// The row of the stacked matrix that is row `r` of the tile.
uint matrix_row(uint r) {
  uint in_subgroup = r % kSubgroupTileRows;
  uint row = row_tile * kOutRows + r / kSubgroupTileRows * kSubgroupOutRows +
             in_subgroup % kSubgroupOutRows;
  return in_subgroup < kSubgroupOutRows ? row : push.n_out + row;
}

// The same, but the last one for those past the end, whose sums are never written.
uint row_of(uint r) { return min(matrix_row(r), push.n_out * (kOut == OUT_GATE ? 2 : 1) - 1); }

// Which scale a unit of row `r` of the tile has.
uint scale_of(uint r, uint unit) {
  return row_of(r) * (push.n_in / 64 / kScaleGroups) + unit * kUnitGroups / kScaleGroups;
}

// Tokens past the end repeat the last one, as rows do. A group past the end repeats the last one, and store()
// gives it a scale of 0. Invocations that have nothing to bring bring what the last one does: what is loaded
// on a condition meets what was there before, and is waited for at once, as is what is computed with.
void fetch(uint step_) {
  uint groups = push.n_in / 64;
  UNROLL for (uint i = 0; i < kFetchW; ++i) {
    uint at = min(lane + i * gl_WorkGroupSize.x, kTileRows * kGroups - 1);
    uint g = min(step_ * kGroups + at % kGroups, groups - 1);
    next_w[i] = w[row_of(at / kGroups) * groups + g];
  }
  UNROLL for (uint i = 0; i < kFetchScales; ++i) {
    uint at = min(lane + i * gl_WorkGroupSize.x, kTileRows * kUnits - 1);
    next_scales[i] = scales[scale_of(at / kUnits, min(step_ * kUnits + at % kUnits, push.n_in / kUnit - 1)) / 2];
  }
  UNROLL for (uint i = 0; i < kFetchQ; ++i) {
    uint at = min(lane + i * gl_WorkGroupSize.x, kTileTokens * kQuads - 1);
    uint t = min(token_tile * kTileTokens + at / kQuads, push.n_tokens - 1);
    uint from = t * groups * 4 + min(step_ * kQuads + at % kQuads, groups * 4 - 1);
    next_q[i] = q[from];
    if (kRest != 0) next_q[(kPlanes - 1) * kFetchQ + i] = rest_q[from];
  }
  if (kInputUnits != 0)
    UNROLL for (uint i = 0; i < kFetchShares; ++i) {
      uint at = min(lane + i * gl_WorkGroupSize.x, kTileTokens * kUnits - 1), units = push.n_in / kUnit;
      uint t = min(token_tile * kTileTokens + at / kUnits, push.n_tokens - 1);
      next_shares[i] = shares[t * units + min(step_ * kUnits + at % kUnits, units - 1)];
    }
}

void store(uint step_) {
  UNROLL for (uint i = 0; i < kFetchW; ++i) {
    uint at = lane + i * gl_WorkGroupSize.x;
    if (at >= kTileRows * kGroups) break;
    uint row = at / kGroups, g = at % kGroups;
    UNROLL for (uint s = 0; s < 4; ++s)  // 0, 1, 2 become -1, 0, +1: no byte carries into the next
      tile[row * kStride + g * 4 + s] = (next_w[i] >> (6 - 2 * s) & 0x03030303u) + 0x7F7F7F7Fu ^ 0x80808080u;
  }
  UNROLL for (uint i = 0; i < kFetchScales; ++i) {
    uint at = lane + i * gl_WorkGroupSize.x, row = at / kUnits, unit = at % kUnits;
    if (at >= kTileRows * kUnits) break;
    uint to = unit * kTileRows + row, wanted = step_ * kUnits + unit;
    float scale = half_of(next_scales[i], scale_of(row, wanted)) * push.fixed_point;
    tile[kScalesAt + to / 4][to % 4] = wanted < push.n_in / kUnit ? floatBitsToUint(scale) : 0;
  }
  UNROLL for (uint i = 0; i < kFetchQ; ++i) {
    uint at = lane + i * gl_WorkGroupSize.x;
    if (at >= kTileTokens * kQuads) break;
    UNROLL for (uint p = 0; p < kPlanes; ++p)
      tile[kTokensAt + p * kPlane + at / kQuads * kStride + at % kQuads] = next_q[p * kFetchQ + i];
  }
  if (kInputUnits != 0)
    UNROLL for (uint i = 0; i < kFetchShares; ++i) {
      uint at = lane + i * gl_WorkGroupSize.x, share = at % kUnits * kTileTokens + at / kUnits;
      if (at >= kTileTokens * kUnits) break;
      tile[kSharesAt + share / 4][share % 4] = floatBitsToUint(next_shares[i]);
    }
}

// As rounded() of groups.glsl, but for a sum to which kHalfway was added already, and with kHalfway too much.
int rounded_and_biased(int biased, float scale) {
  precise float exact = intBitsToFloat(biased) - kHalfwayFloat;
  precise float half_to_even = fma(exact, scale, kHalfwayFloat);
  return floatBitsToInt(half_to_even);
}

// Results that an invocation gives at a time, so that it waits once for what they are added to. Where it has
// few, as of smaller tiles, that is slower.
#ifdef LARGE_TILES
const uint kAtOnce = 8;
#else
const uint kAtOnce = 1;
#endif
struct Result {
  uint token, row;  // of the result; or past its end, for nothing
  int sum, up_sum;  // of the row's integers, and of those of the same row of up
};

void give(Result results[kAtOnce]) {
  float before[kAtOnce];
  UNROLL for (uint i = 0; i < kAtOnce; ++i) {
    uint t = min(results[i].token, push.n_tokens - 1), row = min(results[i].row, push.n_out - 1);
    if (kOut == OUT_ADD) before[i] = y[t * push.n_out + row];
  }
  UNROLL for (uint i = 0; i < kAtOnce; ++i) {
    Result r = results[i];
    if (r.token >= push.n_tokens || r.row >= push.n_out) continue;
    float s = uintBitsToFloat(q_info[r.token].x);
    precise float result;
    if (kOut == OUT_GATE) {
      result = gated(ternary_result(r.sum, 0, s, push.scale0), ternary_result(r.up_sum, 0, s, push.scale1));
    } else {
      result = ternary_result(r.sum, 0, s, scale_of_row(r.row));
      if (kOut == OUT_ADD) result = before[i] + result;
    }
    y[r.token * push.n_out + r.row] = result;
  }
}

#ifdef LARGE_TILES
// The number of a split tile and of the workgroup among those that make it, if there are several.
bool is_split;
uint split_tile, split;
shared bool is_last_split;

void find_tile() {
  is_split = kSplit != 0 && gl_WorkGroupID.x >= push.whole_tiles;
  uint behind_whole = is_split ? gl_WorkGroupID.x - push.whole_tiles : 0;
  split_tile = behind_whole / push.splits;
  split = behind_whole % push.splits;
  uint tile_ = is_split ? push.whole_tiles + split_tile : gl_WorkGroupID.x;
  uint token_tiles = (push.n_tokens + kTileTokens - 1) / kTileTokens;
  token_tile = tile_ % token_tiles;
  row_tile = tile_ / token_tiles;
}

// Where number `at` of the sums of a split tile is, as [token][row], which one of its workgroups has made.
const uint kTileSums = kTileTokens * kTileRows;
uint split_sum_at(uint split_, uint at) { return (split_tile * push.splits + split_) * kTileSums + at; }

// Gives the results of a split tile, if this workgroup is the last of those that make it.
void give_split_tile() {
  memoryBarrierBuffer();
  barrier();
  if (lane == 0) is_last_split = atomicAdd(splits_done[split_tile], 1) == push.splits - 1;
  barrier();
  if (!is_last_split) return;
  memoryBarrierBuffer();
  if (lane == 0) splits_done[split_tile] = 0;
  for (uint first = lane; first < kTileTokens * kOutRows; first += kAtOnce * gl_WorkGroupSize.x) {
    Result results[kAtOnce];
    uint at[kAtOnce];
    UNROLL for (uint i = 0; i < kAtOnce; ++i) {
      uint e = first + i * gl_WorkGroupSize.x, token = e / kOutRows, row = e % kOutRows;
      results[i].token = token < kTileTokens ? token_tile * kTileTokens + token : ~0u;
      results[i].row = row_tile * kOutRows + row;
      results[i].sum = results[i].up_sum = 0;
      at[i] = min(token, kTileTokens - 1) * kTileRows + row / kSubgroupOutRows * kSubgroupTileRows +
              row % kSubgroupOutRows;
    }
    for (uint other = 0; other < push.splits; ++other)
      UNROLL for (uint i = 0; i < kAtOnce; ++i) {
        uint from = split_sum_at(other, at[i]);
        results[i].sum += split_sums[from];
        if (kOut == OUT_GATE) results[i].up_sum += split_sums[from + kSubgroupOutRows];
      }
    give(results);
  }
}
#else
void find_tile() {
  row_tile = gl_WorkGroupID.x;
  token_tile = gl_WorkGroupID.y;
}
#endif

void main() {
  lane = gl_LocalInvocationIndex;
  uint part = kParts > 1 ? gl_SubgroupID / kSubgroups : 0, subgroup = gl_SubgroupID - part * kSubgroups;
  uint subgroup_row = subgroup % kSubgroupRows, subgroup_token = subgroup / kSubgroupRows;
  uint rows_at = subgroup_row * kSubgroupTileRows, tokens_at = subgroup_token * kSubgroupTileTokens;

  find_tile();

  MatrixC acc[kRowTiles][kTokenTiles];
  UNROLL for (uint i = 0; i < kRowTiles; ++i)
    UNROLL for (uint j = 0; j < kTokenTiles; ++j) acc[i][j] = MatrixC(0);

  uint n_steps = (push.n_in / 64 + kGroups - 1) / kGroups, step_ = 0, end_step = n_steps;
#ifdef LARGE_TILES
  if (is_split) {
    step_ = n_steps * split / push.splits;
    end_step = n_steps * (split + 1) / push.splits;
  }
#endif
  int bias = int((end_step - step_) * kUnits) * kHalfway;
  if (kAhead) fetch(step_);
  for (; step_ < end_step; ++step_) {
    if (!kAhead) fetch(step_);
    barrier();
    store(step_);
    barrier();
    if (kAhead) fetch(min(step_ + 1, end_step - 1));
    UNROLL for (uint own = 0; own < kOwnUnits; ++own) {
      uint unit = part * kOwnUnits + own;
      MatrixB b[kTokenTiles][kPlanes * kProducts];
      MatrixC share[kTokenTiles];
      UNROLL for (uint j = 0; j < kTokenTiles; ++j) {
        uint token = tokens_at + j * kN;
        UNROLL for (uint k = 0; k < kPlanes * kProducts; ++k) {
          uint at = kTokensAt + k / kProducts * kPlane + token * kStride + unit * kUnitQuads + k % kProducts * kK / 16;
          coopMatLoadNV(b[j][k], tile, at, kStride, true);
        }
        if (kInputUnits != 0)
          coopMatLoadNV(share[j], tile, kSharesAt + (unit * kTileTokens + token) / 4, 0, false);
      }
      UNROLL for (uint i = 0; i < kRowTiles; ++i) {
        MatrixA a[kProducts];
        MatrixC scale;
        uint row = rows_at + i * kM;
        UNROLL for (uint k = 0; k < kProducts; ++k)
          coopMatLoadNV(a[k], tile, row * kStride + unit * kUnitQuads + k * kK / 16, kStride, false);
        coopMatLoadNV(scale, tile, kScalesAt + (unit * kTileRows + row) / 4, 0, true);
        UNROLL for (uint j = 0; j < kTokenTiles; ++j) {
          MatrixC sum = MatrixC(kRest != 0 ? 0 : kHalfway);
          UNROLL for (uint k = 0; k < kProducts; ++k) sum = coopMatMulAddNV(a[k], b[j][k], sum);
          if (kRest != 0) {
            UNROLL for (uint e = 0; e < kElements; ++e) sum[e] = sum[e] * REST_STEPS + kHalfway;
            UNROLL for (uint k = 0; k < kProducts; ++k)
              sum = coopMatMulAddNV(a[k], b[j][(kPlanes - 1) * kProducts + k], sum);
          }
          UNROLL for (uint e = 0; e < kElements; ++e) {
            precise float factor = intBitsToFloat(scale[e]);
            if (kInputUnits != 0) factor *= intBitsToFloat(share[j][e]);
            acc[i][j][e] += rounded_and_biased(sum[e], factor);
          }
        }
      }
    }
  }

  barrier();
  uint sums = subgroup * kSums, first_row = row_tile * kOutRows + subgroup_row * kSubgroupOutRows;
  uint sharing = kParts * gl_SubgroupSize, own = part * gl_SubgroupSize + gl_SubgroupInvocationID;
  UNROLL for (uint j = 0; j < kTokenTiles; ++j) {
    UNROLL for (uint i = 0; i < kRowTiles; ++i)
      coopMatStoreNV(acc[i][j], tile, part * kPartSums + sums + i * kM / 4, kSubgroupTileRows / 4, true);
    barrier_of_parts();
    uint first_token = tokens_at + j * kN;
#ifdef LARGE_TILES
    if (is_split) {
      for (uint e = own; e < kN * kSubgroupTileRows; e += sharing) {
        uint at = (first_token + e / kSubgroupTileRows) * kTileRows + rows_at + e % kSubgroupTileRows;
        split_sums[split_sum_at(split, at)] = sum_of_parts(sums, e) - bias;
      }
    } else
#endif
    for (uint first = own; first < kN * kSubgroupOutRows; first += kAtOnce * sharing) {
      Result results[kAtOnce];
      UNROLL for (uint i = 0; i < kAtOnce; ++i) {
        uint e = first + i * sharing, token = e / kSubgroupOutRows, row = e % kSubgroupOutRows;
        uint at = min(token, kN - 1) * kSubgroupTileRows + row;
        results[i].token = token < kN ? token_tile * kTileTokens + first_token + token : ~0u;
        results[i].row = first_row + row;
        results[i].sum = sum_of_parts(sums, at) - bias;
        results[i].up_sum = kOut == OUT_GATE ? sum_of_parts(sums, at + kSubgroupOutRows) - bias : 0;
      }
      give(results);
    }
    barrier_of_parts();
  }
#ifdef LARGE_TILES
  if (is_split) give_split_tile();
#endif
}
