// Computes the logits of the rows whose upper bound reaches the `want`-th largest of the lower bounds that
// shortlist_approximate.comp gave, with the bits of head.comp. The other approximations are below that bound, so
// none of them is among the `want` largest. Each workgroup takes a stripe of the rows of a token, and gives the
// partial result of argmax.comp for it.
#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_GOOGLE_include_directive : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_arithmetic : require
#include "params.h"

layout(local_size_x = SHORTLIST_WORKGROUP) in;

layout(push_constant) uniform Push { ShortlistPush push; };
layout(binding = 0) readonly buffer Table { uvec4 table[]; };
layout(binding = 1) readonly buffer Y { vec4 y[]; };  // [n_tokens][n_embd / 4]
layout(binding = 2) readonly buffer Rows { ShortlistRow rows[]; };
layout(binding = 3) readonly buffer Vectors { ShortlistVector vectors[]; };
layout(binding = 4) readonly buffer Borders { uint borders[]; };  // [n_tokens][n_borders]
layout(binding = 5) readonly buffer Settings { SampleSettings settings; };
layout(binding = 6) buffer Logits { float logits[]; };            // [n_tokens][n_vocab]
layout(binding = 7) writeonly buffer Partials { uvec4 partials[]; };  // [n_tokens][workgroups]

#include "common/subgroup.glsl"
#define TABLE_QUADS table
#include "common/table.glsl"
#include "common/head_row.glsl"
#include "common/argmax.glsl"
#include "common/float_key.glsl"
#include "common/shortlist.glsl"

const uint kBits = 20;  // of a key that are looked at: with fewer the border is a little lower
shared uint reached[kBits];  // how many bounds reach a border
shared uint candidates[gl_WorkGroupSize.x];
shared float exactly[gl_WorkGroupSize.x];
shared uint n_candidates;

// A key that the lower bounds of `want` rows reach, and nearly the largest; 0 where there are not as many.
uint border_of(uint token, uint want) {
  const uint kOwn = SHORTLIST_BORDERS / gl_WorkGroupSize.x;
  uint lane = gl_LocalInvocationID.x, own[kOwn];
  UNROLL for (uint i = 0; i < kOwn; ++i) {
    uint at = lane + i * gl_WorkGroupSize.x;
    own[i] = at < push.n_borders ? borders[token * push.n_borders + at] : 0u;
  }
  if (lane < kBits) reached[lane] = 0u;
  barrier();
  uint border = 0u;
  for (uint bit = 0; bit < kBits; ++bit) {
    uint next = border | 0x80000000u >> bit;
    int count = 0;
    UNROLL for (uint i = 0; i < kOwn; ++i) count += int(own[i] >= next);
    count = subgroup_add(count);
    if (LANE == 0 && count != 0) atomicAdd(reached[bit], uint(count));
    barrier();
    if (reached[bit] >= want) border = next;
  }
  return border;
}

float logit_of(uint row, uint token) {
  uint eights = push.n_embd / 8;
  float sum = 0.0;
  for (uint i = LANE; i < eights; i += SUBGROUP_SIZE) {
    vec4 low, high;
    decode_eight(row * eights + i, low, high);
    uint at = 2 * (token * eights + i);
    sum = add_eight(low, high, y[at], y[at + 1], sum);
  }
  return subgroup_add(sum);
}

void main() {
  uint lane = gl_LocalInvocationID.x, token = gl_WorkGroupID.y;
  ShortlistVector vector = vectors[token];
  uint border = border_of(token, push.is_sampled != 0u ? settings.want : 1u);
  uint stripe = (push.n_vocab + gl_NumWorkGroups.x - 1) / gl_NumWorkGroups.x;
  uint begin = gl_WorkGroupID.x * stripe, end = min(push.n_vocab, begin + stripe);
  Partial mine = kNoLogits;
  for (uint first = begin; first < end; first += gl_WorkGroupSize.x) {
    if (lane == 0) n_candidates = 0u;
    barrier();
    uint row = first + lane, slot = gl_WorkGroupSize.x;
    float logit = 0.0;
    if (row < end) {
      logit = logits[token * push.n_vocab + row];
      uint upper = key_of(floatBitsToUint(logit + bound_of(rows[row], vector)));
      if (vector.usable == 0u || upper >= border) {
        slot = atomicAdd(n_candidates, 1u);
        candidates[slot] = row;
      }
    }
    barrier();
    uint n = n_candidates;
    for (uint i = 0; i < n; i += N_SUBGROUPS) {
      uint at = min(i + SUBGROUP, n - 1);
      float whole = logit_of(candidates[at], token);
      if (LANE == 0) exactly[at] = whole;
    }
    barrier();
    if (slot < gl_WorkGroupSize.x) {
      logit = exactly[slot];
      logits[token * push.n_vocab + row] = logit;
    }
    if (row < end) mine = merge(mine, of_logit(floatBitsToUint(logit), row));
  }
  reduce_best(mine);
  if (lane == 0) partials[token * gl_NumWorkGroups.x + gl_WorkGroupID.x] = pack(best[0]);
}
