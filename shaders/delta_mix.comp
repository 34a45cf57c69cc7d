// The first kernel of a Gated DeltaNet over several tokens: what does not depend on the memory. A workgroup
// takes the channels of one head, of q, k or v, for kTokens tokens: their convolution and SiLU, and the norm
// of q and k. Those of v also make the gates of their head.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "params.h"

layout(local_size_x = 128) in;

layout(push_constant) uniform Push { DeltaPush push; };
layout(binding = 0) readonly buffer Params { uint params[]; };
layout(binding = 1) readonly buffer Qkvz { float qkvz[]; };       // [n][channels + inner]
layout(binding = 2) readonly buffer Gates { float gates[]; };     // [n][2 n_head_v]: a, then b
layout(binding = 3) readonly buffer Conv { float conv_weight[]; };  // [channels][kConv]
layout(binding = 4) readonly buffer TimeBias { float time_bias[]; };
layout(binding = 5) readonly buffer Decay { float decay[]; };
layout(binding = 6) readonly buffer ConvState { float conv_state[]; };  // [2][kConv - 1][channels]
layout(binding = 7) writeonly buffer Mixed { float mixed[]; };           // [n][channels]
layout(binding = 8) writeonly buffer Strengths { vec2 strengths[]; };    // [n][n_head_v]: decay, strength

#include "common/activation.glsl"
#include "common/head_norm.glsl"
#include "common/delta.glsl"
#include "common/delta_slots.glsl"
#include "common/delta_inputs.glsl"
#include "common/delta_conv.glsl"

const uint kTokens = 8;  // kTokens * kShares is the size of the workgroup

shared float values[kTokens * kDeltaDim];
shared vec4 shares[kTokens][kShares / 4];

void main() {
  uint lane = gl_LocalInvocationID.x, head = gl_WorkGroupID.x;  // of q, then of k, then of v
  uint first = gl_WorkGroupID.y * kTokens, n = min(kTokens, push.n_tokens - first);
  bool is_v = head >= 2 * push.n_head_k;

  for (uint i = lane; i < n * kDeltaDim; i += gl_WorkGroupSize.x)
    values[i] = convolved(head * kDeltaDim + i % kDeltaDim, int(first + i / kDeltaDim));
  if (is_v && lane < n) {
    uint h = head - 2 * push.n_head_k, at = (first + lane) * 2 * push.n_head_v + h;
    strengths[(first + lane) * push.n_head_v + h] =
        vec2(decay_of(gates[at], time_bias[h], decay[h]), sigmoid(gates[at + push.n_head_v]));
  }
  barrier();
  if (!is_v && lane < n * kShares) {
    float sum = 0.0;
    for (uint i = lane % kShares; i < kDeltaDim; i += kShares)
      sum = add_square(values[lane / kShares * kDeltaDim + i], sum);
    shares[lane / kShares][lane % kShares / 4][lane % 4] = sum;
  }
  barrier();
  for (uint i = lane; i < n * kDeltaDim; i += gl_WorkGroupSize.x) {
    float value = values[i];
    if (!is_v)
      value = normed(value, inverse_length(shares[i / kDeltaDim]), head < push.n_head_k ? push.q_scale : 1.0);
    mixed[(first + i / kDeltaDim) * channels() + head * kDeltaDim + i % kDeltaDim] = value;
  }
}
