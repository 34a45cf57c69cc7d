// Causal grouped-query attention over the F16 cache: o = softmax(q . k / sqrt(head_dim)) v. One workgroup takes
// kHeads heads that share a key head, for one token, so that a key or value is loaded once for all of them. It
// walks the keys in chunks of its own size with a running maximum (online softmax, Milakov & Gimelshein 2018):
//   scores    one key an invocation
//   softmax   one head a subgroup
//   values    the invocations share out features (pairs) and keys
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_arithmetic : require
#include "params.h"

layout(local_size_x_id = 0) in;
layout(constant_id = 2) const uint kHeads = 1;

layout(push_constant) uniform Push { AttentionPush push; };
layout(binding = 0) readonly buffer Params { uint params[]; };
layout(binding = 1) readonly buffer Qkv { vec2 qkv[]; };      // [n_tokens][n_head + 2 n_head_kv][head_dim / 2]
layout(binding = 2) readonly buffer K { uvec4 k_cache[]; };   // [n_ctx][n_head_kv][head_dim / 8], F16
layout(binding = 3) readonly buffer V { uint v_cache[]; };    // [n_ctx][n_head_kv][head_dim / 2], F16 pairs
layout(binding = 4) writeonly buffer O { vec2 o[]; };         // [n_tokens][n_head][head_dim / 2]

const uint kMaxPairs = 128;  // head_dim <= 256, and a workgroup has at least as many invocations as pairs
shared vec2 query[kHeads][kMaxPairs];
shared float weights[kHeads][gl_WorkGroupSize.x];  // scores, then exp(score - largest)
shared float largest[kHeads], total[kHeads], rescale[kHeads];
shared vec2 partial[gl_WorkGroupSize.x];

const uint kUnroll = 4;
const float kLowest = -3.4e38;

// Softmax of a chunk of `count` scores, continued from the chunks before.
void softmax(uint h, uint count) {
  float chunk_largest = kLowest;
  for (uint i = gl_SubgroupInvocationID; i < count; i += gl_SubgroupSize) chunk_largest = max(chunk_largest, weights[h][i]);
  float new_largest = max(largest[h], subgroupMax(chunk_largest));
  float sum = 0.0;
  for (uint i = gl_SubgroupInvocationID; i < count; i += gl_SubgroupSize) {
    float weight = exp(weights[h][i] - new_largest);
    weights[h][i] = weight;
    sum += weight;
  }
  sum = subgroupAdd(sum);
  if (!subgroupElect()) return;
  rescale[h] = exp(largest[h] - new_largest);
  total[h] = total[h] * rescale[h] + sum;
  largest[h] = new_largest;
}

void main() {
  uint lane = gl_LocalInvocationID.x, size = gl_WorkGroupSize.x;
  uint first_head = gl_WorkGroupID.x * kHeads, t = gl_WorkGroupID.y;
  uint kv_head = first_head / (push.n_head / push.n_head_kv);
  uint pairs = push.head_dim / 2;
  uint row = push.n_head_kv * pairs;  // words of one position in the cache
  uint n_keys = params[PARAMS_POSITION] + t + 1;

  for (uint h = 0; h < kHeads; ++h)
    for (uint i = lane; i < pairs; i += size)
      query[h][i] = qkv[(t * (push.n_head + 2 * push.n_head_kv) + first_head + h) * pairs + i] * push.scale;
  if (lane < kHeads) {
    largest[lane] = kLowest;
    total[lane] = 0.0;
  }
  barrier();

  uint groups = size / pairs;  // sets of invocations that share out the keys of a chunk
  uint group = lane / pairs, pair = lane % pairs;
  vec2 acc[kHeads];
  for (uint h = 0; h < kHeads; ++h) acc[h] = vec2(0.0);

  for (uint base = 0; base < n_keys; base += size) {
    uint count = min(size, n_keys - base);
    if (lane < count) {
      float score[kHeads];
      for (uint h = 0; h < kHeads; ++h) score[h] = 0.0;
      uint at = ((base + lane) * row + kv_head * pairs) / 4;
      for (uint i = 0; i < pairs; i += 4) {
        uvec4 key = k_cache[at + i / 4];
        for (uint h = 0; h < kHeads; ++h)
          score[h] += dot(query[h][i], unpackHalf2x16(key.x)) + dot(query[h][i + 1], unpackHalf2x16(key.y)) +
                      dot(query[h][i + 2], unpackHalf2x16(key.z)) + dot(query[h][i + 3], unpackHalf2x16(key.w));
      }
      for (uint h = 0; h < kHeads; ++h) weights[h][lane] = score[h];
    }
    barrier();
    for (uint h = gl_SubgroupID; h < kHeads; h += gl_NumSubgroups) softmax(h, count);
    barrier();
    for (uint h = 0; h < kHeads; ++h) acc[h] *= rescale[h];
    if (group < groups) {
      uint at = base * row + kv_head * pairs + pair;
      for (uint first = group; first < count; first += kUnroll * groups)
        for (uint u = 0; u < kUnroll; ++u) {  // several loads on their way at a time; past the end with weight 0
          uint key = first + u * groups;
          vec2 value = unpackHalf2x16(v_cache[at + min(key, count - 1) * row]);
          for (uint h = 0; h < kHeads; ++h) acc[h] += (key < count ? weights[h][key] : 0.0) * value;
        }
    }
    barrier();
  }

  for (uint h = 0; h < kHeads; ++h) {
    partial[lane] = acc[h];
    barrier();
    if (lane < pairs) {
      vec2 sum = vec2(0.0);
      for (uint g = 0; g < groups; ++g) sum += partial[g * pairs + lane];
      o[(t * push.n_head + first_head + h) * pairs + lane] = sum / total[h];
    }
    barrier();
  }
}
