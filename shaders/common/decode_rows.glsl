// The part of decode_linear.glsl that depends on how many lanes share rows and how long these are. It is
// included once for each shape of loop, after the definition of:
//   LOAD, LOAD_AT, FIRST_ROW, RESIDUAL_OF, PRODUCT, PRODUCT_OF_FEW, FEW  the names of the functions
//   LANES       lanes that share rows
//   ROWS        rows of the result that they share, 1, 2 or 4 and no more than LANES, or half of them where a unit is
//               two groups, so that what a lane reads from shared memory serves them all
//   LOADS       uvec4 of a row that each of them takes
//   INSIDE      so many of these are there in each row, for all lanes
//   MATRICES    1: plain, or added to y; 2: act(gate) * up, the rows n_out of gate before those of up
#define CODES (MATRICES * ROWS)  // rows of codes: of gate, then of up
#define ROW_OF(first_row, c) (min((first_row) + (c) % ROWS, push.n_out - 1) + (c) / ROWS * push.n_out)
// Which of the rows of a lane it ends with the sum of, and whether it gives that.
#ifdef TWO_PLANES
#define OWN_ROW_UNPAIRED (LANE % LANES % ROWS)
#define GIVES_ROW_UNPAIRED (lane < ROWS)
#else
#define OWN_ROW_UNPAIRED (LANE % LANES / (LANES / ROWS))
#define GIVES_ROW_UNPAIRED (lane % (LANES / ROWS) == 0)
#endif
#ifdef GROUPS
// Where a unit is two groups, neighbouring lanes have one of them each. Of the dot products of both, counted code by
// code, a lane goes on with the first half and its neighbour with the second, so that each unit is rounded once: with
// half of the codes, or, of one, with half of what it loads.
#define DOTS (CODES * LOADS)
#define OWN_DOTS ((DOTS + 1) / 2)
#define OWN_CODES ((CODES + 1) / 2)
#define IS_SECOND (LANE % 2 != 0)
#define OTHER_DOT(d) min((d) + OWN_DOTS, DOTS - 1)  // that of the neighbour in the place of d
#define LOAD_OF_DOT(d) (IS_SECOND ? OTHER_DOT(d) % LOADS : (d) % LOADS)
#define ROW_OF_DOT(first_row, d) (IS_SECOND ? ROW_OF(first_row, OTHER_DOT(d) / LOADS) : ROW_OF(first_row, (d) / LOADS))
#define OWN_ROW                                                          \
  (kUnitGroups != 2 ? OWN_ROW_UNPAIRED                                  \
   : CODES == 1     ? 0                                                  \
   : MATRICES == 2  ? LANE % LANES / 2 % OWN_CODES                       \
                    : LANE % 2 * OWN_CODES + LANE % LANES / 2 % OWN_CODES)
#define GIVES_ROW                                     \
  (kUnitGroups != 2 ? GIVES_ROW_UNPAIRED             \
   : MATRICES == 2  ? lane % 2 == 0 && lane < 2 * ROWS \
                    : lane < ROWS)
#else
#define OWN_ROW OWN_ROW_UNPAIRED
#define GIVES_ROW GIVES_ROW_UNPAIRED
#endif
#if defined(GROUPS) && MATRICES == 2
#define ROUNDS (kGatesRound && gives_units())
#define IS_SPLIT (kMaySplitGates && pass == passes)  // behind the sets of the workgroup (decode_split.glsl)
#endif
#if MATRICES == 2
#define IS_LAST_TOKEN (kTokens == 1 || t + 1 == n_tokens())
#else
#define IS_LAST_TOKEN true
#endif
#ifdef GROUPS  // with the variable 2B4T was 0.6 % slower (../../bench/speed/27b.md)
#define NEXT_ROW next_row
#else
#define NEXT_ROW (first_row + a_pass)
#endif
#ifdef ROUNDS
#define GOES_ON (pass + 1 < passes || pass + 1 == passes && has_split)
#elif defined(GROUPS) || MATRICES == 2
#define GOES_ON (pass + 1 < passes_of(group))
#else
#define GOES_ON (kPasses != 0 && pass + 1 < passes_of(group))  // a loop makes decode 2 % slower on a large GPU
#endif

// The first row of a lane in the first pass.
uint FIRST_ROW(uint group) {
#ifdef GROUPS
  group = first_pass(group);  // passes are neighbours
#endif
  return ((group * N_SUBGROUPS + SUBGROUP) * (SUBGROUP_SIZE / LANES) + LANE / LANES) * ROWS;
}

#ifdef GROUPS
// Loads number `from` to number `to` of what a lane takes of its rows, or where that is not wanted their first codes:
// who loads on a condition has it in the way of what is computed meanwhile.
void LOAD_AT(uint first_row, uint from, uint to, bool wanted) {
  uint lane = LANE % LANES, groups = push.n_in / 64;
  Codes codes = Codes(push.w);
  UNROLL for (uint k = 0; k < CODES; ++k) {
    uint row = ROW_OF(first_row, k);
    UNROLL for (uint i = from; i < to; ++i) {
      uint own = lane + i * LANES, g = i < INSIDE ? own : min(own, groups - 1);
      bits[k * LOADS + i] = codes.at[row * groups + (wanted ? g : 0)];
      if (kUnitGroups == 1)
        halves[k * LOADS + i] = Halves(push.scales).at[(row * (groups / kScaleGroups) + g / kScaleGroups) / 2];
    }
  }
}

// Where units are two groups: the place of the scale of a dot product that the lane goes on with.
uint SCALE_OF(uint first_row, uint d) {
  uint groups = push.n_in / 64, g = min(LANE % LANES + LOAD_OF_DOT(d) * LANES, groups - 1);
  return ROW_OF_DOT(first_row, d) * (groups / kScaleGroups) + g / kScaleGroups;
}

void LOAD_SCALES(uint first_row) {
  if (kUnitGroups == 1) return;
  UNROLL for (uint d = 0; d < OWN_DOTS; ++d) halves[d] = Halves(push.scales).at[SCALE_OF(first_row, d) / 2];
}
#else
// Loads number `from` to number `to` of what a lane takes of its rows.
void LOAD_AT(uint first_row, uint from, uint to) {
  uint lane = LANE % LANES, units = push.n_in / 64;
  Codes codes = Codes(push.w);
  UNROLL for (uint k = 0; k < CODES; ++k) {
    uint row = ROW_OF(first_row, k);
    UNROLL for (uint i = from; i < to; ++i) {
      uint h = lane + i * LANES;  // past the end codes of 0, which add nothing
      bits[k * LOADS + i] = uvec4(0);
      if (i < INSIDE || h < units) bits[k * LOADS + i] = codes.at[row * units + h];
    }
  }
}
#endif

// The bits of what the result of a lane is added to, or NOT_GIVEN.
uint RESIDUAL_OF(uint first_row) {
  uint row = min(first_row + OWN_ROW, push.n_out - 1);
  if (MATRICES == 2 || push.kind != STAGE_LINEAR_ADD) return 0;
  if ((push.flow & FLOW_RESIDUAL) != 0) return Given(push.residual).at[first_result() + row];
  return floatBitsToUint(Floats(push.y).at[first_result() + row]);
}

void LOAD(uint group) {
  uint first_row = FIRST_ROW(group);
#ifdef GROUPS
  LOAD_AT(first_row, 0, LOADS, true);
  LOAD_SCALES(first_row);
#else
  LOAD_AT(first_row, 0, LOADS);
#endif
  residual = RESIDUAL_OF(first_row);
}

void PRODUCT(uint group, RowScale scale) {
  uint lane = LANE % LANES, groups = push.n_in / 64;  // uvec4 of codes of a row
  uint first_row = FIRST_ROW(group);
  uint a_pass = N_SUBGROUPS * (SUBGROUP_SIZE / LANES) * ROWS;  // rows from a pass to the next
#ifndef GROUPS
  a_pass *= push.n_groups;
#endif
#ifdef ROUNDS
  uint passes = passes_of(group), split_first = split_row(group, a_pass / N_SUBGROUPS);
  bool has_split = takes_split(split_first);
#endif
  for (uint pass = 0;; ++pass) {
  bool goes_on = GOES_ON;
#ifdef GROUPS
  uint next_row = first_row + a_pass;
#endif
#ifdef ROUNDS
  if (kMaySplitGates && pass + 1 == passes) next_row = split_first + LANE / LANES * ROWS;
#endif
  uint next_residual = goes_on ? RESIDUAL_OF(NEXT_ROW) : 0;
#if MATRICES == 2
  for (uint t = 0; t < n_tokens(); ++t) {
  if (kTokens > 1) scale = use_vector(t);
#endif
  int acc[CODES];
  UNROLL for (uint k = 0; k < CODES; ++k) acc[k] = 0;
#ifdef GROUPS
  uint stride = unit_stride(push.n_in / kUnit), row_scales = groups / kScaleGroups;
  uint first_of_lane = lane % 2 * 4 * stride + lane / 2;  // where units are two groups
  int unit_dots[DOTS];
  UNROLL for (uint i = 0; i < LOADS; ++i) {
    uint own = lane + i * LANES, g = i < INSIDE ? own : min(own, groups - 1);
    int sums = 0;
    // fixed_point is a power of two, so it does not matter which of the two is multiplied by it.
    float share = push.fixed_point;
    float of_group[CODES];
    if (kUnitGroups == 1) {
      sums = unit_sums[first_unit + g];
      if (kInputUnits != 0) share *= share_of(g, scale);
      if (i >= INSIDE && own >= groups) share = 0.0;
      UNROLL for (uint k = 0; k < CODES; ++k)
        of_group[k] = half_of(halves[k * LOADS + i], ROW_OF(first_row, k) * row_scales + g / kScaleGroups);
    }
    if (kRest == 0) {
      uvec4 q[4];
      UNROLL for (uint s = 0; s < 4; ++s) q[s] = tile[first_word + s * stride + g];
      UNROLL for (uint k = 0; k < CODES; ++k) {
        uvec4 some = bits[k * LOADS + i];
        int dot = dot_codes_at(some, 4, q[1], 0) >> 2;  // codes are masked where they lie
        dot = dot_codes_at(some, 2, q[2], dot) >> 2;
        dot = dot_codes_at(some, 0, q[3], dot);
        dot = dot_codes_at(some >> 6, 0, q[0], dot);
        acc[k] += rounded_share(dot - sums, of_group[k], share);
      }
    } else {  // a mask serves both planes
      int dots[CODES], rest_dots[CODES];
      UNROLL for (uint k = 0; k < CODES; ++k) dots[k] = rest_dots[k] = 0;
      uint at = first_word + (kUnitGroups == 1 ? g : first_of_lane + (own < groups ? i * LANES / 2 : 0));
      UNROLL for (uint s = 1; s < 5; ++s) {
        uvec4 q = tile[at + s % 4 * stride], r = tile[at + (kUnitWords / 4 + s % 4) * stride];
        UNROLL for (uint k = 0; k < CODES; ++k) {
          uvec4 some = s == 4 ? bits[k * LOADS + i] >> 6 : bits[k * LOADS + i];
          uint shift = s < 3 ? 6 - 2 * s : 0;
          dots[k] = dot_codes_at(some, shift, q, dots[k]);
          rest_dots[k] = dot_codes_at(some, shift, r, rest_dots[k]);
          if (s < 3) {
            dots[k] >>= 2;
            rest_dots[k] >>= 2;
          }
        }
      }
      UNROLL for (uint k = 0; k < CODES; ++k) {
        if (kUnitGroups == 1)
          acc[k] += rounded_share(REST_STEPS * dots[k] + (rest_dots[k] - sums), of_group[k], share);
        else
          unit_dots[k * LOADS + i] = REST_STEPS * dots[k] + rest_dots[k];
      }
    }
    if (kUnitGroups == 2)  // on their way meanwhile; of one token
      LOAD_AT(goes_on ? NEXT_ROW : first_row, i, i + 1, goes_on);
    else if (goes_on && IS_LAST_TOKEN)
      LOAD_AT(NEXT_ROW, i, i + 1, true);
  }
  if (kUnitGroups == 2) {
    int own_dots[OWN_DOTS];
    UNROLL for (uint d = 0; d < OWN_DOTS; ++d) {
      int first = unit_dots[d], second = d + OWN_DOTS < DOTS ? unit_dots[OTHER_DOT(d)] : 0;
      own_dots[d] = (IS_SECOND ? second : first) + shuffle_xor(IS_SECOND ? first : second, 1);
    }
    UNROLL for (uint d = 0; d < OWN_DOTS; ++d) {
      int dot = own_dots[d];
      uint own = lane + LOAD_OF_DOT(d) * LANES, unit = min(own, groups - 1) / 2;
      float share = push.fixed_point * share_of(unit, scale);
      if (own >= groups || IS_SECOND && d + OWN_DOTS >= DOTS) share = 0.0;
      float of_group = half_of(halves[d], SCALE_OF(first_row, d));
      acc[d / LOADS % OWN_CODES] += rounded_share(dot - unit_sums[first_unit + unit], of_group, share);
    }
    LOAD_SCALES(goes_on ? NEXT_ROW : first_row);
  }
#else
  ivec4 sums[CODES];  // one for each shift, still scaled by it
  UNROLL for (uint k = 0; k < CODES; ++k) sums[k] = ivec4(0);
  UNROLL for (uint i = 0; i < LOADS; ++i) {
    uint own = lane + i * LANES, h = first_word + (i < INSIDE ? own : min(own, groups - 1));
    uvec4 q0 = tile[h], q1 = tile[groups + h], q2 = tile[2 * groups + h], q3 = tile[3 * groups + h];
    UNROLL for (uint k = 0; k < CODES; ++k) {
      uvec4 some = bits[k * LOADS + i];
      sums[k].x = dot_codes_at(some >> 6, 0, q0, sums[k].x);
      sums[k].y = dot_codes_at(some, 4, q1, sums[k].y);
      sums[k].z = dot_codes_at(some, 2, q2, sums[k].z);
      sums[k].w = dot_codes_at(some, 0, q3, sums[k].w);
    }
    if (goes_on && IS_LAST_TOKEN) LOAD_AT(NEXT_ROW, i, i + 1);
  }
  UNROLL for (uint k = 0; k < CODES; ++k)
    acc[k] = sums[k].x + (sums[k].y >> 4) + (sums[k].z >> 2) + sums[k].w;
#endif
  int sum, up_sum;
#ifdef GROUPS
  if (kUnitGroups == 2) {
    UNROLL for (uint d = 0; d < OWN_CODES; ++d)
      UNROLL for (uint step = LANES / 2; step >= (CODES == 1 ? 1 : 2); step /= 2) acc[d] += shuffle_xor(acc[d], step);
    sum = acc[0];
    UNROLL for (uint d = 1; d < OWN_CODES; ++d)
      if (lane / 2 == d) sum = acc[d];
    up_sum = MATRICES == 2 ? shuffle_xor(sum, 1) : sum;
  } else
#endif
  {
#ifdef TWO_PLANES  // whose kernel is slower in halves (../../bench/speed/decode.md)
  UNROLL for (uint k = 0; k < CODES; ++k)
    UNROLL for (uint step = LANES / 2; step > 0; step /= 2) acc[k] += shuffle_xor(acc[k], step);
  sum = acc[0];
  up_sum = acc[CODES - ROWS];
  UNROLL for (uint r = 1; r < ROWS; ++r)
    if (lane == r) {
      sum = acc[r];
      up_sum = acc[CODES - ROWS + r];
    }
#else
  HALVE(4, ROWS, 2 * LANES / ROWS)
  HALVE(2, ROWS, LANES / ROWS)
  UNROLL for (uint m = 0; m < MATRICES; ++m)
    UNROLL for (uint step = LANES / ROWS / 2; step > 0; step /= 2) acc[m * ROWS] += shuffle_xor(acc[m * ROWS], step);
  sum = acc[0];
  up_sum = acc[CODES - ROWS];
#endif
  }
  uint row = first_row + OWN_ROW;
  if (MATRICES == 1 && push.kind == STAGE_LINEAR_ADD && (push.flow & FLOW_RESIDUAL) != 0)
    residual = taken_word(push.residual, first_result() + min(first_row + OWN_ROW, push.n_out - 1), residual);
  if (GIVES_ROW && row < push.n_out) {
    int q_sum = vector_sum(MATRICES == 2);
    if (MATRICES == 2) {
      float result = gated(ternary_result(sum, q_sum, scale.s, push.scale0),
                           ternary_result(up_sum, q_sum, scale.s, push.scale1));
#ifdef ROUNDS
      if (ROUNDS && IS_SPLIT)
        give_split(row, result);
      else if (ROUNDS)
        keep_gate(row, result);
      else
#endif
        give(row, result);
    } else {
      precise float result = ternary_result(sum, q_sum, scale.s, scale_of_row(row));
      if (push.kind == STAGE_LINEAR_ADD) result = uintBitsToFloat(residual) + result;
      give(row, result);
    }
  }
#if MATRICES == 2
  }
#endif
#ifdef ROUNDS
  if (ROUNDS && !IS_SPLIT) give_gates((first_pass(group) + pass + 1) * a_pass);
#endif
  if (!goes_on) break;
  if (MATRICES == 1 && push.kind == STAGE_LINEAR_ADD) meet_behind_polls();  // of what it is added to
  first_row = NEXT_ROW;
  residual = next_residual;
  }
}
#ifndef GROUPS
#include "common/decode_few_rows.glsl"
#endif
#undef LOAD
#undef LOAD_AT
#undef FIRST_ROW
#undef RESIDUAL_OF
#undef PRODUCT
#undef PRODUCT_OF_FEW
#undef FEW
#undef LANES
#undef ROWS
#undef LOADS
#undef INSIDE
#undef MATRICES
#undef CODES
#undef ROW_OF
#undef DOTS
#undef OWN_DOTS
#undef OWN_CODES
#undef IS_SECOND
#undef OTHER_DOT
#undef LOAD_OF_DOT
#undef ROW_OF_DOT
#undef SCALE_OF
#undef LOAD_SCALES
#undef OWN_ROW_UNPAIRED
#undef GIVES_ROW_UNPAIRED
#undef OWN_ROW
#undef GIVES_ROW
#undef ROUNDS
#undef GOES_ON
#undef NEXT_ROW
#undef IS_SPLIT
#undef IS_LAST_TOKEN
