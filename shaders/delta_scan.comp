// The second kernel of a Gated DeltaNet over several tokens: the memory goes from token to token. A workgroup
// takes kColumns columns of a head, which stay in registers from the first token to the last:
//
//   for each token t
//     each part:  sums of S^T k_t and of S^T q_(t-1) over its rows      S is that behind token t - 1
//     all parts:  u = strength_t (v_t - decay_t S^T k_t),  S = decay_t S + k_t u^T
//
// On the way S is also left as it is behind push.keep tokens.
//
// The parts of a column are neighbours in a subgroup, so that tokens need no barrier. k, q, v and the gates
// of kTokens tokens lie in shared memory, while those of the next are on their way into registers. An
// invocation with several columns loads k and q from there once for all of them. What a head gives overwrites
// its v.
#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_GOOGLE_include_directive : require
#extension GL_KHR_shader_subgroup_arithmetic : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_shuffle : require
#include "params.h"

#ifndef OWN_COLUMNS
#define OWN_COLUMNS 1
#endif
const uint kColumns = 32, kSize = 128 / OWN_COLUMNS;  // invocations: kParts for OWN_COLUMNS columns
layout(local_size_x = kSize) in;
layout(constant_id = CONSTANT_TOKENS) const uint kTokens = 4;  // at hand

layout(push_constant) uniform Push { DeltaPush push; };
layout(binding = 0) readonly buffer Params { uint params[]; };
layout(binding = 1) buffer Mixed { float mixed[]; };  // [n][channels]
layout(binding = 2) readonly buffer Mixed4 { vec4 mixed4[]; };
layout(binding = 3) readonly buffer Strengths { vec2 strengths[]; };  // [n][n_head_v]: decay, strength
layout(binding = 4) buffer Heads { float heads[]; };                  // [2][n_head_v][head_dim][head_dim]

#include "common/activation.glsl"
#include "common/subgroup.glsl"
#include "common/head_norm.glsl"
#include "common/delta.glsl"
#include "common/delta_slots.glsl"
#include "common/delta_state.glsl"

const uint kHeadQuads = kDeltaDim / 4;
const uint kPartStride = kQuads + 1, kVector = kParts * kPartStride;  // the gap keeps parts in banks of their own
const uint kKeyLoads = (2 * kTokens * kHeadQuads + kSize - 1) / kSize;
const uint kValueLoads = (kTokens * kColumns + kSize - 1) / kSize;

// Of the tokens at hand.
shared vec4 keys[kTokens * 2 * kVector];  // of each k, then q
shared float values[kTokens * kColumns];
shared vec2 gates[kTokens];

vec4 next_keys[kKeyLoads];
float next_values[kValueLoads];
vec2 next_gates;

uint lane, head, first_column, o_at;
vec4 columns[OWN_COLUMNS][kQuads];  // that the invocation has of S

// `first` is where the first of them lies.
void load_columns(uint first) {
  UNROLL for (uint c = 0; c < OWN_COLUMNS; ++c) {
    load_state(first + c);
    UNROLL for (uint i = 0; i < kQuads; ++i) columns[c][i] = s[i];
  }
}

void store_columns(uint first) {
  UNROLL for (uint c = 0; c < OWN_COLUMNS; ++c) {
    UNROLL for (uint i = 0; i < kQuads; ++i) s[i] = columns[c][i];
    store_state(first + c);
  }
}

// The tokens from there on. Those past the end repeat the last one: what is loaded on a condition meets what
// was there before, and is waited for at once.
void fetch(uint first) {
  uint n = min(kTokens, push.n_tokens - first), row = channels() / 4;
  uint q_at = head % push.n_head_k * kHeadQuads, k_at = q_at + push.n_head_k * kHeadQuads;
  uint v_at = (2 * push.n_head_k + head) * kDeltaDim + first_column;
  UNROLL for (uint i = 0; i < kKeyLoads; ++i) {
    uint j = i * kSize + lane, token = first + min(j / (2 * kHeadQuads), n - 1), quad = j % (2 * kHeadQuads);
    next_keys[i] = mixed4[token * row + (quad < kHeadQuads ? k_at + quad : q_at + quad - kHeadQuads)];
  }
  UNROLL for (uint i = 0; i < kValueLoads; ++i) {
    uint j = i * kSize + lane, token = first + min(j / kColumns, n - 1);
    next_values[i] = mixed[token * channels() + v_at + j % kColumns];
  }
  next_gates = strengths[(first + min(lane, n - 1)) * push.n_head_v + head];
}

void put() {
  UNROLL for (uint i = 0; i < kKeyLoads; ++i) {
    uint j = i * kSize + lane, quad = j % kHeadQuads;
    if (j < kTokens * 2 * kHeadQuads)
      keys[j / kHeadQuads * kVector + quad / kQuads * kPartStride + quad % kQuads] = next_keys[i];
  }
  UNROLL for (uint i = 0; i < kValueLoads; ++i)
    if (i * kSize + lane < kTokens * kColumns) values[i * kSize + lane] = next_values[i];
  if (lane < kTokens) gates[lane] = next_gates;
}

// The sum of what the parts of a column have, in the same order for each of them.
float sum_of_parts(float v) {
  precise float pair = v + shuffle_xor(v, 1);
  precise float all = pair + shuffle_xor(pair, 2);
  return all;
}

void load_vector(uint at, out vec4 vector[kQuads]) {
  UNROLL for (uint i = 0; i < kQuads; ++i) vector[i] = keys[at + i];
}

// The invocation's part of the columns' S^T times a vector.
void multiply(vec4 vector[kQuads], out float sums[OWN_COLUMNS]) {
  precise vec4 by[OWN_COLUMNS];
  UNROLL for (uint c = 0; c < OWN_COLUMNS; ++c) by[c] = vec4(0.0);
  UNROLL for (uint i = 0; i < kQuads; ++i)
    UNROLL for (uint c = 0; c < OWN_COLUMNS; ++c) by[c] = fma(columns[c][i], vector[i], by[c]);
  UNROLL for (uint c = 0; c < OWN_COLUMNS; ++c) sums[c] = sum_of_four(by[c]);
}

// The results of a token, of which all parts of a column have a part. Each writes one, so that none goes its
// own way: some write the same.
void give(uint token, float parts[OWN_COLUMNS]) {
  float own = sum_of_parts(parts[0]);
  UNROLL for (uint c = 1; c < OWN_COLUMNS; ++c) {
    float sum = sum_of_parts(parts[c]);
    if (lane % OWN_COLUMNS == c) own = sum;
  }
  mixed[token * channels() + o_at + lane % OWN_COLUMNS] = own;
}

void main() {
  lane = INVOCATION;
  uint slices = kDeltaDim / kColumns, part = lane % kParts, column = lane / kParts * OWN_COLUMNS;
  head = gl_WorkGroupID.x / slices;
  first_column = gl_WorkGroupID.x % slices * kColumns;
  o_at = (2 * push.n_head_k + head) * kDeltaDim + first_column + column;
  fetch(0);
  load_columns(heads_at(0, head, part, first_column + column));

  float by_k[OWN_COLUMNS], by_q[OWN_COLUMNS];
  vec4 k[kQuads], q[kQuads];  // q is that of the token before
  UNROLL for (uint i = 0; i < kQuads; ++i) q[i] = vec4(0.0);
  uint n = 0;
  for (uint first = 0; first < push.n_tokens; first += n) {
    barrier();  // nobody reads those of before any more
    put();
    barrier();
    if (first == push.keep && push.keep != 0)
      store_columns(heads_at(push.keep, head, part, first_column + column));
    n = min(kTokens, (first < push.keep ? push.keep : push.n_tokens) - first);
    fetch(min(first + n, push.n_tokens - 1));
    for (uint t = 0; t < n; ++t) {
      uint k_at = t * 2 * kVector + part * kPartStride;
      vec2 gate = gates[t];
      float value[OWN_COLUMNS];
      UNROLL for (uint c = 0; c < OWN_COLUMNS; ++c) value[c] = values[t * kColumns + column + c];
      load_vector(k_at, k);
      multiply(k, by_k);
      multiply(q, by_q);
      load_vector(k_at + kVector, q);
      UNROLL for (uint c = 0; c < OWN_COLUMNS; ++c)
        UNROLL for (uint i = 0; i < kQuads; ++i) {
          precise vec4 kept = gate.x * columns[c][i];
          columns[c][i] = kept;
        }
      UNROLL for (uint c = 0; c < OWN_COLUMNS; ++c) {
        precise float rest = value[c] - gate.x * sum_of_parts(by_k[c]);
        precise float u = gate.y * rest;
        UNROLL for (uint i = 0; i < kQuads; ++i) {
          precise vec4 changed = fma(k[i], vec4(u), columns[c][i]);
          columns[c][i] = changed;
        }
      }
      give(max(first + t, 1) - 1, by_q);  // before the first token nothing, which the next one overwrites
    }
  }
  multiply(q, by_q);
  give(push.n_tokens - 1, by_q);
  store_columns(heads_at(push.n_tokens, head, part, first_column + column));
}
