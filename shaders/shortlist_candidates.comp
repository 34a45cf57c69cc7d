// Computes the logits of the rows whose upper bound reaches the `want`-th largest of the lower bounds that
// shortlist_approximate.comp gave, with the bits of head.comp. The other approximations are below that bound,
// so none of them is among the `want` largest. Each workgroup takes a stripe of the rows of a token, and
// gives the partial result of argmax.comp for it. Compiled with CHOOSE, it is for one token, and the
// workgroup that ends last does what argmax.comp with MERGE does and, where a token is sampled, chooses it
// from the rows that were found.
#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_GOOGLE_include_directive : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_arithmetic : require
#extension GL_KHR_shader_subgroup_shuffle : require
#include "params.h"

layout(local_size_x = SHORTLIST_WORKGROUP) in;

layout(push_constant) uniform Push { ShortlistPush push; };
layout(binding = 0) readonly buffer Table { uvec4 table[]; };
layout(binding = 1) readonly buffer Y { vec4 y[]; };  // [n_tokens][n_embd / 4]
layout(binding = 2) readonly buffer Rows { ShortlistRow rows[]; };
layout(binding = 3) readonly buffer Vectors { ShortlistVector vectors[]; };
layout(binding = 4) readonly buffer Borders { uint borders[]; };  // [n_tokens][n_borders]
layout(binding = 5) buffer Settings {
  SampleSettings settings;
  uint history[];  // without a size, as in sample_choose.comp
};
layout(binding = 6) buffer Logits { float logits[]; };                // [n_tokens][n_vocab]
layout(binding = 7) coherent buffer Partials { uvec4 partials[]; };  // [n_tokens][workgroups]
#ifdef CHOOSE
layout(binding = 8) coherent buffer Found { ShortlistFound found; };
layout(binding = 9) readonly buffer Randoms { uvec2 randoms[SAMPLE_RANDOMS]; };
layout(binding = 10) writeonly buffer Result { uvec4 result[]; };  // ArgmaxResult, ChoiceResult
layout(binding = 11) buffer Params { uint params[]; };
#endif

#include "common/subgroup.glsl"
#define TABLE_QUADS table
#include "common/table.glsl"
#include "common/head_row.glsl"
#include "common/argmax.glsl"
#include "common/float_key.glsl"
#include "common/shortlist.glsl"
#ifdef CHOOSE
#include "common/sample_choice.glsl"
#endif

#ifdef UNROLLED
const uint kAhead = 10;  // loads of a row that an invocation waits for together
#else
const uint kAhead = 1;
#endif
shared uint reached[32];  // how many keys reach a border
shared uint candidates[gl_WorkGroupSize.x];
shared float exactly[gl_WorkGroupSize.x];
shared uint n_candidates;

// Of keys of all invocations: the largest that `want` of them reach, or one that is a little lower where
// kBits are fewer than 32; 0 where there are not as many.
#define DEFINE_BORDER(name, kOwn, kBits)                                   \
  uint name(uint own[kOwn], uint want) {                                   \
    uint lane = gl_LocalInvocationID.x, border = 0u;                       \
    if (lane < kBits) reached[lane] = 0u;                                  \
    barrier();                                                             \
    for (uint bit = 0; bit < kBits; ++bit) {                               \
      uint next = border | 0x80000000u >> bit;                             \
      int count = 0;                                                       \
      UNROLL for (uint i = 0; i < kOwn; ++i) count += int(own[i] >= next); \
      count = subgroup_add(count);                                         \
      if (LANE == 0 && count != 0) atomicAdd(reached[bit], uint(count));   \
      barrier();                                                           \
      if (reached[bit] >= want) border = next;                             \
    }                                                                      \
    return border;                                                         \
  }
const uint kOwnBorders = SHORTLIST_BORDERS / gl_WorkGroupSize.x;
DEFINE_BORDER(border_of_keys, kOwnBorders, 20)

// Of the lower bounds of a token.
uint border_of(uint token, uint want) {
  uint lane = gl_LocalInvocationID.x, own[kOwnBorders], largest = 0u;
  UNROLL for (uint i = 0; i < kOwnBorders; ++i) {
    uint at = lane + i * gl_WorkGroupSize.x;
    own[i] = at < push.n_borders ? borders[token * push.n_borders + at] : 0u;
    largest = max(largest, own[i]);
  }
  if (want != 1u) return border_of_keys(own, want);
  if (lane == 0) reached[0] = 0u;
  barrier();
  atomicMax(reached[0], largest);
  barrier();
  return reached[0];
}

float logit_of(uint row, uint token) {
  uint eights = push.n_embd / 8;
  float sum = 0.0;
  for (uint first = 0; first < eights; first += kAhead * SUBGROUP_SIZE) {
    vec4 low[kAhead], high[kAhead];
    UNROLL for (uint a = 0; a < kAhead; ++a)
      decode_eight(row * eights + min(first + a * SUBGROUP_SIZE + LANE, eights - 1), low[a], high[a]);
    UNROLL for (uint a = 0; a < kAhead; ++a) {
      uint i = first + a * SUBGROUP_SIZE + LANE, at = 2 * (token * eights + i);
      if (i < eights) sum = add_eight(low[a], high[a], y[at], y[at + 1], sum);
    }
  }
  return subgroup_add(sum);
}

#ifdef CHOOSE
shared bool is_last;
shared uint n_likely;

// What argmax.comp with MERGE makes of the partial results.
void merge_partials() {
  Partial mine = kNoLogits;
  uint lane = gl_LocalInvocationID.x;
  if (lane < MERGE_INVOCATIONS)
    for (uint i = lane; i < gl_NumWorkGroups.x; i += MERGE_INVOCATIONS) mine = merge(mine, unpack(partials[i]));
  reduce_best(mine, MERGE_INVOCATIONS);
  if (lane == 0) result[0] = pack(best[0]);
}

const uint kOwnFound = SHORTLIST_FOUND / gl_WorkGroupSize.x;
DEFINE_BORDER(border_of_found, kOwnFound, 32)

// Samples from the rows that were found. Where more than SAMPLE_CANDIDATES are among the likeliest, or more
// were found than there is room for, that is left to the host.
void sample_token(uint position) {
  uint lane = gl_LocalInvocationID.x, n = found.n, own[kOwnFound];
  bool undecided = n > SHORTLIST_FOUND;
  n = min(n, SHORTLIST_FOUND);
  UNROLL for (uint i = 0; i < kOwnFound; ++i) {
    uint at = lane + i * gl_WorkGroupSize.x;
    own[i] = at < n ? key_of(found.found[2 * at]) : 0u;
  }
  uint border = n > SAMPLE_CANDIDATES ? border_of_found(own, settings.want) : 0u;
  if (lane == 0) n_likely = 0u;
  barrier();
  UNROLL for (uint i = 0; i < kOwnFound; ++i) {
    uint at = lane + i * gl_WorkGroupSize.x;
    if (at >= n || own[i] < border) continue;
    uint slot = atomicAdd(n_likely, 1u);
    if (slot >= SAMPLE_CANDIDATES) continue;
    logit_bits[slot] = bits_of(own[i]);
    id[slot] = found.found[2 * at + 1];
  }
  barrier();
  undecided = undecided || n_likely > SAMPLE_CANDIDATES;
  uint chosen;
  if (choose(min(n_likely, SAMPLE_CANDIDATES), position, uvec2(found.random[0], found.random[1]), chosen)) {
    result[1] = uvec4(id[chosen], logit_bits[chosen], uint(undecided), 0u);
    params[PARAMS_TOKENS] = id[chosen];
    history[position % SAMPLE_HISTORY] = id[chosen];
  }
}

// Done by the workgroup that ends last, which sees what all others have written.
void choose_token() {
  uint lane = gl_LocalInvocationID.x, position = params[PARAMS_POSITION] + 1u;
  memoryBarrierBuffer();
  barrier();
  if (lane == 0) is_last = atomicAdd(found.n_done, 1u) == gl_NumWorkGroups.x - 1u;
  barrier();
  if (!is_last) return;
  memoryBarrierBuffer();
  merge_partials();
  if (push.is_sampled != 0u) {
    sample_token(position);
  } else if (lane == 0) {
    params[PARAMS_TOKENS] = best[0].index;
  }
  if (lane == 0) params[PARAMS_POSITION] = position;
}
#endif

void main() {
  uint lane = gl_LocalInvocationID.x, token = gl_WorkGroupID.y;
  ShortlistVector vector = vectors[token];
  uint border = border_of(token, push.is_sampled != 0u ? settings.want : 1u);
  uint stripe = (push.n_vocab + gl_NumWorkGroups.x - 1) / gl_NumWorkGroups.x;
  uint begin = gl_WorkGroupID.x * stripe, end = min(push.n_vocab, begin + stripe);
  Partial mine = kNoLogits;
#ifdef CHOOSE
  // The host sees these, so they take long to read: one workgroup does, for that which ends last.
  uvec2 random = uvec2(0u);
  if (push.is_sampled != 0u && gl_WorkGroupID.x == 0 && lane == 0)
    random = randoms[(params[PARAMS_POSITION] + 1u) % SAMPLE_RANDOMS];
#endif
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
#ifdef CHOOSE
      uint place = push.is_sampled != 0u ? atomicAdd(found.n, 1u) : SHORTLIST_FOUND;
      if (place < SHORTLIST_FOUND) {
        found.found[2 * place] = floatBitsToUint(logit);
        found.found[2 * place + 1] = row;
      }
#endif
    }
    if (row < end) mine = merge(mine, of_logit(floatBitsToUint(logit), row));
  }
  reduce_best(mine, gl_WorkGroupSize.x);
  if (lane == 0) partials[token * gl_NumWorkGroups.x + gl_WorkGroupID.x] = pack(best[0]);
#ifdef CHOOSE
  if (push.is_sampled != 0u && gl_WorkGroupID.x == 0 && lane == 0) {
    found.random[0] = random.x;
    found.random[1] = random.y;
  }
  choose_token();
#endif
}
