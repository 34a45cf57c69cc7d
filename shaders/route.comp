// Chooses the experts of a token by the logits of its router: those with the largest, of equal ones the lower
// id (Routing and Picked in engine/kernel_operands.h). A workgroup takes a token. What is written are ids in ascending
// order, and the weights of what the experts will give.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "params.h"
#include "common/activation.glsl"

layout(local_size_x_id = CONSTANT_WORKGROUP_SIZE) in;

layout(push_constant) uniform Push { RoutePush push; };
layout(binding = 0) readonly buffer Logits { float logits[]; };   // [n_tokens][n_expert]
layout(binding = 1) writeonly buffer Ids { uint ids[]; };          // [n_tokens][used]
layout(binding = 2) writeonly buffer Weights { float weights[]; };  // [n_tokens][used]

shared vec4 all[MOST_EXPERTS / 4];  // and behind the last one what no expert has
shared uint chosen[MOST_EXPERTS / 32];  // a bit each
shared float largest;
shared float sum;

float logit_of(uint expert) { return all[expert / 4][expert % 4]; }

// The probability, or where they are a softmax what is to be divided by the sum of all.
float share_of(float logit) {
  float e = exp_below_0(push.sigmoid != 0 ? -abs(logit) : logit - largest);
  if (push.sigmoid == 0) return e;
  precise float share = (logit >= 0.0 ? 1.0 : e) / (1.0 + e);
  return share;
}

// Of the chosen ones, how many have a lower id.
uint place_of(uint expert) {
  uint place = bitCount(chosen[expert / 32] & (1u << expert % 32) - 1);
  for (uint i = 0; i < expert / 32; ++i) place += bitCount(chosen[i]);
  return place;
}

void main() {
  uint lane = gl_LocalInvocationID.x, token = gl_WorkGroupID.x;
  for (uint i = lane; i < MOST_EXPERTS / 32; i += gl_WorkGroupSize.x) chosen[i] = 0;
  uint quads = (push.n_expert + 3) / 4;
  for (uint i = lane; i < 4 * quads; i += gl_WorkGroupSize.x)
    all[i / 4][i % 4] = i < push.n_expert ? logits[token * push.n_expert + i] : uintBitsToFloat(0xFF800000u);
  barrier();
  for (uint i = lane; i < push.n_expert; i += gl_WorkGroupSize.x) {
    float own = logit_of(i);
    uint before = 0;  // a NaN has none before it, so there are as many chosen ones as are used, or more
    for (uint quad = 0; quad < quads; ++quad) {
      vec4 four = all[quad];
      for (uint j = 0; j < 4; ++j) before += four[j] > own || (four[j] == own && 4 * quad + j < i) ? 1 : 0;
    }
    if (before < push.used) atomicOr(chosen[i / 32], 1u << i % 32);
    if (before == 0) largest = own;
  }
  barrier();
  if (lane == 0) {  // in the order of ids, so that it is the same for every device
    precise float total = 0.0;
    uint place = 0;
    for (uint i = 0; push.normed != 0 && i * 32 < push.n_expert; ++i)
      for (uint bits = chosen[i]; bits != 0 && place < push.used; bits &= bits - 1, ++place)
        total += share_of(logit_of(i * 32 + findLSB(bits)));
    for (uint i = 0; push.normed == 0 && push.sigmoid == 0 && i < push.n_expert; ++i) total += share_of(logit_of(i));
    sum = push.normed != 0 || push.sigmoid == 0 ? total + 1e-20 : 1.0;
  }
  barrier();
  for (uint i = lane; i < push.n_expert; i += gl_WorkGroupSize.x) {
    if ((chosen[i / 32] >> i % 32 & 1u) == 0) continue;
    uint place = place_of(i);
    if (place >= push.used) continue;
    precise float weight = share_of(logit_of(i)) / sum * push.scale;
    ids[token * push.used + place] = i;
    weights[token * push.used + place] = weight;
  }
}
