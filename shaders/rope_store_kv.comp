// What comes between the product for q, k and v and attention: the bias and the norms of heads, where a model
// has them, then RoPE of q in place and of k on its way into the cache; v goes into the cache without RoPE. A
// workgroup takes a head of a token, its invocations take pairs of features.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "params.h"
#include "common/half.glsl"
#include "common/head_norm.glsl"

layout(local_size_x = 64) in;

layout(push_constant) uniform Push { RopePush push; };
layout(binding = 0) readonly buffer Params { uint params[]; };
layout(binding = 1) readonly buffer Rotation { vec2 rotation[]; };  // [n_ctx][rope_dim / 2]: cos, sin
layout(binding = 2) buffer Qkv { float qkv[]; };             // [n_tokens][n_head + 2 n_head_kv][head_dim]
layout(binding = 3) writeonly buffer K { uint k_cache[]; };  // [n_ctx][n_head_kv][head_dim / 2], F16 pairs
layout(binding = 4) writeonly buffer V { uint v_cache[]; };
layout(binding = 5) readonly buffer Bias { float bias[]; };  // [n_head + 2 n_head_kv][head_dim]
layout(binding = 6) readonly buffer QNorm { float q_norm[]; };  // [head_dim]
layout(binding = 7) readonly buffer KNorm { float k_norm[]; };

shared vec4 shares[kShares / 4];

uint head;  // of q, then of k, then of v
bool q_normed, k_normed;
float inverse;

float biased(uint at, uint i) {
  float x = qkv[at + i];
  if (kHasBias) {
    precise float sum = x + bias[head * push.head_dim + i];
    x = sum;
  }
  return x;
}

float feature(uint at, uint i) {
  float x = biased(at, i);
  return q_normed ? normed(x, inverse, q_norm[i]) : k_normed ? normed(x, inverse, k_norm[i]) : x;
}

#include "common/rope.glsl"

void find_inverse(uint at) {
  uint lane = gl_LocalInvocationID.x;
  if (lane < kShares) {
    float sum = 0.0;
    for (uint i = lane; i < push.head_dim; i += kShares) sum = add_square(biased(at, i), sum);
    shares[lane / 4][lane % 4] = sum;
  }
  barrier();  // also: everyone has read the features that are written from here on
  inverse = inverse_of_head(shares, push.per_feature, q_normed ? push.q_epsilon : push.k_epsilon);
}

void main() {
  uint t = gl_WorkGroupID.y;
  uint position = params[PARAMS_POSITION] + t;
  uint pairs = push.head_dim / 2;
  head = gl_WorkGroupID.x;
  uint at = (t * (push.n_head + 2 * push.n_head_kv) + head) * push.head_dim;
  bool is_q = head < push.n_head, is_k = !is_q && head < push.n_head + push.n_head_kv;
  q_normed = is_q && (kHeadInput & HEAD_Q_NORM) != 0;
  k_normed = is_k && (kHeadInput & HEAD_K_NORM) != 0;
  if (q_normed || k_normed) find_inverse(at);

  for (uint pair = gl_LocalInvocationID.x; pair < pairs; pair += gl_WorkGroupSize.x) {
    uint n = push.rope_dim / 2;
    if (is_q) {  // in place: this invocation alone touches the two features it takes
      if (pair >= n && kHeadInput == 0) continue;
      uint first = pair < n ? pair : 2 * pair, second = pair < n ? pair + n : 2 * pair + 1;
      float low = rotated(at, first, position), high = rotated(at, second, position);
      qkv[at + first] = low;
      qkv[at + second] = high;
      continue;
    }
    // neighbours 2p, 2p + 1 share a word of the cache
    uint kv_head = head - push.n_head - (is_k ? 0 : push.n_head_kv);
    uint to = (position * push.n_head_kv + kv_head) * pairs + pair;
    if (is_k)
      k_cache[to] = pack_half2(rotated(at, 2 * pair, position), rotated(at, 2 * pair + 1, position));
    else
      v_cache[to] = pack_half2(feature(at, 2 * pair), feature(at, 2 * pair + 1));
  }
}
