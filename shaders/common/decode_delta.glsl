// Gated DeltaNet of one token as a stage of decode.comp, with the bits of delta_token.comp and of the kernels
// for several tokens. A workgroup takes kTogether heads, kParts invocations a column of a memory, which is on
// its way while the workgroup waits for its input. The gates come as values, or the workgroup computes those
// of its heads: these are rows of a matrix of floats by the vector that qkvz was made of.
//
// The stage's buffers: k_cache and v_cache have the states of the convolution and of the heads, chunks its
// weights, finished the bias of times, bias the decays, q_norm the weights of the norm, w and w1 the rows of
// the gates, whose types are in `kinds`.
#define DELTA_EPSILON push.q_epsilon
#define HEADS_READ Scalars(push.v_cache).at
#define HEADS_WRITTEN Floats(push.v_cache).at
#include "common/delta.glsl"
#include "common/delta_slots.glsl"
#include "common/delta_state.glsl"
#include "common/delta_gates.glsl"

const bool kHasDelta = kConv != 0;
const uint kColumns = gl_WorkGroupSize.x / kParts, kTogether = kHasDelta ? kColumns / kDeltaDim : 1;
const uint kOlder = kConv > 1 ? kConv - 1 : 1, kTaps = kHasDelta ? kConv : 1;
const uint kDeltaQuads = kHasDelta ? kColumns / 4 : 1;

// `tile` holds q, k, v and z, and behind them two sums of each part of a column.
shared vec4 delta_shares[3][kTogether][kShares / 4];  // of q, of k, of the result
shared float delta_result[kDeltaQuads * 4];
shared vec2 delta_gate[kTogether];  // decay, strength
shared float gate_parts[2 * kTogether][kHasDelta ? kMostSubgroups : 1];

uvec4 gate_words[2 * kTogether][kHasDelta ? kMostNormLoads : 1];

// The first so many rows are decays, the others strengths.
void load_gates(uint group, uint invocation, uint words, uint loads) {
  UNROLL for (uint r = 0; r < 2 * kTogether; ++r) {
    uint row = group * kTogether + r % kTogether, type = push.kinds >> r / kTogether * 8 & 255u;
    uvec2 w = r < kTogether ? push.w : push.w1;
    UNROLL for (uint i = 0; i < kMostNormLoads; ++i) {
      if (i >= loads) break;
      uint at = row * words + min(place_of(invocation, i), words - 1);
      gate_words[r][i] = type == TABLE_F32 ? Codes(w).at[at] : uvec4(Twos(w).at[at], 0, 0);
    }
  }
}

// Sums of subgroups into gate_parts.
void multiply_gates(uint invocation, uint words, bool long_rows) {
  uint loads = loads_of(long_rows);
  take_vector(invocation, words, long_rows);
  meet_behind_polls();
  float inverse = inverse_of_row(weigh_vector(invocation, words, loads).squares);
  UNROLL for (uint r = 0; r < 2 * kTogether; ++r) {
    float sum = 0.0;
    UNROLL for (uint i = 0; i < kMostNormLoads; ++i) {
      if (i >= loads) break;
      if (place_of(invocation, i) < words)
        sum = add_four(four_floats(push.kinds >> r / kTogether * 8 & 255u, gate_words[r][i]),
                       normed(own_x[i], inverse), sum);
    }
    sum = subgroup_add(sum);
    if (LANE == 0) gate_parts[r][SUBGROUP] = sum;
  }
}

// The sum of subgroups' shares of a row, or what comes as a value.
float gate_of(uint r, uint at) {
  if (push.n_in != 0) {
    precise float total = 0.0;
    for (uint i = 0; i < N_SUBGROUPS; ++i) total += gate_parts[r][i];
    precise float result = total * (r < kTogether ? push.scale0 : push.scale1);
    return result;
  }
  return (push.flow & FLOW_FROM) == 0 ? Floats(push.x).at[at] : taken_value(push.from, at);
}

// Value `i` of qkvz.
float take_mixed(uint i) {
  return (push.flow & FLOW_RESIDUAL) == 0 ? Floats(push.x2).at[i] : taken_value(push.residual, i);
}

float mixed_at(uint which, uint i) { return uintBitsToFloat(tile[which * kDeltaQuads + i / 4][i % 4]); }
vec4 four_mixed(uint which, uint i) { return uintBitsToFloat(tile[which * kDeltaQuads + i]); }
void keep_mixed(uint which, uint i, float value) {
  tile[which * kDeltaQuads + i / 4][i % 4] = floatBitsToUint(value);
}

float part_at(uint which, uint part, uint column) { return mixed_at(4 + which * kParts + part, column); }
void keep_part(uint which, uint part, uint column, float value) {
  keep_mixed(4 + which * kParts + part, column, value);
}

float sum_of_parts(uint which, uint column) {
  precise float sum = (part_at(which, 0, column) + part_at(which, 1, column)) +
                      (part_at(which, 2, column) + part_at(which, 3, column));
  return sum;
}

void delta_net(uint group) {
  uint lane = gl_LocalInvocationID.x, part = lane / kColumns, column = lane % kColumns;
  uint own = column / kDeltaDim, feature = column % kDeltaDim, head = group * kTogether + own;
  uint key_head = head % push.n_head_k;
  uint invocation = INVOCATION, words = push.n_in / 4;
  bool long_rows = kHasLongRows && push.long_rows != 0;
  load_state(heads_at(0, head, part, feature));
  uint of_part = part == 0 ? key_head : part == 1 ? push.n_head_k + key_head : 2 * push.n_head_k + head;
  uint channel = of_part * kDeltaDim + feature;
  float older[kOlder], taps[kTaps];
  if (part < 3) {
    UNROLL for (uint j = 0; j < kTaps; ++j) taps[j] = Scalars(push.chunks).at[channel * kConv + j];
    UNROLL for (uint j = 0; j < kOlder; ++j)
      older[j] = Scalars(push.k_cache).at[conv_at(slot_of(0), j) + channel];
  }
  float z_weight = Scalars(push.q_norm).at[feature];
  if (push.n_in != 0) {
    load_gates(group, invocation, words, loads_of(long_rows));
    load_weights(invocation, words, loads_of(long_rows), true);
    multiply_gates(invocation, words, long_rows);
    barrier();
  }
  if (lane < kTogether) {
    uint of_gate = group * kTogether + lane;
    float a = gate_of(lane, of_gate), b = gate_of(kTogether + lane, push.n_head_v + of_gate);
    delta_gate[lane] =
        vec2(decay_of(a, Scalars(push.finished).at[of_gate], Scalars(push.bias).at[of_gate]), sigmoid(b));
  }

  if (part == 3) channel += push.n_head_v * kDeltaDim;  // z
  if (lane == 0) take_mixed(channel);  // one polls, as in wait_for_input
  barrier();
  float newest = take_mixed(channel);
  if (part < 3) {
    precise float sum = 0.0;
    UNROLL for (uint j = 0; j < kOlder; ++j) sum = fma(taps[j], older[j], sum);
    sum = fma(taps[kTaps - 1], newest, sum);
    keep_mixed(part, column, times_logistic(sum, sum));
    if (part == 2 || head < push.n_head_k) {
      UNROLL for (uint j = 0; j < kOlder; ++j)
        Floats(push.k_cache).at[conv_at(slot_of(1), j) + channel] =
            j + 1 < kOlder ? older[min(j + 1, kOlder - 1)] : newest;
    }
  } else {
    keep_mixed(3, column, newest);
  }
  barrier();
  if (lane < 2 * kTogether * kShares) {
    uint which = lane / kShares / kTogether, of_head = lane / kShares % kTogether;
    float sum = 0.0;
    for (uint i = lane % kShares; i < kDeltaDim; i += kShares)
      sum = add_square(mixed_at(which, of_head * kDeltaDim + i), sum);
    delta_shares[which][of_head][lane % kShares / 4][lane % 4] = sum;
  }
  barrier();
  if (part < 2)
    keep_mixed(part, column,
               normed(mixed_at(part, column), inverse_length(delta_shares[part][own]),
                      part == 0 ? push.q_scale : 1.0));
  barrier();

  uint at = own * (kDeltaDim / 4) + part * kQuads;
  precise vec4 by_k = vec4(0.0), by_q = vec4(0.0);
  UNROLL for (uint i = 0; i < kQuads; ++i) by_k = fma(s[i], four_mixed(1, at + i), by_k);
  keep_part(0, part, column, sum_of_four(by_k));
  barrier();
  vec2 gate = delta_gate[own];
  precise float rest = mixed_at(2, column) - gate.x * sum_of_parts(0, column);
  precise float u = gate.y * rest;
  UNROLL for (uint i = 0; i < kQuads; ++i) {
    precise vec4 kept = gate.x * s[i];
    precise vec4 changed = fma(four_mixed(1, at + i), vec4(u), kept);
    s[i] = changed;
    by_q = fma(changed, four_mixed(0, at + i), by_q);
  }
  keep_part(1, part, column, sum_of_four(by_q));
  store_state(heads_at(1, head, part, feature));
  barrier();
  if (part == 0) delta_result[column] = sum_of_parts(1, column);
  barrier();
  if (lane < kTogether * kShares) {
    float squares = 0.0;
    for (uint i = lane % kShares; i < kDeltaDim; i += kShares)
      squares = add_square(delta_result[lane / kShares * kDeltaDim + i], squares);
    delta_shares[2][lane / kShares][lane % kShares / 4][lane % 4] = squares;
  }
  barrier();
  float result = 0.0;
  if (part == 0)
    result = gated_output(delta_result[column],
                          inverse_of_head(delta_shares[2][own], push.per_feature, push.q_epsilon), z_weight,
                          mixed_at(3, column));
#ifdef HAS_UNITS
  if ((kRounded & ROUNDED_DELTA) != 0 && gives_units()) {
    if (part == 0) keep_mixed(0, column, result);  // q is not needed any more
    barrier();
    if (SUBGROUP * SUBGROUP_SIZE < kDeltaQuads) {
      uint of_head = invocation / (kDeltaDim / 4), quad = invocation % (kDeltaDim / 4);
      uint at = output_head(group * kTogether + of_head) * (kDeltaDim / 4) + quad;
      bool is_there = invocation < kDeltaQuads;
      vec4 four = four_mixed(0, min(invocation, kDeltaQuads - 1));
      give_unit(four, at / kUnitWords, push.n_out / (4 * kUnitWords), is_there);
      if (is_there && (push.flow & FLOW_OUT) != 0) Vectors(push.y).at[at] = four;
    }
    finish_stage();
    return;
  }
#endif
  if (part == 0) give(output_head(head) * kDeltaDim + feature, result);
  finish_stage();
}
