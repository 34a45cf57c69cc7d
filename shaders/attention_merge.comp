// Attention of a few tokens whose chunks of keys attention.comp divides among workgroups: merges what these
// found, in the order of the chunks. A row of workgroups takes a head of a token, an invocation two features
// of it.
#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_GOOGLE_include_directive : require
#include "params.h"
#include "common/attention.glsl"

layout(local_size_x = 64) in;

layout(push_constant) uniform Push { AttentionMergePush push; };
layout(binding = 0) readonly buffer Params { uint params[]; };
layout(binding = 1) readonly buffer Chunks { vec2 chunks[]; };  // [n_tokens][n_head][max_chunks][1 + head_dim / 2]
layout(binding = 2) writeonly buffer O { vec2 o[]; };           // [n_tokens][n_head][head_dim / 2]

void main() {
  uint pairs = push.head_dim / 2, head = gl_WorkGroupID.y, pair = gl_GlobalInvocationID.x;
  if (pair >= pairs) return;
  uint position = params[PARAMS_POSITION] + head / push.n_head, last = position / kChunk;
  uint of_head = head * push.max_chunks;
  Merged merged = Merged(kLowest, 0.0);
  vec2 sum = vec2(0.0);
  const uint kLoads = 8;  // chunks on their way together
  for (uint first = first_seen(position) / kChunk; first <= last; first += kLoads) {
    vec2 m_l[kLoads], values[kLoads];
    [[unroll]] for (uint i = 0; i < kLoads; ++i) {
      uint at = (of_head + min(first + i, last)) * (1 + pairs);
      m_l[i] = chunks[at];
      values[i] = chunks[at + 1 + pair];
    }
    [[unroll]] for (uint i = 0; i < kLoads; ++i) {
      if (first + i > last) break;
      vec2 factors = merge_factors(merged, m_l[i].x, m_l[i].y);
      sum = merge_values(sum, values[i], factors);
    }
  }
  o[head * pairs + pair] = sum / merged.l;
}
