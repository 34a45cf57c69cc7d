// Chooses the experts of a token by the logits of its router (common/route.glsl). A workgroup takes a token.
// What is written are ids in ascending order, and the weights of what the experts will give.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "params.h"
#include "common/activation.glsl"
#define ROUTER_QUADS (MOST_EXPERTS / 4)
#include "common/route.glsl"

layout(local_size_x_id = CONSTANT_WORKGROUP_SIZE) in;

layout(push_constant) uniform Push { RoutePush push; };
layout(binding = 0) readonly buffer Logits { float logits[]; };   // [n_tokens][n_expert]
layout(binding = 1) writeonly buffer Ids { uint ids[]; };          // [n_tokens][used]
layout(binding = 2) writeonly buffer Weights { float weights[]; };  // [n_tokens][used]

shared float sum;

void main() {
  uint lane = gl_LocalInvocationID.x, token = gl_WorkGroupID.x, quads = (push.n_expert + 3) / 4;
  bool sigmoid = push.sigmoid != 0;
  for (uint i = lane; i < MOST_EXPERTS / 32; i += gl_WorkGroupSize.x) chosen[i] = 0;
  for (uint i = lane; i < 4 * quads; i += gl_WorkGroupSize.x)
    router_logits[i / 4][i % 4] = i < push.n_expert ? logits[token * push.n_expert + i] : NO_EXPERT;
  barrier();
  for (uint i = lane; i < push.n_expert; i += gl_WorkGroupSize.x) rank_expert(i, push.n_expert, push.used);
  barrier();
  for (uint i = lane; i < push.n_expert; i += gl_WorkGroupSize.x) {
    if (!is_chosen(i)) continue;
    uint place = place_of(i);
    if (place >= push.used) continue;
    ids[token * push.used + place] = i;
    chosen_shares[place] = share_of_logit(logit_of(i), sigmoid);
  }
  barrier();
  if (lane == 0) sum = sum_of_shares(push.n_expert, push.used, sigmoid, push.normed != 0);
  barrier();
  for (uint i = lane; i < push.used; i += gl_WorkGroupSize.x)
    weights[token * push.used + i] = weight_of_share(chosen_shares[i], sum, push.scale);
}
