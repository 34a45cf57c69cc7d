// Applies RoPE to q in place and to k on its way into the cache; v goes into the cache as it is. An
// invocation takes a pair of features of one head of one token.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "params.h"
#include "common/half.glsl"

layout(local_size_x = 64) in;

layout(push_constant) uniform Push { RopePush push; };
layout(binding = 0) readonly buffer Params { uint params[]; };
layout(binding = 1) readonly buffer Rotation { vec2 rotation[]; };  // [n_ctx][rope_dim / 2]: cos, sin
layout(binding = 2) buffer Qkv { float qkv[]; };             // [n_tokens][n_head + 2 n_head_kv][head_dim]
layout(binding = 3) writeonly buffer K { uint k_cache[]; };  // [n_ctx][n_head_kv][head_dim / 2], F16 pairs
layout(binding = 4) writeonly buffer V { uint v_cache[]; };

#include "common/rope.glsl"

void main() {
  uint t = gl_WorkGroupID.y;
  uint position = params[PARAMS_POSITION] + t;
  uint n_q = push.n_head * push.head_dim, n_kv = push.n_head_kv * push.head_dim;
  uint token = t * (n_q + 2 * n_kv);
  uint pairs = push.head_dim / 2;
  uint head = gl_GlobalInvocationID.x / pairs, pair = gl_GlobalInvocationID.x % pairs;

  if (head < push.n_head) {  // in place: this invocation alone touches the two features it rotates
    uint n = push.rope_dim / 2;
    if (pair >= n) return;
    uint at = token + head * push.head_dim;
    float low = rotated(at, pair, position), high = rotated(at, pair + n, position);
    qkv[at + pair] = low;
    qkv[at + pair + n] = high;
  } else if (head < push.n_head + push.n_head_kv) {  // neighbours 2p, 2p + 1 share a word of the cache
    uint kv_head = head - push.n_head;
    uint at = token + n_q + kv_head * push.head_dim;
    k_cache[(position * push.n_head_kv + kv_head) * pairs + pair] =
        pack_half2(rotated(at, 2 * pair, position), rotated(at, 2 * pair + 1, position));
  } else if (head < push.n_head + 2 * push.n_head_kv) {
    uint kv_head = head - push.n_head - push.n_head_kv;
    uint at = token + n_q + n_kv + kv_head * push.head_dim + 2 * pair;
    v_cache[(position * push.n_head_kv + kv_head) * pairs + pair] = pack_half2(qkv[at], qkv[at + 1]);
  }
}
