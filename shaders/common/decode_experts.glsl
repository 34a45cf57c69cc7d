// Experts of one token as three stages of decode.comp, with the bits of the kernels that do a step each:
//   STAGE_ROUTER        the logits, W norm(x) of a matrix of F32 (norm.comp, floats.comp)
//   STAGE_EXPERTS_GATE  h = act(gate) * up of the experts with the largest logits (route.comp,
//                       rms_norm_quantise.comp, ternary_matvec_groups.comp)
//   STAGE_EXPERTS_DOWN  x += the sum of what they give (rms_norm_quantise.comp, groups_down_experts.comp)
// The second norms and rounds x while the router works. Then each of its workgroups chooses the experts for
// itself, which takes less than a stage would, and makes 64 rows of one of them, so that it can round its
// result as a unit. The first workgroup also gives the ids and weights, so that the third stage loads what it
// needs of its experts while h is made.
//
// `w` is a table of addresses of experts (Matrix::addresses), in the first stage the rows; x2 has the logits.
// Expects decode_rounded.glsl and delta_gates.glsl.
layout(constant_id = CONSTANT_EXPERTS) const uint kExperts = 0;  // no more than invocations; 0: there are none
layout(constant_id = CONSTANT_USED) const uint kUsed = 1;
layout(constant_id = CONSTANT_EXPERT_FF) const uint kExpertFf = 64;  // rows of an expert's gate
layout(constant_id = CONSTANT_EXPERT_LANES) const uint kExpertLanes = 16;  // that share rows
layout(constant_id = CONSTANT_EXPERT_LOADS) const uint kExpertLoads = 1;   // uvec4 of a row of gate that a lane takes
const bool kHasExperts = kExperts != 0;
const uint kExpertQuads = kHasExperts ? (kExperts + 3) / 4 : 1;
#define ROUTER_QUADS kExpertQuads
#include "common/route.glsl"
#include "common/floats.glsl"

const uint kUnitsOfExpert = kExpertFf / 64, kUnitsOfAll = kUsed * kUnitsOfExpert;
const uint kSets = gl_WorkGroupSize.x / kExpertLanes;        // of lanes that share rows
const uint kGateRows = kSets < 64 ? 64 / kSets : 1;          // that they share, of gate and of up
const uint kGateCodes = 2 * kGateRows;                        // rows of gate, then of up
const uint kDownRows = 2;

// In the third stage kSharing lanes have neighbouring units of an expert, and kBeside experts lie beside each
// other.
const uint kDivisor = kUnitsOfExpert & ~kUnitsOfExpert + 1u;
const uint kSharing = kDivisor < kExpertLanes ? kDivisor : kExpertLanes;
const uint kDownSteps = kUnitsOfExpert / kSharing, kBeside = kExpertLanes / kSharing;
const uint kDownTurns = (kUsed + kBeside - 1) / kBeside, kDownLoads = kDownTurns * kDownSteps;

shared uvec4 expert_address[kHasExperts ? kUsed : 1];  // of codes and of scales; in the second stage of its one
shared float expert_weight[kHasExperts ? kUsed : 1];
shared uint expert_id[kHasExperts ? kUsed : 1];
shared vec4 expert_h[kHasExperts ? kUnitWords : 1];

const uint kRouterAhead = 8;  // times eight features that a lane loads of a row at a time

uvec4 router_words[2 * kRouterAhead];

void load_router(uint row, uint first) {
  uint eights = push.n_in / 8;
  UNROLL for (uint i = 0; i < kRouterAhead; ++i) {
    uint at = row * eights + min(LANE + (first + i) * SUBGROUP_SIZE, eights - 1);
    router_words[2 * i] = Codes(push.w).at[2 * at];
    router_words[2 * i + 1] = Codes(push.w).at[2 * at + 1];
  }
}

// A subgroup takes a row, in the order of floats.comp.
void route_token(uint group) {
  uint invocation = INVOCATION, words = push.n_in / 4, eights = push.n_in / 8;
  bool long_rows = kHasLongRows && push.long_rows != 0;
  uint loads = loads_of(long_rows), first_row = group * N_SUBGROUPS + SUBGROUP;
  load_router(min(first_row, kExperts - 1), 0);
  take_normed_vector(invocation, long_rows);
  UNROLL for (uint i = 0; i < kMostNormLoads; ++i) {
    uint at = place_of(invocation, i);
    if (i >= loads || at >= words) break;
    tile[at] = floatBitsToUint(own_x[i]);
  }
  barrier();
  for (uint row = first_row; row < kExperts; row += push.n_groups * N_SUBGROUPS) {
    if (row != first_row) load_router(row, 0);
    float sum = 0.0;
    for (uint first = 0;; load_router(row, first)) {
      UNROLL for (uint i = 0; i < kRouterAhead; ++i) {
        uint at = LANE + (first + i) * SUBGROUP_SIZE;
        if (at < eights)
          sum = add_eight(uintBitsToFloat(router_words[2 * i]), uintBitsToFloat(router_words[2 * i + 1]),
                          uintBitsToFloat(tile[2 * at]), uintBitsToFloat(tile[2 * at + 1]), sum);
      }
      first += kRouterAhead;
      if (first * SUBGROUP_SIZE >= eights) break;
    }
    precise float logit = subgroup_add(sum) * push.scale0;
    if (LANE == 0) give(row, logit);
  }
  finish_stage();
}

// What a unit gives in a row, as in decode_rows.glsl.
int share_of_codes(uvec4 codes, uvec4 q0, uvec4 q1, uvec4 q2, uvec4 q3, int sum, float of_group, float share) {
  int dot = dot_codes_at(codes, 4, q1, 0) >> 2;
  dot = dot_codes_at(codes, 2, q2, dot) >> 2;
  dot = dot_codes_at(codes, 0, q3, dot);
  dot = dot_codes_at(codes >> 6, 0, q0, dot);
  return rounded_share(dot - sum, of_group, share);
}

// Chooses the experts. expert_address[0] becomes `address` of that which has expert number `place` of them.
void choose_experts(uint invocation, uvec4 address, uint place, bool gives) {
  bool sigmoid = (push.routing & ROUTING_SIGMOID) != 0;
  if (invocation < 4 * kExpertQuads)
    router_logits[invocation / 4][invocation % 4] =
        invocation < kExperts ? taken_value(push.residual, invocation) : NO_EXPERT;
  barrier();
  if (invocation < kExperts) rank_expert(invocation, kExperts, kUsed);
  barrier();
  if (invocation < kExperts && is_chosen(invocation)) {
    uint own = place_of(invocation);
    if (own == place) expert_address[0] = address;
    if (gives && own < kUsed) {
      expert_id[own] = invocation;
      chosen_shares[own] = share_of_logit(logit_of(invocation), sigmoid);
    }
  }
  barrier();
}

// Where the pairs of ids and weights lie, behind the units of h.
uint choice_of(uint place) { return kUnitsOfAll * (kUnitWords / 2 + 1) + place; }

void give_choice(uint invocation) {
  if (invocation >= kUsed) return;
  float sum = sum_of_shares(kExperts, kUsed, (push.routing & ROUTING_SIGMOID) != 0,
                            (push.routing & ROUTING_NORMED) != 0);
  uint id = expert_id[invocation];
  if (push.bias != uvec2(0)) Words(push.bias).at[invocation] = id;
  float weight = weight_of_share(chosen_shares[invocation], sum, push.scale);
  GivenPairs(push.to).at[choice_of(invocation)] = given(uvec2(id, floatBitsToUint(weight)));
}

void experts_gate(uint group) {
  uint invocation = INVOCATION, words = push.n_in / 4, units = push.n_in / 64;
  bool long_rows = kHasLongRows && push.long_rows != 0;
  uint loads = loads_of(long_rows);
  uvec4 address = Codes(push.w).at[2 * min(invocation, kExperts - 1)];
  clear_units(invocation, units);
  if (invocation < MOST_EXPERTS / 32) chosen[invocation] = 0;
  take_vector(invocation, words, long_rows);
  meet_behind_polls();
  RowShare row_share = weigh_vector(invocation, words, loads);
  float of_units = round_words(invocation, words, units, loads, 0.0);
  RowScale scale = row_scale_of_rounded(row_share.squares, row_share.largest, of_units, false, true);
  choose_experts(invocation, address, group / kUnitsOfExpert, group == 0);

  uint lane = LANE % kExpertLanes, set = invocation / kExpertLanes;
  uint first_row = group % kUnitsOfExpert * 64 + set * kGateRows, row_scales = units / kScaleGroups;
  Codes codes = Codes(expert_address[0].xy);
  Halves of_codes = Halves(expert_address[0].zw);
  uvec4 some[kGateCodes * kExpertLoads];
  uint some_halves[kGateCodes * kExpertLoads];
  UNROLL for (uint k = 0; k < kGateCodes; ++k)
    UNROLL for (uint i = 0; i < kExpertLoads; ++i) {
      uint row = first_row + k % kGateRows + k / kGateRows * kExpertFf;
      uint g = min(lane + i * kExpertLanes, units - 1);
      some[k * kExpertLoads + i] = codes.at[row * units + g];
      some_halves[k * kExpertLoads + i] = of_codes.at[(row * row_scales + g / kScaleGroups) / 2];
    }
  if (group == 0) give_choice(invocation);
  int acc[kGateCodes];
  UNROLL for (uint k = 0; k < kGateCodes; ++k) acc[k] = 0;
  uint stride = unit_stride(units);
  UNROLL for (uint i = 0; i < kExpertLoads; ++i) {
    uint own = lane + i * kExpertLanes, g = min(own, units - 1);
    float share = own < units ? push.fixed_point * share_of(g, scale) : 0.0;
    uvec4 q0 = tile[g], q1 = tile[stride + g], q2 = tile[2 * stride + g], q3 = tile[3 * stride + g];
    UNROLL for (uint k = 0; k < kGateCodes; ++k) {
      uint row = first_row + k % kGateRows + k / kGateRows * kExpertFf;
      acc[k] += share_of_codes(some[k * kExpertLoads + i], q0, q1, q2, q3, unit_sums[g],
                               half_of(some_halves[k * kExpertLoads + i], row * row_scales + g / kScaleGroups), share);
    }
  }
  UNROLL for (uint k = 0; k < kGateCodes; ++k)
    UNROLL for (uint step = kExpertLanes / 2; step > 0; step /= 2) acc[k] += shuffle_xor(acc[k], step);
  int gate_sum = acc[0], up_sum = acc[kGateRows];
  UNROLL for (uint r = 1; r < kGateRows; ++r)
    if (lane == r) {
      gate_sum = acc[r];
      up_sum = acc[kGateRows + r];
    }
  if (lane < kGateRows) {
    uint row = set * kGateRows + lane;
    expert_h[row / 4][row % 4] = gated(ternary_result(gate_sum, 0, scale.s, push.scale0),
                                       ternary_result(up_sum, 0, scale.s, push.scale1));
  }
  barrier();
  if (SUBGROUP == 0) give_unit(expert_h[LANE % kUnitWords], group, kUnitsOfAll, LANE < kUnitWords);
  finish_stage();
}

// Takes what give_choice gave.
void take_choice(uint invocation) {
  if (invocation < kUsed) {
    uvec2 pair;
    for (uint polls = 0;; ++polls) {
      pair = GivenPairs(push.from).at[choice_of(invocation)];
      if (!is_missing(pair) || !look_again(polls)) break;
    }
    expert_address[invocation] = Codes(push.w).at[2 * min(pair.x, kExperts - 1)];
    expert_weight[invocation] = uintBitsToFloat(pair.y);
  }
  barrier();
}

// The scale of the input of an expert.
RowScale scale_of_expert(uint expert) {
  float largest = 0.0;
  for (uint i = 0; i < kUnitsOfExpert; ++i)
    largest = max(largest, uintBitsToFloat(unit_largest[expert * kUnitsOfExpert + i]));
  precise float s = 127.0 / max(kLeastMagnitude, largest);
  precise float per_unit = 1.0 / max(kLeastMagnitude, largest);
  return RowScale(s, 0.0, per_unit);
}

// kExpertLanes lanes take kDownRows rows of all experts.
void experts_down(uint group) {
  uint invocation = INVOCATION, lane = LANE % kExpertLanes;
  uint first_row = (group * kSets + invocation / kExpertLanes) * kDownRows;
  uint row_scales = kUnitsOfExpert / kScaleGroups, own_row = min(first_row + lane % kDownRows, push.n_out - 1);
  uint added = (push.flow & FLOW_RESIDUAL) != 0 ? Given(push.residual).at[own_row]
                                                : floatBitsToUint(Floats(push.y).at[own_row]);
  take_choice(invocation);
  uvec4 some[kDownRows * kDownLoads];
  uint some_halves[kDownRows * kDownLoads];
  UNROLL for (uint r = 0; r < kDownRows; ++r)
    UNROLL for (uint i = 0; i < kDownLoads; ++i) {
      uint row = min(first_row + r, push.n_out - 1), g = i % kDownSteps * kSharing + lane % kSharing;
      uvec4 address = expert_address[min(i / kDownSteps * kBeside + lane / kSharing, kUsed - 1)];
      some[r * kDownLoads + i] = Codes(address.xy).at[row * kUnitsOfExpert + g];
      some_halves[r * kDownLoads + i] = Halves(address.zw).at[(row * row_scales + g / kScaleGroups) / 2];
    }
  take_units(invocation, kUnitsOfAll);
  barrier();
  precise float sums[kDownRows];
  UNROLL for (uint r = 0; r < kDownRows; ++r) sums[r] = 0.0;
  uint stride = unit_stride(kUnitsOfAll);
  UNROLL for (uint turn = 0; turn < kDownTurns; ++turn) {
    uint expert = min(turn * kBeside + lane / kSharing, kUsed - 1);
    RowScale scale = scale_of_expert(expert);
    int acc[kDownRows];
    UNROLL for (uint r = 0; r < kDownRows; ++r) acc[r] = 0;
    UNROLL for (uint step = 0; step < kDownSteps; ++step) {
      uint g = step * kSharing + lane % kSharing, unit = expert * kUnitsOfExpert + g, i = turn * kDownSteps + step;
      float share = push.fixed_point * share_of(unit, scale);
      uvec4 q0 = tile[unit], q1 = tile[stride + unit], q2 = tile[2 * stride + unit], q3 = tile[3 * stride + unit];
      UNROLL for (uint r = 0; r < kDownRows; ++r) {
        uint row = min(first_row + r, push.n_out - 1);
        acc[r] += share_of_codes(some[r * kDownLoads + i], q0, q1, q2, q3, unit_sums[unit],
                                 half_of(some_halves[r * kDownLoads + i], row * row_scales + g / kScaleGroups), share);
      }
    }
    UNROLL for (uint r = 0; r < kDownRows; ++r) {
      UNROLL for (uint step = kSharing / 2; step > 0; step /= 2) acc[r] += shuffle_xor(acc[r], step);
      precise float part = ternary_result(acc[r], 0, scale.s, push.scale0) * expert_weight[expert];
      UNROLL for (uint j = 0; j < kBeside; ++j) {  // in the order of ids
        float of_expert = subgroupShuffle(part, LANE - lane + j * kSharing);
        if (turn * kBeside + j < kUsed) sums[r] += of_expert;
      }
    }
  }
  if ((push.flow & FLOW_RESIDUAL) != 0) added = taken_word(push.residual, own_row, added);
  float sum = sums[0];
  UNROLL for (uint r = 1; r < kDownRows; ++r)
    if (lane == r) sum = sums[r];
  if (lane < kDownRows && first_row + lane < push.n_out) {
    precise float total = uintBitsToFloat(added) + sum;
    give(first_row + lane, total);
  }
  finish_stage();
}

void experts(uint group) {
  if (push.kind == STAGE_ROUTER) route_token(group);
  else if (push.kind == STAGE_EXPERTS_GATE) experts_gate(group);
  else experts_down(group);
}
