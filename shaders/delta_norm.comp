// The last kernel of a Gated DeltaNet over several tokens: what each head gave (delta_scan.comp) is normed
// and multiplied by silu(z). A workgroup takes a head for kTokens tokens. Together they also keep the last
// inputs of the channels: the kernels in front of this one read those of before.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "params.h"

layout(local_size_x = 128) in;

layout(push_constant) uniform Push { DeltaPush push; };
layout(binding = 0) readonly buffer Params { uint params[]; };
layout(binding = 1) readonly buffer Qkvz { float qkvz[]; };    // [n][channels + inner]
layout(binding = 2) readonly buffer Mixed { float mixed[]; };  // [n][channels]
layout(binding = 3) readonly buffer Weight { float norm_weight[]; };
layout(binding = 4) buffer ConvState { float conv_state[]; };  // [2][kConv - 1][channels]
layout(binding = 5) writeonly buffer O { float o[]; };         // [n][inner]

#include "common/activation.glsl"
#include "common/head_norm.glsl"
#include "common/delta.glsl"
#include "common/delta_slots.glsl"
#include "common/delta_inputs.glsl"

const uint kTokens = 8;  // kTokens * kShares is the size of the workgroup

shared vec4 shares[kTokens][kShares / 4];

// Inputs of channels that the next batch needs. No other invocation reads the state of a channel.
void keep_inputs() {
  uint group = gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x;
  uint all = gl_NumWorkGroups.x * gl_NumWorkGroups.y * gl_WorkGroupSize.x;
  for (uint channel = group * gl_WorkGroupSize.x + gl_LocalInvocationID.x; channel < channels(); channel += all) {
    float kept[2][kMostConv];
    for (uint i = 0; i < 2; ++i)
      for (uint j = 0; j + 1 < kConv; ++j)
        kept[i][j] = input_of(channel, int((i == 0 ? push.keep : push.n_tokens) + j) - int(kConv - 1));
    for (uint i = push.keep == 0 ? 1 : 0; i < 2; ++i)
      for (uint j = 0; j + 1 < kConv; ++j)
        conv_state[conv_at(slot_of(i == 0 ? push.keep : push.n_tokens), j) + channel] = kept[i][j];
  }
}

void main() {
  keep_inputs();
  uint lane = gl_LocalInvocationID.x, head = gl_WorkGroupID.x;
  uint first = gl_WorkGroupID.y * kTokens, n = min(kTokens, push.n_tokens - first);
  uint at = (2 * push.n_head_k + head) * kDeltaDim, z_at = channels() + head * kDeltaDim;
  if (lane < n * kShares) {
    float sum = 0.0;
    for (uint i = lane % kShares; i < kDeltaDim; i += kShares)
      sum = add_square(mixed[(first + lane / kShares) * channels() + at + i], sum);
    shares[lane / kShares][lane % kShares / 4][lane % 4] = sum;
  }
  barrier();
  for (uint i = lane; i < n * kDeltaDim; i += gl_WorkGroupSize.x) {
    uint t = i / kDeltaDim, feature = i % kDeltaDim;
    o[((first + t) * push.n_head_v + output_head(head)) * kDeltaDim + feature] =
        gated_output(mixed[(first + t) * channels() + at + feature],
                     inverse_of_head(shares[t], push.per_feature, push.epsilon), norm_weight[feature],
                     qkvz[(first + t) * qkvz_width() + z_at + feature]);
  }
}
