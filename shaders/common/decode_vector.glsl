// The input of a product of one token as a stage of decode.comp takes it. Every workgroup takes the whole
// vector and norms it; an invocation has the vec4 that lie kRowSize apart, or none. Vectors are long or
// short, since what long ones take would be in the way of short ones.

// The place of vec4 `i` of an invocation, which is behind all others if it has none.
uint place_of(uint invocation, uint i) {
  uint at = invocation + i * kRowSize;
  return kRowSize == gl_WorkGroupSize.x || invocation < kRowSize ? at : ~0u;
}

const uint kMostNormLoads = kNormLoads < kNormLoadsLong ? kNormLoadsLong : kNormLoads;
const uint kMoreNormLoads = kNormLoads < kNormLoadsLong ? kNormLoadsLong - kNormLoads : 1;  // of long rows
const uint kWeights = kNormLong == NORM_NEVER ? kNormLoads : kMostNormLoads;  // vec4 of a norm's weights

uint loads_of(bool long_rows) { return long_rows ? kMostNormLoads : kNormLoads; }

bool is_normed(bool long_rows) {
  uint norm = long_rows ? kNormLong : kNorm;
  return norm == NORM_ALWAYS || norm == NORM_BY_STAGE && push.weight != uvec2(0);
}

uint first_word = 0;         // uvec4 of `tile` in which the vector at hand begins, where it holds several
vec4 own_x[kMostNormLoads];  // what this invocation has of the vector
vec4 own_weight[kWeights];   // and of the norm's weights

#ifdef GROUPS
const bool kWeightsComeLate = kNorm != NORM_NEVER || kNormLong != NORM_NEVER;  // with the vector
#else
const bool kWeightsComeLate = false;
#endif

// The weights of 1 where there is no norm. Those that come late take_vector() loads.
void load_weights(uint invocation, uint words, uint loads, bool normed) {
  if (kWeightsComeLate) return;
  UNROLL for (uint i = 0; i < kWeights; ++i) {
    own_weight[i] = vec4(1.0);
    if (normed && i < loads)
      own_weight[i] = Weights(push.weight).at[min(place_of(invocation, i), words - 1)];
  }
}

// Polls COUNT of them, own_x[FIRST] and those behind it. Weights that come with them are looked at, so that
// nobody waits for them together with codes (is_missing()): no product is NOT_GIVEN.
#define TAKE(FIRST, COUNT)                                                                                \
  for (uint polls = 0;; ++polls) {                                                                        \
    uvec4 some[COUNT];                                                                                    \
    vec4 weights[COUNT];                                                                                  \
    UNROLL for (uint i = 0; i < COUNT; ++i) {                                                             \
      uint at = min(place_of(invocation, FIRST + i), words - 1);                                          \
      some[i] = input_.at[first_input() / 4 + at];                                                        \
      if (kWeightsComeLate && FIRST + i < kWeights) weights[i] = weights_.at[at];                         \
    }                                                                                                     \
    bool missing = false;                                                                                 \
    UNROLL for (uint i = 0; i < COUNT; ++i) {                                                             \
      missing = either(missing, is_missing(some[i]));                                                     \
      own_x[FIRST + i] = uintBitsToFloat(some[i]);                                                        \
      if (!kWeightsComeLate || FIRST + i >= kWeights) continue;                                           \
      own_weight[FIRST + i] = normed ? weights[i] : vec4(1.0);                                            \
      missing = either(missing, floatBitsToUint(own_x[FIRST + i].x * weights[i].x) == NOT_GIVEN);         \
    }                                                                                                     \
    if (!both(missing, is_polled) || !look_again(polls)) break;                                           \
  }

void take_vector(uint invocation, uint words, bool long_rows) {
  bool is_polled = (push.flow & FLOW_FROM) != 0, normed = is_normed(long_rows);
#ifdef GROUPS
  GivenQuads input_ = GivenQuads(is_polled ? push.from : push.x);
  Weights weights_ = Weights(normed ? push.weight : is_polled ? push.from : push.x);
#else
  if (!is_polled) {
    UNROLL for (uint i = 0; i < kMostNormLoads; ++i)
      own_x[i] = Vectors(push.x).at[first_input() / 4 + min(place_of(invocation, i), words - 1)];
    return;
  }
  is_polled = true;  // which spares the test of it behind each poll
  GivenQuads input_ = GivenQuads(push.from);
  Weights weights_ = Weights(push.weight);
#endif
  // Those that round are few, so all their invocations may poll.
  if (is_polled && (!kRoundsApart || push.kind != STAGE_ROUND)) wait_for_input(first_input() + push.n_in - 1);
  TAKE(0, kNormLoads)
  if (kNormLoads < kMostNormLoads && long_rows) TAKE(kNormLoads, kMoreNormLoads)
}
#undef TAKE

#ifdef GROUPS
const uint kUnitWords = kUnit / 4;  // of four inputs, in a unit
#else
const uint kUnitWords = 8;
#endif
#include "common/decode_row_scale.glsl"

// Multiplies the vector with the norm's weights.
RowShare weigh_vector(uint invocation, uint words, uint loads) {
  RowShare share = RowShare(0.0, 0.0);
  UNROLL for (uint i = 0; i < kMostNormLoads; ++i) {
    if (i >= loads) break;
    if (place_of(invocation, i) >= words) continue;
    share.squares = add_squares(own_x[i], share.squares);
    precise vec4 product = own_x[i];
    if (i < kWeights) product *= own_weight[i];
    own_x[i] = product;
    share.largest = largest_of(product, share.largest);
  }
  return share;
}

#ifdef HAS_UNITS
// The quads of words of a unit are so far apart in `tile`, with a gap that keeps them out of each other's
// banks.
#ifdef GROUPS
layout(constant_id = CONSTANT_UNIT_STRIDE) const uint kUnitStride = 1;  // of the longest vector
uint unit_stride(uint units) { return kTokens == 1 ? kUnitStride : units + 1; }
#else
uint unit_stride(uint units) { return units + 4; }
#endif
const uint kMostUnits = kTile * 4 / kUnitWords / kPlanes;
uint first_unit = 0;  // of the vector at hand, where several lie in `tile`
shared int unit_sums[kMostUnits];      // of the inputs of each; of blocks: sum(q), and 2^16 times that of the rest
shared uint unit_largest[kMostUnits];  // bits of its largest |x * weight|

int sum_of_q(int both) { return both << 16 >> 16; }
int sum_of_rest(int both) { return both - sum_of_q(both) >> 16; }

// Neighbours that share a unit are in one subgroup, or else in several, which add what they have to zeros.
bool has_whole_units() { return SUBGROUP_SIZE >= kUnitWords; }

void clear_units(uint invocation, uint units) {
  if (has_whole_units()) return;
  for (uint i = first_unit + invocation; i < first_unit + units; i += gl_WorkGroupSize.x) {
    unit_sums[i] = 0;
    unit_largest[i] = 0;
  }
  barrier();
}

// Four integers and their rest.
struct RoundedWord {
  ivec4 q, rest;
};

RoundedWord rounded_word(vec4 four, float factor) {
  RoundedWord word = RoundedWord(quantised(four, factor), ivec4(0));
  if (kRest != 0) word.rest = quantised_rest(four, factor);
  return word;
}

int sum_of_both(RoundedWord word) {
#ifdef GROUPS
  if (kRest != 0) return REST_STEPS * sum_of(word.q) + sum_of(word.rest);
#endif
  return sum_of(word.q) + (sum_of(word.rest) << 16);
}

// Rounds what this invocation has of the vector into `tile`, as [plane][quad of words of a unit][unit], and
// fills unit_largest and unit_sums. Each step is taken for all words, so that none waits for another.
// `factor` holds where units have none of their own. Returns the largest magnitude of the units that this
// invocation has a share of, or without units of what it has.
float round_words(uint invocation, uint words, uint units, uint loads, float factor) {
  float largest[kMostNormLoads];
  uint unit[kMostNormLoads];
  bool is_there[kMostNormLoads];
  UNROLL for (uint i = 0; i < kMostNormLoads; ++i) {
    uint at = place_of(invocation, i);
    unit[i] = first_unit + at / kUnitWords;
    is_there[i] = i < loads && at < words;
    largest[i] = largest_of(own_x[i], 0.0);
  }
  if (kInputUnits != 0) {
    UNROLL for (uint step = 1; step < kUnitWords; step *= 2)
      UNROLL for (uint i = 0; i < kMostNormLoads; ++i)
        if (step < SUBGROUP_SIZE) largest[i] = max(largest[i], shuffle_xor(largest[i], step));
    // The bits of numbers that are not negative have the order of the numbers.
    UNROLL for (uint i = 0; i < kMostNormLoads; ++i) {
      if (!is_there[i] || LANE % kUnitWords != 0) continue;
      if (has_whole_units()) unit_largest[unit[i]] = floatBitsToUint(largest[i]);
      else atomicMax(unit_largest[unit[i]], floatBitsToUint(largest[i]));
    }
    if (!has_whole_units()) {
      barrier();
      UNROLL for (uint i = 0; i < kMostNormLoads; ++i)
        largest[i] = is_there[i] ? uintBitsToFloat(unit_largest[unit[i]]) : 0.0;
    }
  }
  float of_units = 0.0;
  UNROLL for (uint i = 0; i < kMostNormLoads; ++i)
    if (is_there[i]) of_units = max(of_units, largest[i]);
  int sum[kMostNormLoads];
  UNROLL for (uint i = 0; i < kMostNormLoads; ++i) {
    RoundedWord word = rounded_word(own_x[i], kInputUnits != 0 ? factor_of_unit(largest[i]) : factor);
    sum[i] = is_there[i] ? sum_of_both(word) : 0;
    if (!is_there[i]) continue;
    uint at = place_of(invocation, i);
    uint to = first_word + at % kUnitWords / 4 * unit_stride(units) + at / kUnitWords;
    tile[to][at % 4] = packed(word.q);
    if (kRest != 0) tile[kUnitWords / 4 * unit_stride(units) + to][at % 4] = packed(word.rest);
  }
  UNROLL for (uint step = 1; step < kUnitWords; step *= 2)
    UNROLL for (uint i = 0; i < kMostNormLoads; ++i)
      if (step < SUBGROUP_SIZE) sum[i] += shuffle_xor(sum[i], step);
  UNROLL for (uint i = 0; i < kMostNormLoads; ++i) {
    if (!is_there[i] || LANE % kUnitWords != 0) continue;
    if (has_whole_units()) unit_sums[unit[i]] = sum[i];
    else atomicAdd(unit_sums[unit[i]], sum[i]);
  }
  return of_units;
}

// The share of the inputs of a unit. Requires for it: inputs have units.
float share_of(uint unit, RowScale scale) {
  return share_of_unit(uintBitsToFloat(unit_largest[first_unit + unit]), scale);
}
#endif
