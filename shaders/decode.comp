// Decode: the blocks of the forward pass for one token, in one dispatch. The work of a token is a list of stages
// (params.h), each a number of workgroups, that need what the stage before gives; with a dispatch each, starting and
// draining the device would take longer than the work. Here a workgroup takes the next ticket, which says what it is;
// asks for its weights, which are on their way while it waits for its input; computes; and gives its results away.
//
// Stages hand over tagged values: a value in one word, and in the next the same xor a tag that no other stage and no
// other token has. Whoever needs a value looks at it until the tag is right. So a value is there as soon as it can be
// seen, and no fence and no counter stand between two stages. No order among memory accesses is asked
// for, nor that both words are seen at once: one without the other has a wrong tag. The places of tagged values are
// used again kSlots stages later (vk/decode.cpp), when everybody who needed them has gone on: a workgroup gives results
// only after it has taken its whole input, and so on back to there.
//
// Why it ends: tickets are given in the order in which workgroups start, so whoever waits, waits for workgroups that
// have started, never for one that might need its place. A device has to let those go on that it has started
// (Sorensen et al. 2016, "occupancy-bound execution"); Vulkan does not promise even that, so who has looked
// `most_polls` times in vain gives up and says so, and the host tries a chain of empty stages before it trusts a device.
// Where it does not, each stage is a dispatch.
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
#include "params.h"
#include "common/attention.glsl"
#include "common/half.glsl"

layout(local_size_x_id = CONSTANT_WORKGROUP_SIZE) in;
layout(constant_id = CONSTANT_HEADS) const uint kHeads = 1;
layout(constant_id = CONSTANT_LANES) const uint kLanes = 8;
layout(constant_id = CONSTANT_LOADS) const uint kLoads = 5;
layout(constant_id = CONSTANT_NORM_LOADS) const uint kNormLoads = 3;
layout(constant_id = CONSTANT_HEAD_DIM) const uint kHeadDim = 128;
layout(constant_id = CONSTANT_LANES_LONG) const uint kLanesLong = 16;
layout(constant_id = CONSTANT_LOADS_LONG) const uint kLoadsLong = 7;
layout(constant_id = CONSTANT_NORM_LOADS_LONG) const uint kNormLoadsLong = 7;
layout(constant_id = CONSTANT_TILE) const uint kTile = 1024;

// What does not change while a token is computed is volatile: it is asked for where that is written, and not, as the
// compiler would, where it is needed.
layout(buffer_reference, std430, buffer_reference_align = 16) readonly volatile buffer Codes { uvec4 at[]; };
layout(buffer_reference, std430, buffer_reference_align = 16) readonly volatile buffer Weights { vec4 at[]; };
layout(buffer_reference, std430, buffer_reference_align = 8) readonly volatile buffer Turns { vec2 at[]; };
layout(buffer_reference, std430, buffer_reference_align = 16) coherent buffer Vectors { vec4 at[]; };
layout(buffer_reference, std430, buffer_reference_align = 8) coherent buffer Pairs { vec2 at[]; };
layout(buffer_reference, std430, buffer_reference_align = 4) coherent buffer Floats { float at[]; };
layout(buffer_reference, std430, buffer_reference_align = 4) coherent buffer Words { uint at[]; };
layout(buffer_reference, std430, buffer_reference_align = 8) volatile buffer Tagged { uvec2 at[]; };
layout(buffer_reference, std430, buffer_reference_align = 16) volatile buffer TaggedPairs { uvec4 at[]; };

layout(push_constant) uniform Push { DecodePush chain; };
layout(binding = 0) readonly buffer Params { uint params[]; };
layout(binding = 1) readonly buffer Stages { DecodeStage stages[]; };
layout(binding = 2) readonly buffer Groups { uint groups[]; };  // by ticket: stage, and workgroup of the stage
layout(binding = 3) volatile buffer Progress {  // but for `epoch` zero between tokens
  uint next_ticket;
  uint stuck;
  uint epoch;   // tokens so far
  uint done[];  // workgroups of the last stage, and of each empty one, kDoneStride apart: in a line of the cache of its own
};
layout(binding = 4) buffer Stuck { uint host_stuck; };
const uint kDoneStride = 32;

DecodeStage push;  // this workgroup's; the name by which the shared code knows the parameters of a dispatch
uint this_stage;
uint this_epoch;
shared uint ticket;
shared uvec4 tile[kTile];
shared bool all_done;

#include "common/subgroup.glsl"
#include "common/reduce.glsl"
#include "common/quantise.glsl"
#include "common/ternary.glsl"

// Whether to look once more after `polls` looks in vain; if not, the token is lost and says so.
bool look_again(uint polls) {
  if (polls < chain.most_polls && (polls % 256 != 255 || stuck == 0)) return true;
  stuck = host_stuck = 1;
  return false;
}

uint tag_of(uint stage) { return (this_epoch << STAGE_BITS | stage + 1u) * 0x9E3779B1u; }  // odd: different ones stay so

void give(uint i, float value) {
  uint bits = floatBitsToUint(value);
  if ((push.flow & FLOW_TO) != 0) Tagged(push.to).at[i] = uvec2(bits, bits ^ tag_of(this_stage));
  if ((push.flow & FLOW_OUT) != 0) Floats(push.y).at[i] = value;
}

void give_pair(uint i, vec2 values) {  // 2i and 2i + 1
  uvec2 bits = floatBitsToUint(values);
  if ((push.flow & FLOW_TO) != 0) TaggedPairs(push.to).at[i] = uvec4(bits, bits ^ tag_of(this_stage)).xzyw;
  if ((push.flow & FLOW_OUT) != 0) Pairs(push.y).at[i] = values;
}

// Waits for value `i` of the input, after which the others are there or not far. One invocation looks: every look is in
// the way of those who give.
void wait_for_input(uint i, uint tag) {
  if (gl_LocalInvocationID.x == 0)
    for (uint polls = 0;; ++polls) {
      uvec2 value = Tagged(push.from).at[i];
      if ((value.x ^ value.y) == tag || !look_again(polls)) break;
    }
  barrier();
}

void wait_for_empty_stage() {
  if (chain.chained != 0 && this_stage > 0 && gl_LocalInvocationID.x == 0)
    for (uint polls = 0; done[(this_stage - 1) * kDoneStride] < push.wait_for && look_again(polls); ++polls) {}
}

// The last workgroup of the last stage leaves everything as the next token needs it.
void finish_stage() {
  if (push.kind == STAGE_EMPTY && this_stage + 1 < chain.n_stages) {
    if (gl_LocalInvocationID.x == 0) atomicAdd(done[this_stage * kDoneStride], 1);
    return;
  }
  if (this_stage + 1 < chain.n_stages) return;
  if (gl_LocalInvocationID.x == 0) all_done = atomicAdd(done[this_stage * kDoneStride], 1) == chain.last_groups - 1;
  barrier();
  if (!all_done) return;
  for (uint i = gl_LocalInvocationID.x; i < chain.n_stages; i += gl_WorkGroupSize.x) done[i * kDoneStride] = 0;
  if (gl_LocalInvocationID.x == 0) {
    next_ticket = 0;
    epoch = this_epoch + 1;
  }
}

// Where feature `i` of the head at `at` is, and the one that RoPE pairs it with: the lower first.
uvec2 pair_of(uint at, uint i) {
  uint n = push.rope_dim / 2;
  if (i >= push.rope_dim) return uvec2(at + i);
  uint low = i < n ? i : i - n;
  return uvec2(at + low, at + low + n);
}

// As rotated() of rope.glsl has it.
float rotate(vec2 pair, vec2 turn, uint i) {
  bool low = i < push.rope_dim / 2;
  if (i >= push.rope_dim) return pair.x;
  precise float first = low ? pair.x * turn.x : pair.y * turn.x;
  precise float second = low ? pair.y * turn.y : pair.x * turn.y;
  precise float result = low ? first - second : first + second;
  return result;
}

#define LINEAR linear
#define LANES kLanes
#define LOADS kLoads
#define NORM_LOADS kNormLoads
#define MATRICES 1
#include "common/decode_linear.glsl"
#define LINEAR linear_long
#define LANES kLanesLong
#define LOADS kLoadsLong
#define NORM_LOADS kNormLoadsLong
#define MATRICES 1
#include "common/decode_linear.glsl"
#define LINEAR gate_up
#define LANES kLanes
#define LOADS kLoads
#define NORM_LOADS kNormLoads
#define MATRICES 2
#include "common/decode_linear.glsl"
#include "common/decode_attention.glsl"

void main() {
  uint group = gl_WorkGroupID.x;
  this_stage = chain.first_stage;
  if (chain.chained != 0) {
    if (gl_LocalInvocationID.x == 0) ticket = atomicAdd(next_ticket, 1);
    barrier();
    uint entry = groups[ticket];
    this_stage = entry >> STAGE_SHIFT;
    group = entry & (1u << STAGE_SHIFT) - 1u;
  }
  push = stages[this_stage];
  this_epoch = epoch;
  if (push.kind == STAGE_LINEAR || push.kind == STAGE_LINEAR_ADD) {
    if (push.long_rows != 0) linear_long(group); else linear(group);
  } else if (push.kind == STAGE_GATE_UP) {
    gate_up(group);
  } else if (push.kind == STAGE_ATTENTION) {
    attention(group);
  } else {
    wait_for_empty_stage();
    finish_stage();
  }
}
