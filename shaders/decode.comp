// Decode: the blocks of the forward pass for one token, or for a few that follow each other, in one dispatch.
// The work is a list of stages (params.h). Each is a number of workgroups, and needs the results of the stage
// before; with a dispatch for each, starting and draining the device would take longer than the work. Here a
// workgroup takes the next ticket, which says what its work is. It loads its weights, which are on their way
// while it waits for its input, computes, and hands over its results.
//
// Stages hand over words. Each has a place of its own, which a fill in front of the dispatch has made
// NOT_GIVEN, a word that no result is; a workgroup that needs a word polls it until it is another. So a word
// is there as soon as it is visible, neither a fence nor a counter stands between two stages, and no order of
// memory accesses is required. What attention finds in chunks of keys is tagged instead, since all layers
// share its memory: a value, and in the next word the value xor a tag that no other stage and no other token
// has. Of several tokens who finds it counts, and the last one goes on (common/decode_merge.glsl).
//
// Why it ends: tickets are given in the order in which workgroups start, so a workgroup waits only for
// workgroups that have started, never for one that might need its place. A device has to let those go on that
// it has started (Sorensen et al. 2016, "occupancy-bound execution"). Vulkan does not promise even that, so a
// workgroup that has polled `most_polls` times in vain gives up and says so, and the host tries a chain of
// empty stages before it trusts a device. On a device that fails, each stage is a dispatch.
#version 450
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_buffer_reference_uvec2 : require
#extension GL_EXT_control_flow_attributes : require
#extension GL_GOOGLE_include_directive : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_arithmetic : require
#extension GL_KHR_shader_subgroup_shuffle : require
#ifdef INTEGER_DOT
#extension GL_EXT_spirv_intrinsics : require
#endif
#if defined(HALF_MATRICES) && !defined(EMULATED_MATRICES)
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_NV_cooperative_matrix : require
#endif
#include "params.h"
#include "common/attention.glsl"
#include "common/half.glsl"
#include "common/head_norm.glsl"

layout(local_size_x_id = CONSTANT_WORKGROUP_SIZE) in;
layout(constant_id = CONSTANT_HEADS) const uint kHeads = 1;
layout(constant_id = CONSTANT_LANES) const uint kLanes = 8;
layout(constant_id = CONSTANT_LOADS) const uint kLoads = 5;
layout(constant_id = CONSTANT_NORM_LOADS) const uint kNormLoads = 3;
layout(constant_id = CONSTANT_HEAD_DIM) const uint kHeadDim = 128;
layout(constant_id = CONSTANT_LANES_LONG) const uint kLanesLong = 16;
layout(constant_id = CONSTANT_LOADS_LONG) const uint kLoadsLong = 7;
layout(constant_id = CONSTANT_NORM_LOADS_LONG) const uint kNormLoadsLong = 7;
layout(constant_id = CONSTANT_ROW_SIZE) const uint kRowSize = 512;
layout(constant_id = CONSTANT_NORM) const uint kNorm = NORM_ALWAYS;
layout(constant_id = CONSTANT_NORM_LONG) const uint kNormLong = NORM_ALWAYS;
#ifndef BLOCKS
layout(constant_id = CONSTANT_INSIDE) const uint kInside = 0;
layout(constant_id = CONSTANT_INSIDE_LONG) const uint kInsideLong = 0;
layout(constant_id = CONSTANT_INSIDE_GATE) const uint kInsideGate = 0;
layout(constant_id = CONSTANT_ROWS) const uint kRows = 1;
layout(constant_id = CONSTANT_ROWS_LONG) const uint kRowsLong = 1;
layout(constant_id = CONSTANT_LANES_GATE) const uint kLanesGate = 8;
layout(constant_id = CONSTANT_LOADS_GATE) const uint kLoadsGate = 5;
layout(constant_id = CONSTANT_ROWS_GATE) const uint kRowsGate = 1;
#endif
#if !defined(GROUPS) && !defined(BLOCKS)
layout(constant_id = CONSTANT_PASSES) const uint kPasses = 0;
#endif
#if defined(GROUPS) && !defined(SHARED_SUBGROUPS)
#define HAS_EXPERTS
#endif
#if defined(GROUPS) || defined(BLOCKS)
#define HAS_UNITS
layout(constant_id = CONSTANT_ROUNDED) const uint kRounded = 0;
layout(constant_id = CONSTANT_REST) const uint kRest = 0;
const uint kPlanes = kRest != 0 ? 2 : 1;  // of int8 that an input has
#endif
layout(constant_id = CONSTANT_TILE) const uint kTile = 1024;
layout(constant_id = CONSTANT_RECONVERGES) const uint kReconverges = 0;
layout(constant_id = CONSTANT_TOKENS) const uint kTokens = 1;  // at most
const bool kRoundsApart = kTokens > ROUNDED_HERE;
#ifdef TWO_PLANES  // all of them: a choice makes it slower on an H200 (../bench/speed/decode.md)
const uint kStages = ~0u;
#else
layout(constant_id = CONSTANT_STAGES) const uint kStages = 0;
#endif
const bool kHasProducts = (kStages & STAGES_PRODUCTS) != 0, kHasGates = (kStages & STAGES_GATES) != 0;
const bool kHasLongRows = (kStages & STAGES_LONG_ROWS) != 0, kHasAttention = (kStages & STAGES_ATTENTION) != 0;

// What does not change while a token is computed is volatile, so that it is loaded where the source says so,
// and not where it is needed, as a compiler would do.
layout(buffer_reference, std430, buffer_reference_align = 16) readonly volatile buffer Codes { uvec4 at[]; };
layout(buffer_reference, std430, buffer_reference_align = 4) readonly volatile buffer Halves { uint at[]; };
layout(buffer_reference, std430, buffer_reference_align = 16) readonly volatile buffer Weights { vec4 at[]; };
layout(buffer_reference, std430, buffer_reference_align = 4) readonly volatile buffer Scalars { float at[]; };
layout(buffer_reference, std430, buffer_reference_align = 8) readonly volatile buffer Turns { vec2 at[]; };
layout(buffer_reference, std430, buffer_reference_align = 8) readonly volatile buffer Twos { uvec2 at[]; };
layout(buffer_reference, std430, buffer_reference_align = 16) coherent buffer Vectors { vec4 at[]; };
layout(buffer_reference, std430, buffer_reference_align = 8) coherent buffer Pairs { vec2 at[]; };
layout(buffer_reference, std430, buffer_reference_align = 4) coherent buffer Floats { float at[]; };
layout(buffer_reference, std430, buffer_reference_align = 4) coherent buffer Words { uint at[]; };
layout(buffer_reference, std430, buffer_reference_align = 4) volatile buffer Given { uint at[]; };
layout(buffer_reference, std430, buffer_reference_align = 8) volatile buffer GivenPairs { uvec2 at[]; };
layout(buffer_reference, std430, buffer_reference_align = 16) volatile buffer GivenQuads { uvec4 at[]; };
layout(buffer_reference, std430, buffer_reference_align = 16) volatile buffer TaggedPairs { uvec4 at[]; };

layout(push_constant) uniform Push { DecodePush chain; };
layout(binding = 0) readonly buffer Params { uint params[]; };
layout(binding = 1) readonly buffer Stages { DecodeStage stages[]; };
layout(binding = 2) readonly buffer Groups { uint groups[]; };  // by ticket: stage, and its workgroup
layout(binding = 3) volatile buffer Progress {  // but for `epoch` zero between tokens
  uint next_ticket;
  uint stuck;
  uint epoch;   // tokens so far
  // Workgroups of those stages that nobody waits for, and of each empty one, kDoneStride apart, so that each
  // has its own cache line.
  uint done[];
};
layout(binding = 4) buffer Stuck { uint host_stuck; };
const uint kDoneStride = 32;

// This workgroup's stage, under the name that the shared code uses for the parameters of a dispatch.
DecodeStage push;
uint this_stage;
uint this_epoch;
uint this_token = 0;  // of those that the chain computes; with kTokens of 1 nothing else is ever written here
shared uint ticket;
shared uvec4 tile[kTile];
shared bool all_done;

#include "common/subgroup.glsl"
#ifdef HALF_MATRICES
#include "common/attention_matrix.glsl"
#endif
#include "common/reduce.glsl"
#include "common/quantise.glsl"
#include "common/inverse.glsl"
#include "common/ternary.glsl"
#include "common/activation.glsl"
#ifdef GROUPS
#include "common/groups.glsl"
#endif
#ifdef BLOCKS
#define MIXED_BLOCKS
#include "common/blocks.glsl"
#endif

// Whether to poll once more after `polls` polls in vain. If not, the token is lost, which `stuck` tells the
// host.
bool look_again(uint polls) {
  if (polls < chain.most_polls && (polls % 256 != 255 || stuck == 0)) return true;
  stuck = host_stuck = 1;
  return false;
}

// The factor is odd, so different stages and tokens have different tags.
uint tag_of(uint stage) { return (this_epoch << STAGE_BITS | stage + 1u) * 0x9E3779B1u; }

// The sets of rows that a workgroup of a product takes, and those before its own.
uint passes_of(uint group) { return push.n_passes - (group < push.n_longer ? 0 : push.fewer); }
uint first_pass(uint group) {
  return group * push.n_passes - (group < push.n_longer ? 0 : (group - push.n_longer) * push.fewer);
}

uint n_tokens() { return kTokens == 1 ? 1 : chain.n_tokens; }

// Where the token's results begin among those of the stage, and its inputs among those.
uint first_result() { return this_token * push.n_out; }
uint first_input() { return this_token * push.n_in; }

// A word as it is given. NOT_GIVEN is a NaN that no arithmetic makes, so it takes a hostile weight to have
// it: then it becomes another NaN.
uint given(uint word) { return word == NOT_GIVEN ? word | 0x400000u : word; }
uvec2 given(uvec2 words) { return uvec2(given(words.x), given(words.y)); }

// Whether any of them is not there yet. Without branches: NVIDIA's compiler waits for what is needed behind a
// branch together with all else that is on its way at that time, and so for codes.
bool is_missing(uvec2 words) { return any(equal(words, uvec2(NOT_GIVEN))); }
bool is_missing(uvec4 words) { return any(equal(words, uvec4(NOT_GIVEN))); }
bool either(bool a, bool b) { return any(bvec2(a, b)); }
bool both(bool a, bool b) { return all(bvec2(a, b)); }

void give(uint i, float value) {
  i += first_result();
  if ((push.flow & FLOW_TO) != 0) Given(push.to).at[i] = given(floatBitsToUint(value));
  if ((push.flow & FLOW_OUT) != 0) Floats(push.y).at[i] = value;
}

void give_pair(uint i, vec2 values) {  // 2i and 2i + 1
  i += first_result() / 2;
  if ((push.flow & FLOW_TO) != 0) GivenPairs(push.to).at[i] = given(floatBitsToUint(values));
  if ((push.flow & FLOW_OUT) != 0) Pairs(push.y).at[i] = values;
}

// Word `i` of what a stage gives, as soon as it is there.
uint polled_word(uvec2 from, uint i) {
  for (uint polls = 0;; ++polls) {
    uint word = Given(from).at[i];
    if (word != NOT_GIVEN || !look_again(polls)) return word;
  }
}

// The same of a word that may have been read too early: mostly it was not.
uint taken_word(uvec2 from, uint i, uint word) {
  if (word == NOT_GIVEN) word = polled_word(from, i);
  return word;
}
float taken_value(uvec2 from, uint i) { return uintBitsToFloat(polled_word(from, i)); }

// Waits for word `i` of the input, after which the others are there or will be soon, and so are those of the
// tokens behind. One invocation polls, since each poll delays the producers.
bool has_waited = false;

void wait_for_input(uint i) {
  if (kTokens > 1 && has_waited) return;
  has_waited = true;
  if (gl_LocalInvocationID.x == 0) polled_word(push.from, i);
  barrier();
}

// Behind polls, in front of what lanes of a subgroup exchange. A driver may leave lanes apart that polled for
// different times; then they meet at a barrier.
void meet_behind_polls() {
  if (kReconverges == 0) barrier();
}

void wait_for_empty_stage() {
  if (chain.chained != 0 && this_stage > 0 && gl_LocalInvocationID.x == 0)
    for (uint polls = 0; done[(this_stage - 1) * kDoneStride] < push.wait_for && look_again(polls); ++polls) {
    }
}

// The last workgroup for which no other waits resets everything for the next token.
void finish_stage() {
  if (push.kind == STAGE_EMPTY && this_stage + 1 < chain.n_stages) {
    if (gl_LocalInvocationID.x == 0) atomicAdd(done[this_stage * kDoneStride], 1);
    return;
  }
  if ((push.flow & FLOW_END) == 0) return;
  if (gl_LocalInvocationID.x == 0)
    all_done = atomicAdd(done[(chain.n_stages - 1) * kDoneStride], 1) == chain.last_groups - 1;
  barrier();
  if (!all_done) return;
  for (uint i = gl_LocalInvocationID.x; i < chain.n_stages; i += gl_WorkGroupSize.x)
    done[i * kDoneStride] = 0;
  if (gl_LocalInvocationID.x == 0) {
    next_ticket = 0;
    epoch = this_epoch + 1;
  }
}

// The places of feature `i` of the head at `at` and of the one that RoPE pairs it with, the lower first.
uvec2 pair_of(uint at, uint i) {
  uint n = push.rope_dim / 2;
  if (i >= push.rope_dim) return uvec2(at + i);
  uint low = i < n ? i : i - n;
  return uvec2(at + low, at + low + n);
}

// As rotated() of rope.glsl.
float rotate(vec2 pair, vec2 turn, uint i) {
  bool low = i < push.rope_dim / 2;
  if (i >= push.rope_dim) return pair.x;
  precise float first = low ? pair.x * turn.x : pair.y * turn.x;
  precise float second = low ? pair.y * turn.y : pair.x * turn.y;
  precise float result = low ? first - second : first + second;
  return result;
}

#include "common/decode_vector.glsl"
#ifdef HAS_UNITS
#include "common/decode_rounded.glsl"
#include "common/turn.glsl"
#endif
#ifdef BLOCKS
#include "common/decode_blocks.glsl"
#else
#include "common/decode_linear.glsl"
#endif
#include "common/decode_attention.glsl"
#include "common/decode_delta.glsl"
#ifdef HAS_UNITS
#include "common/decode_normed.glsl"
#include "common/decode_rotate.glsl"
#endif
#ifdef HAS_EXPERTS
#include "common/decode_experts.glsl"
#endif

void main() {
  uint group = gl_WorkGroupID.x + chain.first_group;
  this_stage = chain.first_stage;
  if (chain.chained != 0) {
    if (gl_LocalInvocationID.x == 0) {
      forget_rows();
      ticket = atomicAdd(next_ticket, 1);
    }
    barrier();
    uint entry = groups[ticket];
    this_stage = entry >> STAGE_SHIFT;
    group = entry & (1u << STAGE_SHIFT) - 1u;
#ifdef FORGETS_ROWS
  } else {
    if (gl_LocalInvocationID.x == 0) forget_rows();
    barrier();
#endif
  }
  push = stages[this_stage];
  this_epoch = epoch;
  if (kHasAttention && push.kind == STAGE_ATTENTION) {
    attention(group);
  } else if (kHasDelta && push.kind == STAGE_DELTA) {
    delta_net(group);
#ifdef HAS_UNITS
  } else if (kHasRotation && push.kind == STAGE_ROTATE) {
    rotate(group);
#endif
#ifdef HAS_EXPERTS
  } else if (kHasExperts && push.kind >= STAGE_ROUTER) {
    experts(group);
#endif
  } else if (push.kind == STAGE_EMPTY) {
    wait_for_empty_stage();
    finish_stage();
  } else if (kHasProducts) {
    linear(group);
  }
}
