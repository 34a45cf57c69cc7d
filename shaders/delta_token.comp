// A Gated DeltaNet of one token in one kernel: delta_mix.comp, delta_scan.comp and delta_norm.comp for a head
// of v, with the same bits. A workgroup takes a head, kParts invocations a column of its memory. The heads
// that share a key make it each for itself.
#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_GOOGLE_include_directive : require
#include "params.h"

layout(local_size_x_id = CONSTANT_WORKGROUP_SIZE) in;  // kParts * kDeltaDim

layout(push_constant) uniform Push { DeltaPush push; };
layout(binding = 0) readonly buffer Params { uint params[]; };
layout(binding = 1) readonly buffer Qkvz { float qkvz[]; };         // [channels + inner]
layout(binding = 2) readonly buffer Gates { float gates[]; };       // [2 n_head_v]: a, then b
layout(binding = 3) readonly buffer Conv { float conv_weight[]; };  // [channels][kConv]
layout(binding = 4) readonly buffer TimeBias { float time_bias[]; };
layout(binding = 5) readonly buffer Decay { float decay[]; };
layout(binding = 6) readonly buffer Weight { float norm_weight[]; };
layout(binding = 7) buffer ConvState { float conv_state[]; };  // [2][kConv - 1][channels]
layout(binding = 8) buffer Heads { float heads[]; };           // [2][n_head_v][head_dim][head_dim]
layout(binding = 9) writeonly buffer O { float o[]; };         // [inner]

#include "common/activation.glsl"
#include "common/head_norm.glsl"
#include "common/delta.glsl"
#include "common/delta_slots.glsl"
#include "common/delta_inputs.glsl"
#include "common/delta_conv.glsl"
#include "common/delta_state.glsl"

shared vec4 keys[2][kDeltaDim / 4];  // q, then k
shared float values[kDeltaDim];
shared vec2 gate;  // decay, strength
shared vec4 shares[3][kShares / 4];  // of q, of k, of the result
shared float sums[2][kParts][kDeltaDim];
shared float result[kDeltaDim];

uint head, key_head;

// Channel i of q, k and v of this head. The first of the heads that share a key keeps its inputs.
void mix(uint i) {
  uint which = i / kDeltaDim, feature = i % kDeltaDim;
  uint channel = (which == 0 ? key_head : which == 1 ? push.n_head_k + key_head : 2 * push.n_head_k + head) *
                     kDeltaDim +
                 feature;
  float value = convolved(channel, 0);
  if (which == 2)
    values[feature] = value;
  else
    keys[which][feature / 4][feature % 4] = value;
  if (which != 2 && head >= push.n_head_k) return;
  for (uint j = 0; j + 1 < kConv; ++j)
    conv_state[conv_at(slot_of(1), j) + channel] = input_of(channel, int(j + 2) - int(kConv));
}

void main() {
  uint lane = gl_LocalInvocationID.x, part = lane / kDeltaDim, column = lane % kDeltaDim;
  head = gl_WorkGroupID.x;
  key_head = head % push.n_head_k;
  load_state(heads_at(0, head, part, column));
  if (part < 3) mix(lane);
  if (lane == 3 * kDeltaDim)
    gate = vec2(decay_of(gates[head], time_bias[head], decay[head]), sigmoid(gates[push.n_head_v + head]));
  barrier();
  if (lane < 2 * kShares) {
    float sum = 0.0;
    for (uint i = lane % kShares; i < kDeltaDim; i += kShares)
      sum = add_square(keys[lane / kShares][i / 4][i % 4], sum);
    shares[lane / kShares][lane % kShares / 4][lane % 4] = sum;
  }
  barrier();
  if (part < 2)
    keys[part][column / 4][column % 4] = normed(keys[part][column / 4][column % 4],
                                                inverse_length(shares[part]), part == 0 ? push.q_scale : 1.0);
  barrier();

  uint at = part * kQuads;
  precise vec4 by_k = vec4(0.0), by_q = vec4(0.0);
  UNROLL for (uint i = 0; i < kQuads; ++i) by_k = fma(s[i], keys[1][at + i], by_k);
  sums[0][part][column] = sum_of_four(by_k);
  barrier();
  precise float sum = (sums[0][0][column] + sums[0][1][column]) + (sums[0][2][column] + sums[0][3][column]);
  precise float rest = values[column] - gate.x * sum;
  precise float u = gate.y * rest;
  UNROLL for (uint i = 0; i < kQuads; ++i) {
    precise vec4 kept = gate.x * s[i];
    precise vec4 changed = fma(keys[1][at + i], vec4(u), kept);
    s[i] = changed;
    by_q = fma(changed, keys[0][at + i], by_q);
  }
  sums[1][part][column] = sum_of_four(by_q);
  store_state(heads_at(1, head, part, column));
  barrier();
  if (part == 0) {
    precise float given =
        (sums[1][0][column] + sums[1][1][column]) + (sums[1][2][column] + sums[1][3][column]);
    result[column] = given;
  }
  barrier();
  if (lane < kShares) {
    float squares = 0.0;
    for (uint i = lane; i < kDeltaDim; i += kShares) squares = add_square(result[i], squares);
    shares[2][lane / 4][lane % 4] = squares;
  }
  barrier();
  if (part == 0)
    o[output_head(head) * kDeltaDim + column] =
        gated_output(result[column], inverse_of_head(shares[2], push.per_feature, push.epsilon),
                     norm_weight[column], qkvz[channels() + head * kDeltaDim + column]);
}
