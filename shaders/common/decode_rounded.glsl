// Units that one stage of decode.comp hands over to the next as int8, where that has no norm and so needs
// nothing of the row to round them. The words of int8 of all units lie one after the other, then those of the
// rest where there is one, and behind them for each unit its largest magnitude and the sum of its integers.
// That is a quarter of what the values would be, or a half, and every workgroup of the next stage reads all
// of it. Expects decode_vector.glsl.

// Rows of a result of gates that are rounded together: those that a workgroup makes in a pass, or in some.
#ifdef GROUPS
const uint kSet = gl_WorkGroupSize.x / kLanesGate * kRowsGate;
#else
const uint kSet = gl_WorkGroupSize.x / 16;
#endif
const uint kSpan = kSet < 4 * kUnitWords ? 4 * kUnitWords : kSet;
const bool kGatesRound = (kRounded & ROUNDED_GATES) != 0;
const bool kAttentionRounds = (kRounded & ROUNDED_ATTENTION) != 0;
const uint kGateQuads = kGatesRound ? 2 * kSpan / 4 : 1;
shared vec4 gate_results[kTokens * kGateQuads];  // of two spans in turns

// kUnitWords neighbouring lanes give a unit, of which each has four values. Requires: all lanes of a subgroup
// are here, and it has at least so many. Those where is_there is false give nothing.
void give_unit(vec4 four, uint unit, uint n_units, bool is_there) {
  float largest = largest_of(four, 0.0);
  UNROLL for (uint step = 1; step < kUnitWords; step *= 2) largest = max(largest, shuffle_xor(largest, step));
  RoundedWord rounded_four = rounded_word(four, factor_of_unit(largest));
  int sum = sum_of_both(rounded_four);
  UNROLL for (uint step = 1; step < kUnitWords; step *= 2) sum += shuffle_xor(sum, step);
  if (!is_there) return;
  uint lane = LANE % kUnitWords, at = first_result() + unit * kUnitWords + lane;
  Given(push.to).at[at] = given(packed(rounded_four.q));
  if (kRest != 0) Given(push.to).at[at + n_units * kUnitWords] = given(packed(rounded_four.rest));
  if (lane == 0)
    GivenPairs(push.to).at[(first_result() + n_units * kPlanes * kUnitWords) / 2 + unit] =
        given(uvec2(floatBitsToUint(largest), sum));
}

const uint kUnitQuadsAtOnce = 4;
// Whether units are loaded at once, and waited for only where one is missing: who begins late finds them all.
// Those of two planes are twice as many, so that it does not pay.
#if defined(GROUPS) && !defined(TWO_PLANES)
const bool kTriesUnits = true;
#else
const bool kTriesUnits = false;
#endif

// Quads of words of int8, and the pair of words behind them that the first unit has.
uint unit_quads(uint units) { return units * kPlanes * kUnitWords / 4; }
uint first_of_units(uint units) { return (first_input() + 4 * unit_quads(units)) / 2; }

#include "common/decode_split.glsl"

// Takes the units of the stage before into `tile`, unit_largest and unit_sums, and returns the largest
// magnitude that this invocation has seen.
float take_units(uint invocation, uint units) {
  GivenQuads input_ = GivenQuads(push.from);
  GivenPairs of_units = GivenPairs(push.from);
  uint stride = unit_stride(units), whole = units - split_units();
  uint quads = unit_quads(whole), plane_quads = whole * kUnitWords / 4, pairs = first_of_units(whole);
  uint last = 2 * (pairs + whole) - 1;
  if (split_units() != 0) last = 4 * (first_split_quad(whole) + split_quads()) - 1;
  if (!kTriesUnits) wait_for_input(last);
  uvec2 pair = uvec2(0);
  for (uint first = invocation; first < quads; first += kUnitQuadsAtOnce * gl_WorkGroupSize.x) {
    uvec4 some[kUnitQuadsAtOnce], split_four = uvec4(0);
    for (uint polls = 0;; ++polls) {
      pair = of_units.at[pairs + min(invocation, whole - 1)];
      if (split_units() != 0) split_four = input_.at[split_quad_of(invocation, whole)];
      bool missing = either(is_missing(pair), is_missing(split_four));
      UNROLL for (uint i = 0; i < kUnitQuadsAtOnce; ++i)
        some[i] = input_.at[first_input() / 4 + min(first + i * gl_WorkGroupSize.x, quads - 1)];
      UNROLL for (uint i = 0; i < kUnitQuadsAtOnce; ++i) missing = either(missing, is_missing(some[i]));
      if (!missing || !look_again(polls)) break;
      if (kTriesUnits) polled_word(push.from, last);
    }
    if (split_units() != 0) own_x[0] = uintBitsToFloat(split_four);
    UNROLL for (uint i = 0; i < kUnitQuadsAtOnce; ++i) {
      uint quad = first + i * gl_WorkGroupSize.x, plane = quad < plane_quads ? 0 : 1;
      uint of_plane = quad - plane * plane_quads, unit = of_plane / (kUnitWords / 4);
      uint place = (plane * kUnitWords + of_plane * 4 % kUnitWords) / 4;
      if (quad < quads) tile[first_word + place * stride + unit] = some[i];
    }
  }
  float largest = 0.0;
  for (uint unit = invocation; unit < whole; unit += gl_WorkGroupSize.x) {
    for (uint polls = 0; unit != invocation; ++polls) {  // the first has come with the quads
      pair = of_units.at[pairs + unit];
      if (!is_missing(pair) || !look_again(polls)) break;
    }
    unit_largest[first_unit + unit] = pair.x;
    unit_sums[first_unit + unit] = int(pair.y);
    largest = max(largest, uintBitsToFloat(pair.x));
  }
  return largest;
}

bool gives_units() { return (push.flow & FLOW_TO_ROUNDED) != 0; }

// Keeps a row of gates until its unit is whole.
void keep_gate(uint row, float value) {
  gate_results[this_token * kGateQuads + row / 4 % kGateQuads][row % 4] = value;
}

// Gives the span of rows that ends with `end` of all tokens, if one does. Requires: there are as many
// invocations as quads.
void give_gates(uint end) {
  if (end % kSpan != 0) return;
  barrier();
  uint places = n_tokens() * kSpan / 4;
  if (SUBGROUP * SUBGROUP_SIZE >= places) return;
  uint place = INVOCATION;
  bool is_there = place < places;
  if (kTokens > 1) {
    this_token = min(place / (kSpan / 4), kTokens - 1);
    place %= kSpan / 4;
  }
  uint row = end - kSpan + 4 * place;
  is_there = is_there && row < push.n_out;
  vec4 four = gate_results[this_token * kGateQuads + row / 4 % kGateQuads];
  give_unit(four, row / (4 * kUnitWords), push.n_out / (4 * kUnitWords) - split_units(), is_there);
  if ((push.flow & FLOW_OUT) != 0 && is_there) Vectors(push.y).at[(first_result() + row) / 4] = four;
}
