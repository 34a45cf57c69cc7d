// Prefill: causal attention over the F16 cache for a batch of tokens, in tiles. A workgroup takes as many query rows
// as it has invocations / 4: tokens in turn, kHeads heads of each that share a key head. For every chunk of keys
//   scores   rows x keys, a slab of features at a time through shared memory, 4 x 4 an invocation
//   values   rows x features, a slab of keys at a time, 4 x 4 kFeatures an invocation
// The order of operations is that of common/attention.glsl.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "params.h"
#include "common/attention.glsl"

layout(local_size_x_id = 0) in;
layout(constant_id = 2) const uint kHeads = 1;
layout(constant_id = 7) const uint kFeatures = 2;  // head_dim / 64, rounded up

layout(push_constant) uniform Push { AttentionPush push; };
layout(binding = 0) readonly buffer Params { uint params[]; };
layout(binding = 1) readonly buffer Qkv { vec4 qkv[]; };      // [n_tokens][n_head + 2 n_head_kv][head_dim / 4], rotated
layout(binding = 2) readonly buffer K { uvec4 k_cache[]; };   // [n_ctx][n_head_kv][head_dim / 8], F16
layout(binding = 3) readonly buffer V { uvec4 v_cache[]; };   // [n_ctx][n_head_kv][head_dim / 8], F16
layout(binding = 4) writeonly buffer O { vec4 o[]; };         // [n_tokens][n_head][head_dim / 4]

const uint kRows = gl_WorkGroupSize.x / 4;  // 4 an invocation; 16 invocations share them
const uint kTokens = kRows / kHeads;
const uint kSlab = 16;     // features of a slab of scores
const uint kKeySlab = 8;   // keys of a slab of values
const uint kMaxDim = 256;

shared vec4 weights[kRows][kChunk / 4];      // scores, then weights
shared vec4 slab_q[kSlab * kRows / 4];       // [feature][row]
shared vec4 slab_k[kSlab * kChunk / 4];      // [feature][key]
shared vec4 slab_v[kKeySlab * kMaxDim / 4];  // [key][head_dim / 4]

uint lane, column, row0;  // an invocation's rows are row0 .. row0 + 3, its keys and features at column * 4
uint first_token, first_head, kv_head, units;

uint token_of(uint row) { return min(first_token + row / kHeads, push.n_tokens - 1); }

void load_scores_slab(uint begin, uint end, uint base, uint n_keys) {
  uint quads = (end - begin) / 4;
  for (uint i = lane; i < kRows * quads; i += gl_WorkGroupSize.x) {
    uint row = i / quads, quad = i % quads;
    uint head = token_of(row) * (push.n_head + 2 * push.n_head_kv) + first_head + row % kHeads;
    precise vec4 scaled = qkv[head * (push.head_dim / 4) + begin / 4 + quad] * push.scale;
    for (uint j = 0; j < 4; ++j) slab_q[((4 * quad + j) * kRows + row) / 4][row % 4] = scaled[j];
  }
  uint eights = (end - begin) / 8;
  for (uint i = lane; i < kChunk * eights; i += gl_WorkGroupSize.x) {
    uint key = i / eights, eight = i % eights;
    uvec4 bits = uvec4(0);
    if (base + key < n_keys) bits = k_cache[((base + key) * push.n_head_kv + kv_head) * units + begin / 8 + eight];
    for (uint j = 0; j < 4; ++j) {
      vec2 pair = unpackHalf2x16(bits[j]);
      slab_k[((8 * eight + 2 * j) * kChunk + key) / 4][key % 4] = pair.x;
      slab_k[((8 * eight + 2 * j + 1) * kChunk + key) / 4][key % 4] = pair.y;
    }
  }
}

void load_values_slab(uint first_key, uint n_keys) {
  for (uint i = lane; i < kKeySlab * units; i += gl_WorkGroupSize.x) {
    uint key = first_key + i / units, unit = i % units;
    uvec4 bits = uvec4(0);  // what lies behind the last key may be NaN, and would spoil a weight of 0
    if (key < n_keys) bits = v_cache[(key * push.n_head_kv + kv_head) * units + unit];
    slab_v[2 * i] = vec4(unpackHalf2x16(bits.x), unpackHalf2x16(bits.y));
    slab_v[2 * i + 1] = vec4(unpackHalf2x16(bits.z), unpackHalf2x16(bits.w));
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
  uint n_keys = position + min(first_token + kTokens, push.n_tokens);  // of the tile's last token
  uint quads = push.head_dim / 4;

  Merged merged[4];
  vec4 out_[4][kFeatures];
  for (uint i = 0; i < 4; ++i) {
    merged[i] = Merged(kLowest, 0.0);
    for (uint j = 0; j < kFeatures; ++j) out_[i][j] = vec4(0.0);
  }

  for (uint base = 0; base < n_keys; base += kChunk) {
    vec4 score[4];
    for (uint i = 0; i < 4; ++i) score[i] = vec4(0.0);
    for (uint quarter = 0; quarter < 4; ++quarter) {
      uvec2 range = quarter_of(quarter, push.head_dim);
      vec4 sum[4];
      for (uint i = 0; i < 4; ++i) sum[i] = vec4(0.0);
      for (uint begin = range.x; begin < range.y; begin += kSlab) {
        uint end = min(begin + kSlab, range.y);
        barrier();
        load_scores_slab(begin, end, base, n_keys);
        barrier();
        for (uint f = 0; f < end - begin; ++f) {
          vec4 k = slab_k[f * kChunk / 4 + column], q = slab_q[(f * kRows + row0) / 4];
          for (uint i = 0; i < 4; ++i) sum[i] = fma(vec4(q[i]), k, sum[i]);
        }
      }
      for (uint i = 0; i < 4; ++i) {
        precise vec4 total = score[i] + sum[i];
        score[i] = total;
      }
    }

    bvec4 seen[4];
    for (uint i = 0; i < 4; ++i) {
      seen[i] = lessThanEqual(uvec4(base + 4 * column) + uvec4(0, 1, 2, 3), uvec4(position + token_of(row0 + i)));
      score[i] = mix(vec4(kLowest), score[i], seen[i]);
      weights[row0 + i][column] = score[i];
    }
    barrier();
    float m[4];
    for (uint i = 0; i < 4; ++i) {
      m[i] = kLowest;
      for (uint j = 0; j < kChunk / 4; ++j) {
        vec4 four = weights[row0 + i][j];
        m[i] = max(m[i], max(max(four.x, four.y), max(four.z, four.w)));
      }
    }
    barrier();
    for (uint i = 0; i < 4; ++i) {
      precise vec4 exponent = score[i] - m[i];
      weights[row0 + i][column] = mix(vec4(0.0), exp2(exponent), seen[i]);
    }

    precise float l[4] = float[4](0.0, 0.0, 0.0, 0.0);
    vec4 sum[4][kFeatures];
    for (uint i = 0; i < 4; ++i)
      for (uint j = 0; j < kFeatures; ++j) sum[i][j] = vec4(0.0);
    for (uint first_key = 0; first_key < kChunk; first_key += kKeySlab) {
      barrier();
      load_values_slab(base + first_key, n_keys);
      barrier();
      for (uint key = 0; key < kKeySlab; key += 4) {
        vec4 w[4];
        for (uint i = 0; i < 4; ++i) w[i] = weights[row0 + i][(first_key + key) / 4];
        for (uint k = 0; k < 4; ++k) {
          for (uint i = 0; i < 4; ++i) l[i] += w[i][k];
          for (uint j = 0; j < kFeatures; ++j) {
            uint feature = column + 16 * j;
            if (feature >= quads) break;
            vec4 value = slab_v[(key + k) * quads + feature];
            for (uint i = 0; i < 4; ++i) sum[i][j] = fma(vec4(w[i][k]), value, sum[i][j]);
          }
        }
      }
    }
    for (uint i = 0; i < 4; ++i) {
      vec2 factors = merge_factors(merged[i], m[i], l[i]);
      for (uint j = 0; j < kFeatures; ++j) out_[i][j] = merge_values(out_[i][j], sum[i][j], factors);
    }
  }

  for (uint i = 0; i < 4; ++i) {
    uint row = row0 + i, t = first_token + row / kHeads;
    if (row >= kTokens * kHeads || t >= push.n_tokens) break;
    for (uint j = 0; j < kFeatures; ++j) {
      uint feature = column + 16 * j;
      if (feature < quads) o[(t * push.n_head + first_head + row % kHeads) * quads + feature] = out_[i][j] / merged[i].l;
    }
  }
}
