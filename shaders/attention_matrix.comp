// Prefill: attention as attention.comp, on a device that multiplies matrices of F16 with sums in f32
// (cooperative matrices, VK_KHR_cooperative_matrix). A subgroup takes 16 query rows, kHeads heads that share
// a key head of each of the workgroup's tokens, and all subgroups share the chunks of keys and values in
// shared memory. The order of operations is that of common/attention.glsl and common/attention_matrix.glsl.
// It is written for GL_NV_cooperative_matrix, as ternary_matmul_matrix.comp.
#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_GOOGLE_include_directive : require
#ifndef EMULATED_MATRICES
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_KHR_shader_subgroup_arithmetic : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_shuffle : require
#extension GL_NV_cooperative_matrix : require
#endif
#include "params.h"
#include "common/attention.glsl"

layout(local_size_x_id = CONSTANT_WORKGROUP_SIZE) in;
layout(constant_id = CONSTANT_HEADS) const uint kHeads = 1;
layout(constant_id = CONSTANT_HEAD_DIM) const uint kHeadDim = 128;

const uint kSubgroups = gl_WorkGroupSize.x / (2 * HALF_SIDE), kRows = HALF_SIDE * kSubgroups, kTokens = kRows / kHeads;
#include "common/attention_batch.glsl"
const uint kQuads = kHeadDim / 4, kUnits = kHeadDim / 8, kSteps = kHeadDim / HALF_SIDE, kKeySteps = kChunk / HALF_SIDE;

// Shared memory in uvec4. First the keys of a chunk, then its values, [key][feature] of F16; the gap keeps
// eight rows out of each other's banks. Before the first chunk the queries lie there, first the high halves,
// then the low.
const uint kStride = kUnits + 1, kHeld = kRows > kChunk ? kRows : kChunk;
// Behind them each subgroup has its scores [HALF_SIDE][kChunk], which become its weights, high and low. Then
// it has what a row's result so far and its chunk are multiplied by when these are merged.
const uint kScoreStride = kChunk / 4 + 2, kWeightStride = kChunk / 8 + 1, kWeights = HALF_SIDE * kWeightStride;
const uint kFactors = HALF_SIDE / 4, kOwn = HALF_SIDE * kScoreStride + 2 * kFactors;
shared uvec4 tile[kHeld * kStride + kSubgroups * kOwn];

#include "common/subgroup.glsl"
#include "common/attention_matrix.glsl"

// What an invocation loads of the next keys or values, on its way from memory while the present ones are
// used.
const uint kFetch = (kChunk * kUnits + gl_WorkGroupSize.x - 1) / gl_WorkGroupSize.x;
const bool kAllBring = kChunk * kUnits % gl_WorkGroupSize.x == 0;
uvec4 next[kFetch];

uint lane, own;  // where what the subgroup has for itself begins

// Keys that no row of the tile sees repeat the first or the last one: their scores are not looked at, and
// what lies behind the last one may be NaN, which would spoil a weight of 0.
uint fetched_from(uint base, uint i) {
  uint at = lane + i * gl_WorkGroupSize.x;
  return row_of(clamp(base + at / kUnits, first_key, n_keys - 1)) + at % kUnits;
}
void fetch_keys(uint base) {
  UNROLL for (uint i = 0; i < kFetch; ++i) next[i] = k_cache[fetched_from(base, i)];
}
void fetch_values(uint base) {
  UNROLL for (uint i = 0; i < kFetch; ++i) next[i] = v_cache[fetched_from(base, i)];
}
void store_next() {
  UNROLL for (uint i = 0; i < kFetch; ++i) {
    uint at = lane + i * gl_WorkGroupSize.x;
    if (!kAllBring && at >= kChunk * kUnits) break;
    tile[at / kUnits * kStride + at % kUnits] = next[i];
  }
}

void store_queries(uint plane) {
  for (uint i = lane; i < kRows * kQuads; i += gl_WorkGroupSize.x) {
    uint row = i / kQuads, quad = i % kQuads;
    uint head = token_of(row) * push.row_heads + first_head + row % kHeads;
    precise vec4 scaled = qkv[head * kQuads + quad] * push.scale;
    uint to = row * kStride + quad / 2;
    tile[to][quad % 2 * 2] = split_pair(scaled.xy)[plane];
    tile[to][quad % 2 * 2 + 1] = split_pair(scaled.zw)[plane];
  }
}

// The scores of the chunk, in the memory of the subgroup.
void score_keys(MatrixA high[kSteps], MatrixA low[kSteps]) {
  UNROLL for (uint key = 0; key < kChunk; key += HALF_SIDE) {
    MatrixC sum = zeros(), sum_of_low = zeros();
    UNROLL for (uint i = 0; i < kSteps; ++i) {
      MatrixB keys;
      LOAD_MATRIX(keys, key * kStride + i * (HALF_SIDE / 8), kStride, true);
      sum = multiply_add(high[i], keys, sum);
      sum_of_low = multiply_add(low[i], keys, sum_of_low);
    }
    sum = whole_matrix(sum, sum_of_low);
    STORE_MATRIX(sum, own + key / 4, kScoreStride);
  }
}

// All columns of `sums` are the same.
float sum_of_weights(MatrixC sums, uint row) {
  meet_in_subgroup();
  STORE_MATRIX(sums, own, HALF_SIDE / 4);
  meet_in_subgroup();
  return uintBitsToFloat(tile[own + row * (HALF_SIDE / 4)].x);
}

void main() {
  lane = gl_LocalInvocationID.x;
  own = kHeld * kStride + SUBGROUP * kOwn;
  // The row that an invocation has the weights of, together with the next one: of quads of keys the even ones
  // or the odd ones.
  uint row = LANE / 2, odd = LANE % 2;
  uint row_of_tile = SUBGROUP * HALF_SIDE + row;
  place_tile(gl_WorkGroupID.x * kHeads);
  uint last_key = position + token_of(row_of_tile), first_of_row = first_seen(last_key);

  fetch_keys(first_base);
  MatrixA high[kSteps], low[kSteps];
  store_queries(0);
  barrier();
  UNROLL for (uint i = 0; i < kSteps; ++i)
    LOAD_MATRIX(high[i], SUBGROUP * HALF_SIDE * kStride + i * (HALF_SIDE / 8), kStride, false);
  barrier();
  store_queries(1);
  barrier();
  UNROLL for (uint i = 0; i < kSteps; ++i)
    LOAD_MATRIX(low[i], SUBGROUP * HALF_SIDE * kStride + i * (HALF_SIDE / 8), kStride, false);

  float largest = kLowest;  // score so far
  MatrixC result[kSteps + 1];  // a matrix to 16 features, and behind them the sums of the weights
  UNROLL for (uint j = 0; j <= kSteps; ++j) result[j] = zeros();

  for (uint base = first_base; base < n_keys; base += stride) {
    barrier();
    store_next();
    barrier();
    fetch_values(base);
    score_keys(high, low);
    meet_in_subgroup();

    vec4 weight[kChunk / 8];  // first the scores
    float m = kLowest;
    bool all_seen = base + kChunk <= position + first_token + 1 &&                 // by the tile's first token
                    (kWindow == 0 || base >= first_seen(n_keys - 1));              // and its last
    UNROLL for (uint j = 0; j < kChunk / 8; ++j) {
      uint quad = odd + 2 * j;
      vec4 score = uintBitsToFloat(tile[own + row * kScoreStride + quad]);
      if (!all_seen) {
        uvec4 keys = uvec4(base + 4 * quad) + uvec4(0, 1, 2, 3);
        score = mix(vec4(kLowest), score, lessThanEqual(keys, uvec4(last_key)));
        if (kWindow != 0) score = mix(vec4(kLowest), score, greaterThanEqual(keys, uvec4(first_of_row)));
      }
      weight[j] = score;
      m = max(m, max(max(score.x, score.y), max(score.z, score.w)));
    }
    m = max(m, shuffle_xor(m, 1));
    meet_in_subgroup();  // all have read the scores
    UNROLL for (uint j = 0; j < kChunk / 8; ++j) {
      uint quad = odd + 2 * j, to = own + row * kWeightStride + quad / 2;
      precise vec4 exponent = weight[j] - m;  // so low that exp2 gives 0 where a key is not seen
      vec4 four = exp2(exponent);
      uvec2 first = split_pair(four.xy), second = split_pair(four.zw);
      tile[to][quad % 2 * 2] = first.x;
      tile[to][quad % 2 * 2 + 1] = second.x;
      tile[to + kWeights][quad % 2 * 2] = first.y;
      tile[to + kWeights][quad % 2 * 2 + 1] = second.y;
    }
    vec2 factors = chunk_factors(largest, m);
    tile[own + HALF_SIDE * kScoreStride + odd * kFactors + row / 4][row % 4] = floatBitsToUint(factors[odd]);
    barrier();
    store_next();
    barrier();
    fetch_keys(base + stride);

    MatrixA high_weights[kKeySteps], low_weights[kKeySteps];
    UNROLL for (uint k = 0; k < kKeySteps; ++k) {
      LOAD_MATRIX(high_weights[k], own + k * (HALF_SIDE / 8), kWeightStride, false);
      LOAD_MATRIX(low_weights[k], own + kWeights + k * (HALF_SIDE / 8), kWeightStride, false);
    }
    MatrixC before, now;
    LOAD_MATRIX(before, own + HALF_SIDE * kScoreStride, 0, true);
    LOAD_MATRIX(now, own + HALF_SIDE * kScoreStride + kFactors, 0, true);
    UNROLL for (uint j = 0; j <= kSteps; ++j) {
      MatrixC sum = zeros(), sum_of_low = zeros();
      UNROLL for (uint k = 0; k < kKeySteps; ++k) {
        MatrixB values = ones();
        if (j < kSteps) LOAD_MATRIX(values, k * HALF_SIDE * kStride + j * (HALF_SIDE / 8), kStride, false);
        sum = multiply_add(high_weights[k], values, sum);
        sum_of_low = multiply_add(low_weights[k], values, sum_of_low);
      }
      sum = whole_matrix(sum, sum_of_low);
      if (kSplit != 0) {
        result[j] = sum;
      } else {
        UNROLL for (uint e = 0; e < kElements; ++e) {
          precise float share = ELEMENT(sum, e) * ELEMENT(now, e);
          precise float total = fma(ELEMENT(result[j], e), ELEMENT(before, e), share);
          ELEMENT(result[j], e) = total;
        }
      }
    }
    if (kSplit == 0) continue;

    // What the row's token finds in the chunk: the largest score and the sum of the weights, then the sums of
    // values.
    uint token = first_token + row_of_tile / kHeads, head = first_head + row_of_tile % kHeads;
    bool is_there = row_of_tile < kTokens * kHeads && token < push.n_tokens;
    uint to = ((token * push.n_head + head) * push.max_chunks + base / kChunk) * (1 + 2 * kQuads);
    float l = sum_of_weights(result[kSteps], row);
    if (is_there && odd == 0) chunks[to] = vec2(m, l);
    UNROLL for (uint j = 0; j < kSteps; ++j) {
      meet_in_subgroup();
      STORE_MATRIX(result[j], own, HALF_SIDE / 4);
      meet_in_subgroup();
      if (!is_there) continue;
      UNROLL for (uint i = 0; i < 2; ++i) {
        vec4 sums = uintBitsToFloat(tile[own + row * (HALF_SIDE / 4) + 2 * odd + i]);
        uint pair = to + 1 + 2 * (j * (HALF_SIDE / 4) + 2 * odd + i);
        chunks[pair] = sums.xy;
        chunks[pair + 1] = sums.zw;
      }
    }
  }

  if (kSplit != 0) return;
  uint t = first_token + row_of_tile / kHeads;
  bool is_there = row_of_tile < kTokens * kHeads && t < push.n_tokens;
  float l = sum_of_weights(result[kSteps], row);
  UNROLL for (uint j = 0; j < kSteps; ++j) {
    meet_in_subgroup();
    STORE_MATRIX(result[j], own, HALF_SIDE / 4);
    meet_in_subgroup();
    if (!is_there) continue;
    uint to = (t * push.n_head + first_head + row_of_tile % kHeads) * kQuads + j * (HALF_SIDE / 4) + 2 * odd;
    UNROLL for (uint i = 0; i < 2; ++i)
      o[to + i] = uintBitsToFloat(tile[own + row * (HALF_SIDE / 4) + 2 * odd + i]) / l;
  }
}
