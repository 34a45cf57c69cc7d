// Decode: RoPE, the new key and value into the cache, and attention over everything cached, for one token in one
// dispatch. A workgroup takes kHeads heads that share a key head, and one chunk of the keys; of those with the same
// heads the one that finishes last merges all their results. Nobody waits for anybody.
#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_GOOGLE_include_directive : require
#include "params.h"
#include "common/attention.glsl"
#include "common/half.glsl"

layout(local_size_x_id = 0) in;
layout(constant_id = 2) const uint kHeads = 1;
layout(constant_id = 8) const uint kUnits = 4;      // uvec4 of the longest quarter of a head
layout(constant_id = 10) const uint kHeadDim = 128;  // so that the compiler need not divide

layout(push_constant) uniform Push { AttentionPush push; };
layout(binding = 0) readonly buffer Params { uint params[]; };
layout(binding = 1) readonly buffer Rotation { vec2 rotation[]; };
layout(binding = 2) readonly buffer Qkv { float qkv[]; };       // [n_head + 2 n_head_kv][head_dim]
layout(binding = 3) restrict buffer K { uvec4 k_cache[]; };              // [n_ctx][n_head_kv][head_dim / 8], F16
layout(binding = 4) restrict buffer V { uint v_cache[]; };               // [n_ctx][n_head_kv][head_dim / 2], F16 pairs
layout(binding = 5) writeonly buffer O { vec2 o[]; };           // [n_head][head_dim / 2]
layout(binding = 6) coherent buffer Parts { vec2 parts[]; };    // [n_head][max_chunks][1 + head_dim / 2]: (m, l), o
layout(binding = 7) coherent buffer Finished { uint finished[]; };  // [n_head / kHeads]: chunks done; 0 in between

#include "common/rope.glsl"

const uint kMaxDim = 256;
shared vec4 query[kHeads][kMaxDim / 4];
shared uvec4 new_key[kMaxDim / 8];
shared uint new_value[kMaxDim / 2];
shared float quarter_sums[4][kHeads][kChunk];
shared vec4 weights[kHeads][kChunk / 4];  // scores, then weights
shared float largest[kHeads];
shared bool is_last;

const uint kItems = (kHeads * kChunk + gl_WorkGroupSize.x - 1) / gl_WorkGroupSize.x;
const uint kKeyItems = (4 * kChunk + gl_WorkGroupSize.x - 1) / gl_WorkGroupSize.x;
const uint kBlock = 16;  // chunks whose loads are on their way together

uint values[kChunk];  // one pair of features of every key

float dot8(uvec4 key, uint h, uint at, float sum) {
  UNROLL for (uint i = 0; i < 2; ++i) {
    vec4 four = query[h][at / 4 + i];
    vec2 first = unpackHalf2x16(key[2 * i]), second = unpackHalf2x16(key[2 * i + 1]);
    sum = fma(four.w, second.y, fma(four.z, second.x, fma(four.y, first.y, fma(four.x, first.x, sum))));
  }
  return sum;
}

// Those of an invocation's item: pair item % pairs. Zero where a key is not in the cache.
void load_values(uint first, uint stride, uint old_keys) {
  UNROLL for (uint key = 0; key < kChunk; ++key) {
    values[key] = 0;
    if (key < old_keys) values[key] = v_cache[first + key * stride];
  }
}

void main() {
  uint lane = gl_LocalInvocationID.x, size = gl_WorkGroupSize.x;
  uint first_head = gl_WorkGroupID.x * kHeads, chunk = gl_WorkGroupID.y;
  uint group = push.n_head / push.n_head_kv, kv_head = first_head / group;
  uint position = params[PARAMS_POSITION];
  uint n_chunks = position / kChunk + 1;
  if (chunk >= n_chunks) return;
  uint base = chunk * kChunk, count = min(kChunk, position + 1 - base);
  bool has_new = chunk == n_chunks - 1;
  uint pairs = kHeadDim / 2, units = kHeadDim / 8;
  uint old_keys = has_new ? count - 1 : count;  // those in the cache

  // Keys and values first: they are on their way from memory while q is rotated.
  uvec4 keys[kKeyItems][kUnits];
  UNROLL for (uint i = 0; i < kKeyItems; ++i) {
    uint item = lane + i * size, key = item % kChunk;
    uvec2 range = quarter_of(item / kChunk, kHeadDim) / 8;
    uint at = ((base + key) * push.n_head_kv + kv_head) * units;
    UNROLL for (uint unit = 0; unit < kUnits; ++unit) {
      keys[i][unit] = uvec4(0);
      if (key < old_keys && range.x + unit < range.y) keys[i][unit] = k_cache[at + range.x + unit];
    }
  }

  uint stride = push.n_head_kv * pairs, values_at = (base * push.n_head_kv + kv_head) * pairs;
  if (lane < kHeads * pairs) load_values(values_at + lane % pairs, stride, old_keys);

  for (uint i = lane; i < kHeads * kHeadDim; i += size) {
    uint h = i / kHeadDim, feature = i % kHeadDim;
    query[h][feature / 4][feature % 4] = rotated((first_head + h) * kHeadDim, feature, position) * push.scale;
  }
  if (has_new) {  // every workgroup that needs it makes it; one stores it
    uint key = (push.n_head + kv_head) * kHeadDim, value = key + push.n_head_kv * kHeadDim;
    uint row = position * push.n_head_kv + kv_head;
    for (uint i = lane; i < pairs; i += size) {
      new_key[i / 4][i % 4] = pack_half2(rotated(key, 2 * i, position), rotated(key, 2 * i + 1, position));
      new_value[i] = pack_half2(qkv[value + 2 * i], qkv[value + 2 * i + 1]);
      if (first_head % group == 0) v_cache[row * pairs + i] = new_value[i];
    }
  }
  barrier();
  if (has_new && first_head % group == 0)
    for (uint i = lane; i < units; i += size)
      k_cache[(position * push.n_head_kv + kv_head) * units + i] = new_key[i];

  UNROLL for (uint i = 0; i < kKeyItems; ++i) {
    uint item = lane + i * size, key = item % kChunk, quarter = item / kChunk;
    if (key >= count || quarter >= 4) continue;
    uvec2 range = quarter_of(quarter, kHeadDim) / 8;
    float sum[kHeads];
    UNROLL for (uint h = 0; h < kHeads; ++h) sum[h] = 0.0;
    UNROLL for (uint unit = 0; unit < kUnits; ++unit) {
      if (range.x + unit >= range.y) break;
      uvec4 bits = key < old_keys ? keys[i][unit] : new_key[range.x + unit];
      UNROLL for (uint h = 0; h < kHeads; ++h) sum[h] = dot8(bits, h, 8 * (range.x + unit), sum[h]);
    }
    UNROLL for (uint h = 0; h < kHeads; ++h) quarter_sums[quarter][h][key] = sum[h];
  }
  barrier();

  float score[kItems];
  UNROLL for (uint i = 0; i < kItems; ++i) {
    uint item = lane + i * size, h = item / kChunk, key = item % kChunk;
    if (h >= kHeads) break;
    precise float sum = 0.0;
    for (uint quarter = 0; quarter < 4; ++quarter) sum += quarter_sums[quarter][h][key];
    score[i] = key < count ? sum : kLowest;
    weights[h][key / 4][key % 4] = score[i];
  }
  barrier();
  UNROLL for (uint i = 0; i < kItems; ++i) {
    uint item = lane + i * size, h = item / kChunk, key = item % kChunk;
    if (h >= kHeads) break;
    vec4 four = vec4(kLowest);
    UNROLL for (uint j = 0; j < kChunk / 4; ++j) four = max(four, weights[h][j]);
    float m = max(max(four.x, four.y), max(four.z, four.w));
    if (key == 0) largest[h] = m;
    precise float exponent = score[i] - m;
    score[i] = key < count ? exp2(exponent) : 0.0;
  }
  barrier();
  UNROLL for (uint i = 0; i < kItems; ++i) {
    uint item = lane + i * size, h = item / kChunk, key = item % kChunk;
    if (h < kHeads) weights[h][key / 4][key % 4] = score[i];
  }
  barrier();

  for (uint item = lane; item < kHeads * pairs; item += size) {
    uint h = item / pairs, pair = item % pairs;
    if (item != lane) load_values(values_at + pair, stride, old_keys);
    vec2 sum = vec2(0.0);
    precise float l = 0.0;
    UNROLL for (uint key = 0; key < kChunk; ++key) {  // past the end a weight and a value of 0
      uint bits = has_new && key == old_keys ? new_value[pair] : values[key];
      float weight = weights[h][key / 4][key % 4];  // four to a load
      sum = fma(vec2(weight), unpackHalf2x16(bits), sum);
      l += weight;
    }
    if (n_chunks == 1) {
      o[(first_head + h) * pairs + pair] = sum / l;
    } else {
      uint part = ((first_head + h) * push.max_chunks + chunk) * (1 + pairs);
      if (pair == 0) parts[part] = vec2(largest[h], l);
      parts[part + 1 + pair] = sum;
    }
  }
  if (n_chunks == 1) return;

  memoryBarrierBuffer();
  barrier();
  if (lane == 0) is_last = atomicAdd(finished[gl_WorkGroupID.x], 1) == n_chunks - 1;
  barrier();
  if (!is_last) return;
  memoryBarrierBuffer();
  if (lane == 0) finished[gl_WorkGroupID.x] = 0;
  for (uint item = lane; item < kHeads * pairs; item += size) {
    uint h = item / pairs, pair = item % pairs;
    Merged merged = Merged(kLowest, 0.0);
    vec2 sum = vec2(0.0);
    uint head = (first_head + h) * push.max_chunks;
    for (uint first = 0; first < n_chunks; first += kBlock) {
      vec2 m_l[kBlock], values[kBlock];
      UNROLL for (uint i = 0; i < kBlock; ++i) {
        uint part = (head + min(first + i, n_chunks - 1)) * (1 + pairs);
        m_l[i] = parts[part];
        values[i] = parts[part + 1 + pair];
      }
      UNROLL for (uint i = 0; i < kBlock; ++i)
        if (first + i < n_chunks) sum = merge_values(sum, values[i], merge_factors(merged, m_l[i].x, m_l[i].y));
    }
    o[(first_head + h) * pairs + pair] = sum / merged.l;
  }
}
