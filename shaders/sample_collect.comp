// The second step of sampling collects, in any order, the likeliest `want` tokens and those that share a bin
// with the last of them.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "params.h"

layout(local_size_x_id = CONSTANT_WORKGROUP_SIZE) in;

layout(push_constant) uniform Push { SamplePush push; };
#include "common/sampling.glsl"
layout(binding = 1) readonly buffer Logits { uint logits[]; };
layout(binding = 2) readonly buffer Settings { SampleSettings settings; };

shared uint sums[gl_WorkGroupSize.x];
shared uint last_bin;

// The bin in which the running count reaches `want`.
void find_last_bin() {
  uint lane = gl_LocalInvocationID.x, each = SAMPLE_BINS / gl_WorkGroupSize.x;
  uint sum = 0u;
  for (uint i = 0u; i < each; ++i) sum += own.histogram[lane * each + i];
  sums[lane] = sum;
  if (lane == 0u) last_bin = SAMPLE_BINS - 1u;
  barrier();
  uint before = 0u;
  for (uint i = 0u; i < lane; ++i) before += sums[i];
  if (before < settings.want && before + sum >= settings.want) {
    uint bin = lane * each;
    while (before + own.histogram[bin] < settings.want) before += own.histogram[bin++];
    last_bin = bin;
  }
  barrier();
}

void main() {
  find_last_bin();
  for (uint i = gl_GlobalInvocationID.x; i < push.n_vocab; i += gl_NumWorkGroups.x * gl_WorkGroupSize.x) {
    uint logit = logits[gl_WorkGroupID.y * push.n_vocab + i];
    if (bin_of(own.largest_key, logit) > last_bin) continue;
    uint slot = atomicAdd(own.count, 1u);
    if (slot < SAMPLE_CANDIDATES) own.candidates[slot] = uvec2(logit, i);
  }
}
