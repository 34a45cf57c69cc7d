// What comes between the product for q, k and v and attention: the bias and the norms of heads, where a model
// has them, then RoPE of q in place and of k on its way into the cache; v goes into the cache without RoPE. A
// workgroup takes a head of a few tokens side by side, and then of others, as far away as there are
// workgroups of a head; its invocations take pairs of features.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "params.h"
#include "common/half.glsl"
#include "common/head_norm.glsl"

layout(local_size_x = 64, local_size_y_id = CONSTANT_TOKENS) in;

layout(push_constant) uniform Push { RopePush push; };
layout(binding = 0) readonly buffer Params { uint params[]; };
layout(binding = 1) readonly buffer Rotation { vec2 rotation[]; };  // [n_ctx][rope_dim / 2]: cos, sin
layout(binding = 2) buffer Qkv { float qkv[]; };             // [n_tokens][row_heads][head_dim]
layout(binding = 3) writeonly buffer K { uint k_cache[]; };  // [cache_rows][n_head_kv][head_dim / 2], F16 pairs
layout(binding = 4) writeonly buffer V { uint v_cache[]; };
layout(binding = 5) readonly buffer Bias { float bias[]; };  // [row_heads][head_dim]
layout(binding = 6) readonly buffer QNorm { float q_norm[]; };  // [head_dim]
layout(binding = 7) readonly buffer KNorm { float k_norm[]; };
layout(binding = 8) readonly buffer VNorm { float v_norm[]; };

const bool kVIsK = (kHeadInput & HEAD_V_IS_K) != 0;

shared vec4 shares[gl_WorkGroupSize.y][kShares / 4];

uint head;  // of q, then of k, then of v
bool is_q, is_k;
float inverse;  // of the norm of q or k, where there is one, or of v where that is a head of its own

bool has(uint flag) { return (kHeadInput & flag) != 0; }

float biased(uint at, uint i) {
  float x = qkv[at + i];
  if (kHasBias) {
    precise float sum = x + bias[head * push.head_dim + i];
    x = sum;
  }
  return x;
}

// Feature `i` of a head of q or k.
float feature(uint at, uint i) {
  float x = biased(at, i);
  if (is_q) return has(HEAD_Q_NORM) ? normed(x, inverse, has(HEAD_Q_ONES) ? 1.0 : q_norm[i]) : x;
  return has(HEAD_K_NORM) ? normed(x, inverse, has(HEAD_K_ONES) ? 1.0 : k_norm[i]) : x;
}

float value(uint at, uint i, float inverse_of_v) {
  float x = biased(at, i);
  return has(HEAD_V_NORM) ? normed(x, inverse_of_v, has(HEAD_V_ONES) ? 1.0 : v_norm[i]) : x;
}

#include "common/rope.glsl"

void sum_squares(uint at) {
  uint lane = gl_LocalInvocationID.x;
  if (lane < kShares) {
    float sum = 0.0;
    for (uint i = lane; i < push.head_dim; i += kShares) sum = add_square(biased(at, i), sum);
    shares[gl_LocalInvocationID.y][lane / 4][lane % 4] = sum;
  }
  barrier();  // also: everyone has read the features that are written from here on
}

// Of the tokens from `first` on, those past the end repeat the last one and write nothing.
void take(uint first) {
  uint own = gl_LocalInvocationID.y, t = min(first + own, push.n_tokens - 1);
  uint position = params[PARAMS_POSITION] + t;
  uint pairs = push.head_dim / 2;
  head = gl_WorkGroupID.x;
  uint at = (t * push.row_heads + head) * push.head_dim;
  is_q = head < push.n_head;
  is_k = !is_q && head < push.n_head + push.n_head_kv;
  bool gives_v = !is_q && (!is_k || kVIsK);
  float inverse_of_v = 1.0;
  if (first >= gl_NumWorkGroups.y * gl_WorkGroupSize.y) barrier();  // all have read the last shares
  if (has(is_q ? HEAD_Q_NORM : is_k ? HEAD_K_NORM : 0u) || (gives_v && has(HEAD_V_NORM))) {
    sum_squares(at);
    inverse = inverse_of_head(shares[own], push.per_feature, is_q ? push.q_epsilon : push.k_epsilon);
    inverse_of_v = inverse_of_head(shares[own], push.per_feature, push.v_epsilon);
  }

  if (first + own >= push.n_tokens) return;
  for (uint pair = gl_LocalInvocationID.x; pair < pairs; pair += gl_WorkGroupSize.x) {
    uint n = push.rope_dim / 2;
    if (is_q) {  // in place: this invocation alone touches the two features it takes
      if (pair >= n && !kHasBias && !has(HEAD_Q_NORM)) continue;
      uint first = pair < n ? pair : 2 * pair, second = pair < n ? pair + n : 2 * pair + 1;
      float low = rotated(at, first, position), high = rotated(at, second, position);
      qkv[at + first] = low;
      qkv[at + second] = high;
      continue;
    }
    // neighbours 2p, 2p + 1 share a word of the cache
    uint kv_head = (head - push.n_head) % push.n_head_kv;
    uint to = (position % push.cache_rows * push.n_head_kv + kv_head) * pairs + pair;
    if (is_k)
      k_cache[to] = pack_half2(rotated(at, 2 * pair, position), rotated(at, 2 * pair + 1, position));
    if (gives_v)
      v_cache[to] = pack_half2(value(at, 2 * pair, inverse_of_v), value(at, 2 * pair + 1, inverse_of_v));
  }
}

void main() {
  uint tokens = gl_WorkGroupSize.y;
  for (uint t = gl_WorkGroupID.y * tokens; t < push.n_tokens; t += gl_NumWorkGroups.y * tokens) take(t);
}
