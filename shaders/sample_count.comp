// The first step of sampling counts how many logits lie how far below the largest.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "params.h"

layout(local_size_x_id = CONSTANT_WORKGROUP_SIZE) in;

layout(push_constant) uniform Push { SamplePush push; };
#include "common/sampling.glsl"
layout(binding = 1) readonly buffer Logits { uint logits[]; };
layout(binding = 2) readonly buffer Partials { uvec4 partials[]; };  // of argmax

shared uint bins[SAMPLE_BINS];
shared uint largest;

void main() {
  uint lane = gl_LocalInvocationID.x, row = gl_WorkGroupID.y;
  for (uint i = lane; i < SAMPLE_BINS; i += gl_WorkGroupSize.x) bins[i] = 0u;
  if (lane == 0u) largest = 0u;
  barrier();
  for (uint i = lane; i < push.n_partials; i += gl_WorkGroupSize.x) {
    atomicMax(largest, key_of(partials[row * push.n_partials + i].x));
  }
  barrier();
  for (uint i = gl_GlobalInvocationID.x; i < push.n_vocab; i += gl_NumWorkGroups.x * gl_WorkGroupSize.x) {
    atomicAdd(bins[bin_of(largest, logits[row * push.n_vocab + i])], 1u);
  }
  barrier();
  for (uint i = lane; i < SAMPLE_BINS; i += gl_WorkGroupSize.x) {
    if (bins[i] != 0u) atomicAdd(own.histogram[i], bins[i]);
  }
  if (gl_GlobalInvocationID.x == 0u) own.largest_key = largest;
}
