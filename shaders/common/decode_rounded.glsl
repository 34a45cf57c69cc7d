// Units that one stage of decode.comp hands over to the next as int8, where that has no norm and so needs
// nothing of the row to round them. The words of int8 of all units lie one after the other, each tagged as a
// value is, then those of the rest where there is one, and behind them the largest magnitude of each unit and the
// sums of its integers, tagged too. That is a quarter of what the values would be, or a half, and every
// workgroup of the next stage reads all of it.
// Expects decode_vector.glsl.

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
  uint tag = tag_of(this_stage), bits = floatBitsToUint(largest), lane = LANE % kUnitWords;
  uint word = packed(rounded_four.q);
  Tagged(push.to).at[first_result() + unit * kUnitWords + lane] = uvec2(word, word ^ tag);
  if (kRest != 0) {
    word = packed(rounded_four.rest);
    Tagged(push.to).at[first_result() + (n_units + unit) * kUnitWords + lane] = uvec2(word, word ^ tag);
  }
  if (lane == 0)
    TaggedPairs(push.to).at[first_result() / 2 + n_units * kPlanes * kUnitWords / 2 + unit] =
        uvec4(bits, bits ^ tag, sum, uint(sum) ^ tag);
}

const uint kUnitPairsAtOnce = 4;

uint unit_pairs(uint units) { return units * kPlanes * kUnitWords / 2 + units; }

#ifdef GROUPS
void look_at_units(uint invocation, uint units) {
  has_looked = true;
  last_look = Tagged(push.from).at[2 * unit_pairs(units) - 1];
  UNROLL for (uint i = 0; i < kUnitPairsAtOnce; ++i)
    first_look[i] = TaggedPairs(push.from).at[min(invocation + i * gl_WorkGroupSize.x, unit_pairs(units) - 1)];
}
#endif

// Takes the units of the stage before into `tile`, unit_largest and unit_sums, and returns the largest
// magnitude that this invocation has seen.
float take_units(uint invocation, uint units) {
  TaggedPairs input_ = TaggedPairs(push.from);
  uint tag = tag_of(this_stage - push.from_back), word_pairs = units * kPlanes * kUnitWords / 2;
  uint pairs = unit_pairs(units);
  float largest = 0.0;
  wait_for_input(first_input() + 2 * pairs - 1, tag);
  for (uint first = invocation; first < pairs; first += kUnitPairsAtOnce * gl_WorkGroupSize.x) {
    uvec4 some[kUnitPairsAtOnce];
    for (uint polls = 0;; ++polls) {
      uint wrong = 0;
      UNROLL for (uint i = 0; i < kUnitPairsAtOnce; ++i)
        some[i] = LOOKED(polls == 0 && first == invocation, first_look[i],
                         input_.at[first_input() / 2 + min(first + i * gl_WorkGroupSize.x, pairs - 1)]);
      UNROLL for (uint i = 0; i < kUnitPairsAtOnce; ++i)
        wrong |= (some[i].x ^ some[i].y ^ tag) | (some[i].z ^ some[i].w ^ tag);
      if (wrong == 0 || !look_again(polls)) break;
    }
    UNROLL for (uint i = 0; i < kUnitPairsAtOnce; ++i) {
      uint pair = first + i * gl_WorkGroupSize.x, unit = pair / (kUnitWords / 2);
      uint plane = unit < units ? 0 : 1, word = pair % (kUnitWords / 2) * 2;
      uint to = first_word + (plane * kUnitWords + word) / 4 * unit_stride(units) + unit - plane * units;
      if (pair < word_pairs) {
        tile[to][word % 4] = some[i].x;
        tile[to][word % 4 + 1] = some[i].z;
      } else if (pair < pairs) {
        unit_largest[first_unit + pair - word_pairs] = some[i].x;
        unit_sums[first_unit + pair - word_pairs] = int(some[i].z);
        largest = max(largest, uintBitsToFloat(some[i].x));
      }
    }
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
  uint place = SUBGROUP * SUBGROUP_SIZE + LANE;
  bool is_there = place < places;
  if (kTokens > 1) {
    this_token = min(place / (kSpan / 4), kTokens - 1);
    place %= kSpan / 4;
  }
  uint row = end - kSpan + 4 * place;
  is_there = is_there && row < push.n_out;
  vec4 four = gate_results[this_token * kGateQuads + row / 4 % kGateQuads];
  give_unit(four, row / (4 * kUnitWords), push.n_out / (4 * kUnitWords), is_there);
  if ((push.flow & FLOW_OUT) != 0 && is_there) Vectors(push.y).at[(first_result() + row) / 4] = four;
}
