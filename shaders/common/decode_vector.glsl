// The input of a product of one token as a stage of decode.comp takes it. Every workgroup takes the whole
// vector and norms it; an invocation has the vec4 that lie gl_WorkGroupSize.x apart. Vectors are long or
// short, since what long ones take would be in the way of short ones.

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

void load_weights(uint invocation, uint words, uint loads, bool normed) {
  UNROLL for (uint i = 0; i < kWeights; ++i) {
    own_weight[i] = vec4(1.0);
    if (normed && i < loads)
      own_weight[i] = Weights(push.weight).at[min(invocation + i * gl_WorkGroupSize.x, words - 1)];
  }
}

// A product of groups looks at its input before it asks for its codes. If that is there by then, as it is where a
// workgroup begins late, it need not wait behind them. With two planes, and for whole matrices, that is slower.
const uint kLooks = 2 * kNormLoads < 4 ? 4 : 2 * kNormLoads;
uvec4 first_look[kLooks];

void look_at_vector(uint invocation, uint words) {
  has_looked = true;
  last_look = Tagged(push.from).at[push.n_in - 1];
  UNROLL for (uint i = 0; i < 2 * kNormLoads; ++i)
    first_look[i] = TaggedPairs(push.from).at[i % 2 + 2 * min(invocation + i / 2 * gl_WorkGroupSize.x, words - 1)];
}

// Polls COUNT of them, own_x[FIRST] and those behind it.
#define TAKE(FIRST, COUNT)                                                                                \
  for (uint polls = 0;; ++polls) {                                                                        \
    uvec4 pairs[2 * COUNT];                                                                               \
    UNROLL for (uint i = 0; i < 2 * COUNT; ++i)                                                           \
      pairs[i] = FIRST == 0 && has_looked && polls == 0                                                   \
                     ? first_look[min(i, kLooks - 1)]                                                     \
                     : input_.at[first_input() / 2 + i % 2 +                                              \
                                 2 * min(invocation + (FIRST + i / 2) * gl_WorkGroupSize.x, words - 1)];  \
    uint wrong = 0;                                                                                       \
    UNROLL for (uint i = 0; i < COUNT; ++i) {                                                             \
      uvec4 values = uvec4(pairs[2 * i].xz, pairs[2 * i + 1].xz);                                         \
      uvec4 tags = values ^ uvec4(pairs[2 * i].yw, pairs[2 * i + 1].yw) ^ tag;                            \
      wrong |= tags.x | tags.y | tags.z | tags.w;                                                         \
      own_x[FIRST + i] = uintBitsToFloat(values);                                                         \
    }                                                                                                     \
    if (wrong == 0 || !look_again(polls)) break;                                                          \
  }

void take_vector(uint invocation, uint words, bool long_rows) {
  if ((push.flow & FLOW_FROM) == 0) {
    UNROLL for (uint i = 0; i < kMostNormLoads; ++i)
      own_x[i] = Vectors(push.x).at[first_input() / 4 + min(invocation + i * gl_WorkGroupSize.x, words - 1)];
    return;
  }
  TaggedPairs input_ = TaggedPairs(push.from);
  uint tag = tag_of(this_stage - push.from_back);
  // Those that round are few, so all their invocations may poll.
  if (!kRoundsApart || push.kind != STAGE_ROUND) wait_for_input(first_input() + push.n_in - 1, tag);
  TAKE(0, kNormLoads)
  if (kNormLoads < kMostNormLoads && long_rows) TAKE(kNormLoads, kMoreNormLoads)
}
#undef TAKE

// An invocation's share of what row_scale() takes.
struct RowShare {
  float squares;
  float largest;
};

// Multiplies the vector with the norm's weights.
RowShare weigh_vector(uint invocation, uint words, uint loads) {
  RowShare share = RowShare(0.0, 0.0);
  UNROLL for (uint i = 0; i < kMostNormLoads; ++i) {
    if (i >= loads) break;
    if (invocation + i * gl_WorkGroupSize.x >= words) continue;
    share.squares = add_squares(own_x[i], share.squares);
    precise vec4 product = own_x[i];
    if (i < kWeights) product *= own_weight[i];
    own_x[i] = product;
    share.largest = largest_of(product, share.largest);
  }
  return share;
}

#ifdef HAS_UNITS
#ifdef GROUPS
const uint kUnitWords = 16;  // of four inputs, in a unit
#else
const uint kUnitWords = 8;
#endif
// The quads of words of a unit are so far apart in `tile`, with a gap that keeps them out of each other's
// banks.
#ifdef GROUPS
uint unit_stride(uint units) { return units + 1; }
#else
uint unit_stride(uint units) { return units + 4; }
#endif
const uint kMostUnits = kTile * 4 / kUnitWords / kPlanes;
uint first_unit = 0;  // of the vector at hand, where several lie in `tile`
shared int unit_sums[kMostUnits];      // of the inputs of each; of blocks: sum(q), and 2^16 times that of the rest
shared uint unit_largest[kMostUnits];  // bits of its largest |x * weight|

int sum_of_q(int both) { return both << 16 >> 16; }
int sum_of_rest(int both) { return both - sum_of_q(both) >> 16; }

void clear_units(uint invocation, uint units) {
  for (uint i = first_unit + invocation; i < first_unit + units; i += gl_WorkGroupSize.x) {
    unit_sums[i] = 0;
    if (SUBGROUP_SIZE < kUnitWords) unit_largest[i] = 0;
  }
}

// The largest of the values that the neighbours have which share a unit, in one subgroup or in several.
float largest_of_unit(float own, uint unit, bool is_there) {
  UNROLL for (uint step = 1; step < kUnitWords; step *= 2)
    if (step < SUBGROUP_SIZE) own = max(own, shuffle_xor(own, step));
  if (SUBGROUP_SIZE >= kUnitWords) {
    if (is_there && LANE % kUnitWords == 0) unit_largest[unit] = floatBitsToUint(own);
    return own;
  }
  // The bits of numbers that are not negative have the order of the numbers.
  if (is_there && LANE == 0) atomicMax(unit_largest[unit], floatBitsToUint(own));
  barrier();
  return is_there ? uintBitsToFloat(unit_largest[unit]) : 0.0;
}

void add_to_unit(int sum, uint unit, bool is_there) {
  UNROLL for (uint step = 1; step < kUnitWords; step *= 2)
    if (step < SUBGROUP_SIZE) sum += shuffle_xor(sum, step);
  if (is_there && LANE % kUnitWords == 0) atomicAdd(unit_sums[unit], sum);
}

// The four integers at own_x[i], the `at`th word of the vector, and their rest. `factor` holds where units have
// none of their own.
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

RoundedWord rounded_words(uint i, uint at, bool is_there, float factor) {
  uint unit = first_unit + at / kUnitWords;
  if (kInputUnits != 0) factor = factor_of_unit(largest_of_unit(largest_of(own_x[i], 0.0), unit, is_there));
  RoundedWord word = rounded_word(own_x[i], factor);
  add_to_unit(is_there ? sum_of_both(word) : 0, unit, is_there);
  return word;
}

// Puts them into `tile`, as [plane][quad of words of a unit][unit].
void keep_words(uint at, uint units, RoundedWord word) {
  uint to = first_word + at % kUnitWords / 4 * unit_stride(units) + at / kUnitWords;
  tile[to][at % 4] = packed(word.q);
  if (kRest != 0) tile[kUnitWords / 4 * unit_stride(units) + to][at % 4] = packed(word.rest);
}

// The share of the inputs of a unit. Requires for it: inputs have units.
float share_of(uint unit, RowScale scale) {
  return share_of_unit(uintBitsToFloat(unit_largest[first_unit + unit]), scale);
}
#endif
