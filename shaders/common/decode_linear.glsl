// A ternary product as a stage of decode.comp, y = W int8(rms_norm(x) * weight). Every workgroup norms and
// rounds the whole vector. It loads its share of the codes before it waits for x, and of whole matrices of
// the norm's weights, which of groups come with x (decode_vector.glsl). The results are those of
// rms_norm_quantise and of the kernels for few tokens, bit for bit.
//
// Of several tokens a workgroup loads its codes once. They stay in registers while it takes the vectors one
// after the other, each in place of the one before. Gate and up, of which a workgroup takes several sets of
// rows in turn, are multiplied with the vectors of all tokens, which lie in `tile` together. Of more than
// ROUNDED_HERE the products of whole matrices are those of decode_few.glsl.
//
// Code is as precious as registers here: a workgroup runs through each stage once, so a chain whose
// instructions do not fit into the cache for them (about 128 KB on an H200) waits for instructions. What does
// not depend on the shape of the loop is therefore here, once for all stages; decode_rows.glsl has the rest.

// uvec4 of codes of an invocation: of short rows, of gate and up, and of long rows.
const uint kCodesShort = kRows * kLoads, kCodesGate = 2 * kRowsGate * kLoadsGate, kCodesLong = kRowsLong * kLoadsLong;
const uint kCodesNormed = kCodesShort < kCodesGate ? kCodesGate : kCodesShort;
const uint kMostCodes = kCodesNormed < kCodesLong ? kCodesLong : kCodesNormed;

// The codes of this invocation's rows, of the first set.
uvec4 bits[kMostCodes];
#ifdef GROUPS
uint halves[kMostCodes];  // each has the scale of the codes
#endif
uint residual;  // bits of what the result of the set of rows at hand is added to, or NOT_GIVEN

// Of each vector in `tile` where these are several: its scale, and the sum of its integers.
shared RowScale token_scales[kTokens];
shared int token_sums[kTokens];

// The sum of the vector's integers, which whole matrices need at the end of a row.
int vector_sum() {
#ifdef GROUPS
  return 0;
#else
  return sum_of_shares();
#endif
}
int vector_sum(bool gates) { return kTokens > 1 && gates ? token_sums[this_token] : vector_sum(); }

// Goes on to the vector of a token in `tile`.
void place_vector(uint token) {
  this_token = token;
#ifdef GROUPS
  first_unit = token * (push.n_in / kUnit);
  first_word = token * kUnitWords / 4 * unit_stride(push.n_in / kUnit);
#else
  first_word = token * (push.n_in / 16);
#endif
}

RowScale use_vector(uint token) {
  place_vector(token);
  return token_scales[token];
}

// Of N sums in `acc` that lanes share, out of VALUES of each matrix, a lane whose bit STEP is set goes on
// with the second half and the others with the first, since each value that lanes exchange takes time. A
// macro, since the loops of a function over them would stay loops, and the sums in memory
// (../../bench/speed/decode.md).
#define HALVE(N, VALUES, STEP)                                                              \
  if (VALUES >= N) {                                                                        \
    const uint kept = N / 2;                                                                \
    bool upper = (LANE & (STEP)) != 0;                                                      \
    UNROLL for (uint k = 0; k < MATRICES * kept; ++k) {                                     \
      uint at = k / kept * VALUES + k % kept;                                               \
      int other = upper ? acc[at] : acc[at + kept], own = upper ? acc[at + kept] : acc[at]; \
      acc[at] = own + shuffle_xor(other, STEP);                                             \
    }                                                                                       \
  }

#ifndef GROUPS
// Where word `at` of a vector of int8 lies in `tile`, as [s][half]: at s the activations that meet the codes
// at shift 6 - 2s of each half of a block. Neighbouring lanes take neighbouring halves, so no two of them
// want the same bank.
uint place_of_word(uint at, uint units) {
  uint quad = at / 4;  // of a block's eight: 2s + half
  return quad % 8 / 2 * units + quad / 8 * 2 + quad % 2;
}

#include "common/decode_few.glsl"
#endif

#define LOAD load_short
#define LOAD_AT load_short_at
#define SCALE_OF scale_of_short
#define LOAD_SCALES load_scales_of_short
#define FIRST_ROW first_row_of_short
#define RESIDUAL_OF residual_of_short
#define PRODUCT product_short
#define PRODUCT_OF_FEW product_of_few_short
#define FEW few_short
#define LANES kLanes
#define ROWS kRows
#define LOADS kLoads
#define INSIDE kInside
#define MATRICES 1
#include "common/decode_rows.glsl"
#define LOAD load_long
#define LOAD_AT load_long_at
#define SCALE_OF scale_of_long
#define LOAD_SCALES load_scales_of_long
#define FIRST_ROW first_row_of_long
#define RESIDUAL_OF residual_of_long
#define PRODUCT product_long
#define PRODUCT_OF_FEW product_of_few_long
#define FEW few_long
#define LANES kLanesLong
#define ROWS kRowsLong
#define LOADS kLoadsLong
#define INSIDE kInsideLong
#define MATRICES 1
#include "common/decode_rows.glsl"
#define LOAD load_gate
#define LOAD_AT load_gate_at
#define SCALE_OF scale_of_gate
#define LOAD_SCALES load_scales_of_gate
#define FIRST_ROW first_row_of_gate
#define RESIDUAL_OF residual_of_gate
#define PRODUCT product_gate
#define PRODUCT_OF_FEW product_of_few_gate
#define FEW few_gate
#define LANES kLanesGate
#define ROWS kRowsGate
#define LOADS kLoadsGate
#define INSIDE kInsideGate
#define MATRICES 2
#include "common/decode_rows.glsl"

#ifdef GROUPS
bool turns() { return kHasRotation && push.scale != 0.0; }

// Norms the vector, of which an invocation has a share, and turns it.
void turn_vector(uint invocation, uint words, uint loads) {
  vec4 signs[kWeights];  // as many vec4 as a vector with a norm has
  float squares = 0.0;
  UNROLL for (uint i = 0; i < kWeights; ++i) {
    uint at = min(place_of(invocation, i), words - 1);
    signs[i] = push.bias != uvec2(0) ? Weights(push.bias).at[at] : vec4(1.0);
    if (i < loads && place_of(invocation, i) < words) squares = add_squares(own_x[i], squares);
  }
  float inverse = inverse_of_row(squares);
  UNROLL for (uint i = 0; i < kWeights; ++i) {
    precise vec4 weighed = normed(own_x[i], inverse) * own_weight[i];
    own_weight[i] = vec4(1.0);
    own_x[i] = turned_in_subgroup(weighed * signs[i]);
  }
  if (quads_in_subgroup() < kBlockQuads) {
    UNROLL for (uint i = 0; i < kWeights; ++i)
      if (i < loads && place_of(invocation, i) < words) keep_quad(place_of(invocation, i), own_x[i]);
    barrier();
    turn_tile(words);
    UNROLL for (uint i = 0; i < kWeights; ++i) own_x[i] = quad_at(min(place_of(invocation, i), words - 1));
    barrier();  // the int8 take the place of what was turned
  }
  UNROLL for (uint i = 0; i < kWeights; ++i) {
    precise vec4 scaled = own_x[i] * push.scale;
    own_x[i] = scaled;
  }
}
#endif

// Takes the vector of this token, norms it, turns it where the matrix wants that, and rounds it into `tile`.
RowScale round_vector(uint invocation, bool long_rows) {
  uint words = push.n_in / 4, loads = loads_of(long_rows);
  bool normed = is_normed(long_rows);
  RowScale scale;
#ifdef GROUPS
  uint units = push.n_in / kUnit;
  // Units are rounded before anything is known of the row.
  bool comes_rounded = kRounded != 0 && (push.flow & FLOW_FROM_ROUNDED) != 0;
  RowShare share = RowShare(0.0, 0.0);
  float of_units = 0.0;
  scale.factor = 0.0;
  if (comes_rounded) {
    share.largest = take_units(invocation, units);
    meet_behind_polls();
    if (split_units() != 0) share.largest = max(share.largest, round_split(invocation, units));
  } else {
    clear_units(invocation, units);
    take_vector(invocation, words, long_rows);
    meet_behind_polls();
    if (turns()) {
      turn_vector(invocation, words, loads);
      normed = false;
    }
    share = weigh_vector(invocation, words, loads);
    if (kInputUnits == 0) scale = row_scale_of(share, normed);
    of_units = round_words(invocation, words, units, loads, scale.factor);
  }
  if (kInputUnits != 0) scale = row_scale_of_rounded(share.squares, share.largest, of_units, comes_rounded, normed);
  else barrier();  // either shows everyone the int8
  if (kRest != 0) scale.s = scale_of_rest(scale.s);
#else
  take_vector(invocation, words, long_rows);
  meet_behind_polls();
  scale = row_scale_of(weigh_vector(invocation, words, loads), normed);
  int sum = 0;
  UNROLL for (uint i = 0; i < kMostNormLoads; ++i) {
    if (i >= loads) break;
    uint at = place_of(invocation, i);
    if (at >= words) break;
    ivec4 four = quantised(own_x[i], scale.factor);
    sum += sum_of(four);
    if (kRoundsApart) give_word(at, packed(four));
    else tile[first_word + place_of_word(at, push.n_in / 64)][at % 4] = packed(four);
  }
  share_sum(sum);
  barrier();  // which also shows everyone the int8
#endif
  return scale;
}

void linear(uint group, bool gates, bool long_rows) {
  const bool together = kTokens > 1 && gates;
  uint first = 0, end = n_tokens();
  if (kTokens > 1 && !gates) {
    uint of_token = push.n_groups / ((end + push.tokens_each - 1) / push.tokens_each);
    first = group / of_token * push.tokens_each;
    end = min(first + push.tokens_each, end);
    group %= of_token;
    this_token = first;
  }
  uint invocation = INVOCATION;  // sixteen neighbours are also neighbouring lanes
  if (gates) load_gate(group);
  else if (long_rows) load_long(group);
  else load_short(group);

  load_weights(invocation, push.n_in / 4, loads_of(long_rows), is_normed(long_rows));
  for (uint t = first; t < end; ++t) {
    if (together) {
      place_vector(t);
    } else if (kTokens > 1 && t > first) {
      this_token = t;
      residual = long_rows ? residual_of_long(first_row_of_long(group))
                           : residual_of_short(first_row_of_short(group));
    }
    if (kTokens > 1 && t > first) {
      barrier();  // nobody needs the vector before it, or what was added up of it
      forget_row_of(t + 1);
    }
    RowScale scale = round_vector(invocation, long_rows);
    if (together) {
      if (gl_LocalInvocationID.x == 0) {
        token_scales[t] = scale;
        token_sums[t] = vector_sum();
      }
      if (t + 1 < end) continue;
      barrier();
    }
    if (gates) product_gate(group, scale);
    else if (long_rows) product_long(group, scale);
    else product_short(group, scale);
  }
  finish_stage();
}

#ifndef GROUPS
// Rounds the vector of the token that the workgroup is for.
void round_apart(uint group, bool long_rows) {
  this_token = group;
  uint invocation = INVOCATION;
  load_weights(invocation, push.n_in / 4, loads_of(long_rows), is_normed(long_rows));
  RowScale scale = round_vector(invocation, long_rows);
  if (gl_LocalInvocationID.x == 0) give_scale(scale.s, sum_of_shares());
  finish_stage();
}

void linear_of_few(uint group, bool gates, bool long_rows) {
  uint of_token = push.n_groups / ((n_tokens() + push.tokens_each - 1) / push.tokens_each);
  uint first = group / of_token * push.tokens_each, end = min(first + push.tokens_each, n_tokens());
  group %= of_token;
  if (gates) few_gate(group, first, end);
  else if (long_rows) few_long(group, first, end);
  else few_short(group, first, end);
  finish_stage();
}
#endif

// A chain of whole matrices has less code, so that it can have a copy of it for each kind of stage, which is
// faster by 1 % on an H200.
void linear(uint group) {
  bool gates = kHasGates && push.kind == STAGE_GATE_UP, long_rows = kHasLongRows && push.long_rows != 0;
#ifdef GROUPS
  linear(group, gates, long_rows);
#else
  if (kRoundsApart && push.kind == STAGE_ROUND) round_apart(group, long_rows);
  else if (kRoundsApart) linear_of_few(group, gates, long_rows);
  else if (gates) linear(group, true, false);
  else if (long_rows) linear(group, false, true);
  else linear(group, false, false);
#endif
}
