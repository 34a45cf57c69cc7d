// Lists the pairs of a batch's tokens and experts (Picked in engine/kernel_operands.h) by expert, and cuts
// what each expert has into tiles. One workgroup does it all. In which order the pairs of an expert come may
// change from run to run; no result depends on it.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "params.h"

layout(local_size_x_id = CONSTANT_WORKGROUP_SIZE) in;

layout(push_constant) uniform Push { GroupPush push; };
layout(binding = 0) readonly buffer Ids { uint ids[]; };  // [n_pairs]
// The number of tiles, TILE_WORDS of each (expert, first and end of its places), and from order_at on the
// pair in each place [n_pairs] and the place of each pair [n_pairs].
layout(binding = 1) buffer Groups { uint groups[]; };

shared uint counts[MOST_EXPERTS];
shared uint begins[MOST_EXPERTS];

void main() {
  uint lane = gl_LocalInvocationID.x, place_at = push.order_at + push.n_pairs;
  for (uint i = lane; i < push.n_expert; i += gl_WorkGroupSize.x) counts[i] = 0;
  barrier();
  for (uint i = lane; i < push.n_pairs; i += gl_WorkGroupSize.x)
    groups[place_at + i] = atomicAdd(counts[ids[i]], 1);
  barrier();
  for (uint i = lane; i < push.n_expert; i += gl_WorkGroupSize.x) {
    uint begin = 0, tile = 0, end = 0;
    for (uint j = 0; j < i; ++j) {
      begin += counts[j];
      tile += (counts[j] + push.tile - 1) / push.tile;
    }
    begins[i] = begin;
    end = begin + counts[i];
    for (uint first = begin; first < end; first += push.tile, ++tile) {
      uint at = TILES_BEGIN + TILE_WORDS * tile;
      groups[at] = i;
      groups[at + 1] = first;
      groups[at + 2] = min(end, first + push.tile);
    }
    if (i == push.n_expert - 1) groups[0] = tile;
  }
  barrier();
  for (uint i = lane; i < push.n_pairs; i += gl_WorkGroupSize.x) {
    uint place = begins[ids[i]] + groups[place_at + i];
    groups[place_at + i] = place;
    groups[push.order_at + place] = i;
  }
}
