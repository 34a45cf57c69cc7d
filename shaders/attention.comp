// Prefill: causal attention over the F16 cache for a batch of tokens, in tiles. A workgroup of 4 n
// invocations takes n query rows: kHeads heads, which share a key head, of each of its tokens. Where the
// features of the result are divided among several workgroups, each computes all scores. For every chunk of
// keys, from the first on that the tile's first token sees, it computes
//   scores   rows x keys, a slab of features at a time through shared memory, 4 x 4 an invocation
//   values   rows x features, a slab of keys at a time, 4 x 4 kFeatures an invocation
// For a few tokens the chunks may be divided among workgroups too, which leave what they find in each to
// attention_merge.comp. The order of operations is that of common/attention.glsl. In a chunk of which a row
// sees no key, its weights are 1, and merge_factors gives such a chunk a share of 0, since the largest score
// before or after is above kLowest.
#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_GOOGLE_include_directive : require
#include "params.h"
#include "common/attention.glsl"

layout(local_size_x_id = CONSTANT_WORKGROUP_SIZE) in;
layout(constant_id = CONSTANT_HEADS) const uint kHeads = 1;
layout(constant_id = CONSTANT_FEATURES) const uint kFeatures = 2;
layout(constant_id = CONSTANT_SLAB) const uint kSlab = 32;
layout(constant_id = CONSTANT_KEY_SLAB) const uint kKeySlab = 16;
layout(constant_id = CONSTANT_HEAD_DIM) const uint kHeadDim = 128;
layout(constant_id = CONSTANT_VALUE_PARTS) const uint kValueParts = 1;

const uint kRows = gl_WorkGroupSize.x / 4;  // 4 an invocation; 16 invocations share them
const uint kTokens = kRows / kHeads;
#include "common/attention_batch.glsl"
// Neighbours have the same keys and features of other rows: an H200 then loads them in fewer accesses.
const uint kPair = kRows % 8 == 0 ? 2 : 1;
const uint kQuads = kHeadDim / 4, kUnits = kHeadDim / 8;
const uint kValueQuads = kQuads / kValueParts, kValueUnits = kUnits / kValueParts;

shared vec4 queries[kHeadDim * kRows / 4];      // [feature][row], scaled
shared vec4 weights[kRows][kChunk / 4 + 1];     // the last one keeps rows out of each other's banks
shared vec4 maxima[kRows][4];                   // of a row, from each of its invocations
shared float sums[kRows];                       // of the weights
// What a step works on: k as [feature][key], with quads of keys in the order of key_quad(), or v as
// [key][kValueQuads].
const uint kScoreSlab = kSlab * kChunk / 4, kValueSlab = kKeySlab * kValueQuads;
shared vec4 slab[kScoreSlab > kValueSlab ? kScoreSlab : kValueSlab];

// What an invocation loads for the next step, on its way from memory while the present step is computed.
const uint kFetchK = (kChunk * kSlab / 8 + gl_WorkGroupSize.x - 1) / gl_WorkGroupSize.x;
const uint kFetchV = (kKeySlab * kValueUnits + gl_WorkGroupSize.x - 1) / gl_WorkGroupSize.x;
uvec4 next_k[kFetchK], next_v[kFetchV];
uint keys_at[kFetchK];  // where the keys that an invocation brings of a chunk begin, in uvec4
// Whether all invocations bring something each time, and whether steps end where quarters do.
const bool kAllBringK = kChunk * kSlab / 8 % gl_WorkGroupSize.x == 0;
const bool kAllBringV = kKeySlab * kValueUnits % gl_WorkGroupSize.x == 0;
const bool kWholeSlabs = kHeadDim % (4 * kSlab) == 0;

uint lane, column, row0;  // an invocation's rows are row0 .. row0 + 3, its keys and features at column * 4
uint first_value;  // a uvec4 of a head's values

const uint kQuarter = (kUnits + 3) / 4 * 8;  // features of the longest, as quarter_of() has them
const uint kSlabsAQuarter = (kQuarter + kSlab - 1) / kSlab, kScoreSlabs = 4 * kSlabsAQuarter;

// Features [begin, end) of step `i` of the scores; a quarter is a whole number of steps.
uvec2 features_of(uint i) {
  if (kWholeSlabs) return uvec2(i, i + 1) * kSlab;
  uvec2 quarter = quarter_of(i / kSlabsAQuarter, kHeadDim);
  uint begin = min(quarter.x + i % kSlabsAQuarter * kSlab, quarter.y);
  return uvec2(begin, min(begin + kSlab, quarter.y));
}

// Where quad `quad` of keys lies in the slab's row of feature `feature`. The order lets invocations that
// bring neighbouring keys and eights of features write to different banks.
uint key_quad(uint feature, uint quad) {
  return feature * (kChunk / 4) + (quad ^ feature / 8 * (64 / kSlab) % (kChunk / 4));
}

// Keys that no row of the tile sees repeat the first or the last one, and features past the end those of the
// head: their scores are not looked at. What is loaded on a condition meets what was there before, and is
// waited for at once.
void find_keys(uint base) {
  UNROLL for (uint j = 0; j < kFetchK; ++j) {
    uint at = lane + j * gl_WorkGroupSize.x;
    keys_at[j] = row_of(clamp(base + at / (kSlab / 8), first_key, n_keys - 1));
  }
}

void fetch_keys(uint i) {
  uint unit = features_of(i).x / 8 + lane % (kSlab / 8);  // the same for all j
  if (!kWholeSlabs) unit = min(unit, kUnits - 1);
  UNROLL for (uint j = 0; j < kFetchK; ++j) next_k[j] = k_cache[keys_at[j] + unit];
}

void store_keys() {
  UNROLL for (uint j = 0; j < kFetchK; ++j) {
    uint at = lane + j * gl_WorkGroupSize.x, key = at / (kSlab / 8), feature = at % (kSlab / 8) * 8;
    if (!kAllBringK && key >= kChunk) break;
    uint to = key_quad(feature, key / 4);
    UNROLL for (uint c = 0; c < 4; ++c) {
      vec2 pair = unpackHalf2x16(next_k[j][c]);
      slab[to + 2 * c * (kChunk / 4)][key % 4] = pair.x;
      slab[to + (2 * c + 1) * (kChunk / 4)][key % 4] = pair.y;
    }
  }
}

// As the keys: what lies behind the last one may be NaN, and would spoil a weight of 0.
void fetch_values(uint base) {
  UNROLL for (uint j = 0; j < kFetchV; ++j) {
    uint i = lane + j * gl_WorkGroupSize.x, key = clamp(base + i / kValueUnits, first_key, n_keys - 1);
    next_v[j] = v_cache[row_of(key) + first_value + i % kValueUnits];
  }
}

void store_values() {
  UNROLL for (uint j = 0; j < kFetchV; ++j) {
    uint i = lane + j * gl_WorkGroupSize.x;
    if (!kAllBringV && i >= kKeySlab * kValueUnits) break;
    slab[2 * i] = vec4(unpackHalf2x16(next_v[j].x), unpackHalf2x16(next_v[j].y));
    slab[2 * i + 1] = vec4(unpackHalf2x16(next_v[j].z), unpackHalf2x16(next_v[j].w));
  }
}

// What a token finds in a chunk of keys: the largest score and the sum of the weights of a head, then the
// sums of the values.
void give_chunk(uint chunk, uint row, float m, vec4 sum[kFeatures]) {
  uint token = first_token + row / kHeads, head = first_head + row % kHeads;
  if (row >= kTokens * kHeads || token >= push.n_tokens) return;
  uint to = ((token * push.n_head + head) * push.max_chunks + chunk) * (1 + 2 * kQuads);
  if (column == 0 && first_value == 0) chunks[to] = vec2(m, sums[row]);
  UNROLL for (uint j = 0; j < kFeatures; ++j) {
    uint feature = column + 16 * j;
    if (feature >= kValueQuads) break;
    uint pair = to + 1 + 2 * (2 * first_value + feature);
    chunks[pair] = sum[j].xy;
    chunks[pair + 1] = sum[j].zw;
  }
}

void main() {
  lane = gl_LocalInvocationID.x;
  column = lane / kPair % 16;
  row0 = (lane / (16 * kPair) * kPair + lane % kPair) * 4;
  place_tile(gl_WorkGroupID.x / kValueParts * kHeads);
  first_value = gl_WorkGroupID.x % kValueParts * kValueUnits;

  find_keys(first_base);
  fetch_keys(0);
  for (uint i = lane; i < kRows * kQuads; i += gl_WorkGroupSize.x) {
    uint row = i / kQuads, quad = i % kQuads;
    uint head = token_of(row) * push.row_heads + first_head + row % kHeads;
    precise vec4 scaled = qkv[head * kQuads + quad] * push.scale;
    UNROLL for (uint c = 0; c < 4; ++c) queries[((4 * quad + c) * kRows + row) / 4][row % 4] = scaled[c];
  }

  Merged merged[4];
  vec4 out_[4][kFeatures];
  UNROLL for (uint i = 0; i < 4; ++i) {
    merged[i] = Merged(kLowest, 0.0);
    UNROLL for (uint j = 0; j < kFeatures; ++j) out_[i][j] = vec4(0.0);
  }

  for (uint base = first_base; base < n_keys; base += stride) {
    vec4 score[4], sum4[4];
    UNROLL for (uint i = 0; i < 4; ++i) score[i] = sum4[i] = vec4(0.0);
    for (uint step_ = 0; step_ < kScoreSlabs; ++step_) {
      barrier();
      store_keys();
      barrier();
      if (step_ + 1 < kScoreSlabs) fetch_keys(step_ + 1); else fetch_values(base);
      uvec2 features = features_of(step_);
      UNROLL for (uint f = 0; f < kSlab; f += 8) {  // eight at a time: heads are whole eights
        if (kHeadDim % (4 * kSlab) != 0 && f >= features.y - features.x) break;
        uint from_k = key_quad(f, column), from_q = ((features.x + f) * kRows + row0) / 4;
        UNROLL for (uint g = 0; g < 8; ++g) {
          vec4 k = slab[from_k + g * (kChunk / 4)], q = queries[from_q + g * (kRows / 4)];
          UNROLL for (uint i = 0; i < 4; ++i) sum4[i] = fma(vec4(q[i]), k, sum4[i]);
        }
      }
      if ((step_ + 1) % kSlabsAQuarter == 0) {
        UNROLL for (uint i = 0; i < 4; ++i) {
          precise vec4 total = score[i] + sum4[i];
          score[i] = total;
          sum4[i] = vec4(0.0);
        }
      }
    }

    uvec4 keys = uvec4(base + 4 * column) + uvec4(0, 1, 2, 3);
    bool all_seen = base + kChunk <= position + first_token + 1;  // by the tile's first token
    if (!all_seen) {
      UNROLL for (uint i = 0; i < 4; ++i)
        score[i] = mix(vec4(kLowest), score[i], lessThanEqual(keys, uvec4(position + token_of(row0 + i))));
    }
    bool in_all_windows = kWindow == 0 || base >= first_seen(n_keys - 1);  // in that of the tile's last token
    if (!in_all_windows) {
      UNROLL for (uint i = 0; i < 4; ++i)
        score[i] = mix(vec4(kLowest), score[i],
                       greaterThanEqual(keys, uvec4(first_seen(position + token_of(row0 + i)))));
    }
    UNROLL for (uint i = 0; i < 4; ++i)
      maxima[row0 + i][column / 4][column % 4] =
          max(max(score[i].x, score[i].y), max(score[i].z, score[i].w));
    barrier();
    float m[4];
    UNROLL for (uint i = 0; i < 4; ++i) {
      vec4 largest = max(max(maxima[row0 + i][0], maxima[row0 + i][1]),
                         max(maxima[row0 + i][2], maxima[row0 + i][3]));
      m[i] = max(max(largest.x, largest.y), max(largest.z, largest.w));
      precise vec4 exponent = score[i] - m[i];  // so low that exp2 gives 0 where a key is not seen
      weights[row0 + i][column] = exp2(exponent);
    }

    vec4 sum[4][kFeatures];
    UNROLL for (uint i = 0; i < 4; ++i)
      UNROLL for (uint j = 0; j < kFeatures; ++j) sum[i][j] = vec4(0.0);
    for (uint some = 0; some < kChunk; some += kKeySlab) {
      if (base + some >= n_keys) break;  // what follows has weights of 0
      barrier();
      store_values();
      if (some == 0 && lane < kRows) {
        precise float l = 0.0;
        UNROLL for (uint j = 0; j < kChunk / 4; ++j) {
          vec4 four = weights[lane][j];
          l = l + four.x;
          l = l + four.y;
          l = l + four.z;
          l = l + four.w;
        }
        sums[lane] = l;
      }
      barrier();
      if (some + kKeySlab < kChunk) {
        fetch_values(base + some + kKeySlab);
      } else {
        find_keys(base + stride);
        fetch_keys(0);
      }
      UNROLL for (uint key = 0; key < kKeySlab; key += 4) {
        vec4 w[4];
        UNROLL for (uint i = 0; i < 4; ++i) w[i] = weights[row0 + i][(some + key) / 4];
        UNROLL for (uint k = 0; k < 4; ++k) {
          UNROLL for (uint j = 0; j < kFeatures; ++j) {
            vec4 value = slab[(key + k) * kValueQuads + min(column + 16 * j, kValueQuads - 1)];
            UNROLL for (uint i = 0; i < 4; ++i) sum[i][j] = fma(vec4(w[i][k]), value, sum[i][j]);
          }
        }
      }
    }
    if (kSplit != 0) {
      UNROLL for (uint i = 0; i < 4; ++i) give_chunk(base / kChunk, row0 + i, m[i], sum[i]);
      continue;
    }
    UNROLL for (uint i = 0; i < 4; ++i) {
      vec2 factors = merge_factors(merged[i], m[i], sums[row0 + i]);
      UNROLL for (uint j = 0; j < kFeatures; ++j) out_[i][j] = merge_values(out_[i][j], sum[i][j], factors);
    }
  }

  if (kSplit != 0) return;
  UNROLL for (uint i = 0; i < 4; ++i) {
    uint row = row0 + i, t = first_token + row / kHeads;
    if (row >= kTokens * kHeads || t >= push.n_tokens) break;
    UNROLL for (uint j = 0; j < kFeatures; ++j) {
      uint feature = column + 16 * j;
      if (feature < kValueQuads)
        o[(t * push.n_head + first_head + row % kHeads) * kQuads + 2 * first_value + feature] =
            out_[i][j] / merged[i].l;
    }
  }
}
