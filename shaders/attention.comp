// Prefill: causal attention over the F16 cache for a batch of tokens, in tiles. A workgroup takes as many query rows
// as it has invocations / 4: tokens in turn, kHeads heads of each that share a key head. For every chunk of keys
//   scores   rows x keys, a slab of features at a time through shared memory, 4 x 4 an invocation
//   values   rows x features, a slab of keys at a time, 4 x 4 kFeatures an invocation
// The order of operations is that of common/attention.glsl.
#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_GOOGLE_include_directive : require
#include "params.h"
#include "common/attention.glsl"

layout(local_size_x_id = 0) in;
layout(constant_id = 2) const uint kHeads = 1;
layout(constant_id = 7) const uint kFeatures = 2;  // head_dim / 64, rounded up
layout(constant_id = 8) const uint kSlab = 32;     // features of a slab of scores
layout(constant_id = 9) const uint kKeySlab = 16;  // keys of a slab of values

layout(push_constant) uniform Push { AttentionPush push; };
layout(binding = 0) readonly buffer Params { uint params[]; };
layout(binding = 1) readonly buffer Qkv { vec4 qkv[]; };      // [n_tokens][n_head + 2 n_head_kv][head_dim / 4], rotated
layout(binding = 2) readonly buffer K { uvec4 k_cache[]; };   // [n_ctx][n_head_kv][head_dim / 8], F16
layout(binding = 3) readonly buffer V { uvec4 v_cache[]; };   // [n_ctx][n_head_kv][head_dim / 8], F16
layout(binding = 4) writeonly buffer O { vec4 o[]; };         // [n_tokens][n_head][head_dim / 4]

const uint kRows = gl_WorkGroupSize.x / 4;  // 4 an invocation; 16 invocations share them
const uint kTokens = kRows / kHeads;
const uint kScoreSlab = kSlab * (kRows + kChunk) / 4, kValueSlab = kKeySlab * kFeatures * 16;

shared vec4 weights[kRows][kChunk / 4];  // scores, then weights
// What a step works on: q as [feature][row], behind it k as [feature][key]; or v as [key][head_dim / 4].
shared vec4 slab[kScoreSlab > kValueSlab ? kScoreSlab : kValueSlab];
const uint kSlabK = kSlab * kRows / 4;

// The next step's share of an invocation, on its way from memory while the present step is computed.
const uint kFetchQ = (kRows * kSlab / 4 + gl_WorkGroupSize.x - 1) / gl_WorkGroupSize.x;
const uint kFetchK = (kChunk * kSlab / 8 + gl_WorkGroupSize.x - 1) / gl_WorkGroupSize.x;
const uint kFetchV = (kKeySlab * kFeatures * 8 + gl_WorkGroupSize.x - 1) / gl_WorkGroupSize.x;
vec4 next_q[kFetchQ];
uvec4 next_k[kFetchK], next_v[kFetchV];

uint lane, column, row0;  // an invocation's rows are row0 .. row0 + 3, its keys and features at column * 4
uint first_token, first_head, kv_head, n_keys, units;
uint slabs_a_quarter, n_score_slabs;

uint token_of(uint row) { return min(first_token + row / kHeads, push.n_tokens - 1); }

// Features [begin, end) of step `i` of the scores; a quarter is a whole number of steps.
uvec2 features_of(uint i) {
  uvec2 quarter = quarter_of(i / slabs_a_quarter, push.head_dim);
  uint begin = min(quarter.x + i % slabs_a_quarter * kSlab, quarter.y);
  return uvec2(begin, min(begin + kSlab, quarter.y));
}

void fetch_scores(uint i, uint base) {
  uvec2 features = features_of(i);
  UNROLL for (uint j = 0; j < kFetchQ; ++j) {
    uint row = (lane + j * gl_WorkGroupSize.x) / (kSlab / 4), feature = features.x + (lane + j * gl_WorkGroupSize.x) % (kSlab / 4) * 4;
    uint head = token_of(row) * (push.n_head + 2 * push.n_head_kv) + first_head + row % kHeads;
    next_q[j] = vec4(0.0);
    if (row < kRows && feature < features.y) next_q[j] = qkv[head * (push.head_dim / 4) + feature / 4];
  }
  UNROLL for (uint j = 0; j < kFetchK; ++j) {
    uint key = (lane + j * gl_WorkGroupSize.x) / (kSlab / 8), feature = features.x + (lane + j * gl_WorkGroupSize.x) % (kSlab / 8) * 8;
    next_k[j] = uvec4(0);
    if (key < kChunk && base + key < n_keys && feature < features.y)
      next_k[j] = k_cache[((base + key) * push.n_head_kv + kv_head) * units + feature / 8];
  }
}

void store_scores() {
  UNROLL for (uint j = 0; j < kFetchQ; ++j) {
    uint row = (lane + j * gl_WorkGroupSize.x) / (kSlab / 4), feature = (lane + j * gl_WorkGroupSize.x) % (kSlab / 4) * 4;
    if (row >= kRows) break;
    precise vec4 scaled = next_q[j] * push.scale;
    UNROLL for (uint c = 0; c < 4; ++c) slab[((feature + c) * kRows + row) / 4][row % 4] = scaled[c];
  }
  UNROLL for (uint j = 0; j < kFetchK; ++j) {
    uint key = (lane + j * gl_WorkGroupSize.x) / (kSlab / 8), feature = (lane + j * gl_WorkGroupSize.x) % (kSlab / 8) * 8;
    if (key >= kChunk) break;
    UNROLL for (uint c = 0; c < 4; ++c) {
      vec2 pair = unpackHalf2x16(next_k[j][c]);
      slab[kSlabK + ((feature + 2 * c) * kChunk + key) / 4][key % 4] = pair.x;
      slab[kSlabK + ((feature + 2 * c + 1) * kChunk + key) / 4][key % 4] = pair.y;
    }
  }
}

void fetch_values(uint first_key) {
  UNROLL for (uint j = 0; j < kFetchV; ++j) {
    uint i = lane + j * gl_WorkGroupSize.x, key = first_key + i / units;
    next_v[j] = uvec4(0);  // what lies behind the last key may be NaN, and would spoil a weight of 0
    if (i < kKeySlab * units && key < n_keys) next_v[j] = v_cache[(key * push.n_head_kv + kv_head) * units + i % units];
  }
}

void store_values() {
  UNROLL for (uint j = 0; j < kFetchV; ++j) {
    uint i = lane + j * gl_WorkGroupSize.x;
    if (i >= kKeySlab * units) break;
    slab[2 * i] = vec4(unpackHalf2x16(next_v[j].x), unpackHalf2x16(next_v[j].y));
    slab[2 * i + 1] = vec4(unpackHalf2x16(next_v[j].z), unpackHalf2x16(next_v[j].w));
  }
}

void main() {
  lane = gl_LocalInvocationID.x;
  column = lane % 16;
  row0 = lane / 16 * 4;
  first_head = gl_WorkGroupID.x * kHeads;
  first_token = gl_WorkGroupID.y * kTokens;
  kv_head = first_head / (push.n_head / push.n_head_kv);
  units = push.head_dim / 8;
  uint position = params[PARAMS_POSITION];
  n_keys = position + min(first_token + kTokens, push.n_tokens);  // of the tile's last token
  uvec2 first_quarter = quarter_of(0, push.head_dim);
  slabs_a_quarter = (first_quarter.y + kSlab - 1) / kSlab;
  n_score_slabs = 4 * slabs_a_quarter;
  uint quads = push.head_dim / 4;

  Merged merged[4];
  vec4 out_[4][kFeatures];
  UNROLL for (uint i = 0; i < 4; ++i) {
    merged[i] = Merged(kLowest, 0.0);
    UNROLL for (uint j = 0; j < kFeatures; ++j) out_[i][j] = vec4(0.0);
  }

  fetch_scores(0, 0);
  for (uint base = 0; base < n_keys; base += kChunk) {
    vec4 score[4], sum4[4];
    UNROLL for (uint i = 0; i < 4; ++i) score[i] = sum4[i] = vec4(0.0);
    for (uint step = 0; step < n_score_slabs; ++step) {
      barrier();
      store_scores();
      barrier();
      if (step + 1 < n_score_slabs) fetch_scores(step + 1, base); else fetch_values(base);
      uvec2 features = features_of(step);
      for (uint f = 0; f < features.y - features.x; f += 8) {  // eight at a time: heads are whole eights
        UNROLL for (uint g = f; g < f + 8; ++g) {
          vec4 k = slab[kSlabK + g * kChunk / 4 + column], q = slab[(g * kRows + row0) / 4];
          UNROLL for (uint i = 0; i < 4; ++i) sum4[i] = fma(vec4(q[i]), k, sum4[i]);
        }
      }
      if ((step + 1) % slabs_a_quarter == 0) {
        UNROLL for (uint i = 0; i < 4; ++i) {
          precise vec4 total = score[i] + sum4[i];
          score[i] = total;
          sum4[i] = vec4(0.0);
        }
      }
    }

    bvec4 seen[4];
    UNROLL for (uint i = 0; i < 4; ++i) {
      seen[i] = lessThanEqual(uvec4(base + 4 * column) + uvec4(0, 1, 2, 3), uvec4(position + token_of(row0 + i)));
      score[i] = mix(vec4(kLowest), score[i], seen[i]);
      weights[row0 + i][column] = score[i];
    }
    barrier();
    float m[4];
    UNROLL for (uint i = 0; i < 4; ++i) {
      vec4 largest = vec4(kLowest);
      UNROLL for (uint j = 0; j < kChunk / 4; ++j) largest = max(largest, weights[row0 + i][j]);
      m[i] = max(max(largest.x, largest.y), max(largest.z, largest.w));
    }
    barrier();
    UNROLL for (uint i = 0; i < 4; ++i) {
      precise vec4 exponent = score[i] - m[i];
      weights[row0 + i][column] = mix(vec4(0.0), exp2(exponent), seen[i]);
    }

    precise vec4 l = vec4(0.0);
    vec4 sum[4][kFeatures];
    UNROLL for (uint i = 0; i < 4; ++i)
      UNROLL for (uint j = 0; j < kFeatures; ++j) sum[i][j] = vec4(0.0);
    for (uint first_key = 0; first_key < kChunk; first_key += kKeySlab) {
      barrier();
      store_values();
      barrier();
      if (first_key + kKeySlab < kChunk) fetch_values(base + first_key + kKeySlab); else fetch_scores(0, base + kChunk);
      UNROLL for (uint key = 0; key < kKeySlab; key += 4) {
        vec4 w[4];
        UNROLL for (uint i = 0; i < 4; ++i) w[i] = weights[row0 + i][(first_key + key) / 4];
        UNROLL for (uint k = 0; k < 4; ++k) {
          l += vec4(w[0][k], w[1][k], w[2][k], w[3][k]);
          UNROLL for (uint j = 0; j < kFeatures; ++j) {
            uint feature = min(column + 16 * j, quads - 1);
            vec4 value = slab[(key + k) * quads + feature];
            UNROLL for (uint i = 0; i < 4; ++i) sum[i][j] = fma(vec4(w[i][k]), value, sum[i][j]);
          }
        }
      }
    }
    UNROLL for (uint i = 0; i < 4; ++i) {
      vec2 factors = merge_factors(merged[i], m[i], l[i]);
      UNROLL for (uint j = 0; j < kFeatures; ++j) out_[i][j] = merge_values(out_[i][j], sum[i][j], factors);
    }
  }

  UNROLL for (uint i = 0; i < 4; ++i) {
    uint row = row0 + i, t = first_token + row / kHeads;
    if (row >= kTokens * kHeads || t >= push.n_tokens) break;
    UNROLL for (uint j = 0; j < kFeatures; ++j) {
      uint feature = column + 16 * j;
      if (feature < quads) o[(t * push.n_head + first_head + row % kHeads) * quads + feature] = out_[i][j] / merged[i].l;
    }
  }
}
