// A stage of matrices of groups (decode_linear.glsl, groups.glsl). Lanes take whole groups, of all their rows
// at once, so that what a lane reads from shared memory serves them all.

void LINEAR(uint group) {
  const uint kCodes = MATRICES * ROWS;  // rows of codes: of gate, then of up
  const bool kScalesFirst = kCodes * LOADS <= 8;  // otherwise they would take too many registers
  uint invocation = SUBGROUP * SUBGROUP_SIZE + LANE;  // sixteen neighbours are also neighbouring lanes
  uint lane = LANE % LANES, n_groups = push.n_in / 64, words = push.n_in / 4;
  uint row_scales = n_groups / kScaleGroups;
  uint a_pass = push.n_groups * N_SUBGROUPS * (SUBGROUP_SIZE / LANES) * ROWS;  // rows
  uint first_row = ((group * N_SUBGROUPS + SUBGROUP) * (SUBGROUP_SIZE / LANES) + LANE / LANES) * ROWS;
  Codes codes = Codes(push.w);
  Halves scales = Halves(push.scales);
  uint rows[kCodes];
  UNROLL for (uint k = 0; k < kCodes; ++k)
    rows[k] = min(first_row + k % ROWS, push.n_out - 1) + k / ROWS * push.n_out;
  uvec4 bits[kCodes][LOADS];
  uint halves[kCodes][LOADS];  // each has the group's scale
  UNROLL for (uint k = 0; k < kCodes; ++k)
    UNROLL for (uint i = 0; i < LOADS; ++i) {
      uint g = min(lane + i * LANES, n_groups - 1);
      bits[k][i] = codes.at[rows[k] * n_groups + g];
      if (kScalesFirst) halves[k][i] = scales.at[(rows[k] * row_scales + g / kScaleGroups) / 2];
    }
  bool normed = NORM == NORM_ALWAYS || NORM == NORM_BY_STAGE && push.weight != uvec2(0);
  Weights weights = Weights(push.weight);
  vec4 weight[NORM_LOADS];
  UNROLL for (uint i = 0; i < NORM_LOADS; ++i) {
    weight[i] = vec4(1.0);
    if (normed) weight[i] = weights.at[min(invocation + i * gl_WorkGroupSize.x, words - 1)];
  }
  for (uint i = invocation; i < n_groups; i += gl_WorkGroupSize.x) group_sums[i] = 0;

  uint own_row = first_row + lane % ROWS;  // of the result
  bool adds = MATRICES == 1 && push.kind == STAGE_LINEAR_ADD;
  bool adds_tagged = adds && (push.flow & FLOW_RESIDUAL) != 0;
  uvec2 residual = uvec2(0);
  if (adds_tagged) residual = Tagged(push.residual).at[min(own_row, push.n_out - 1)];
  if (adds && !adds_tagged) residual.x = floatBitsToUint(Floats(push.y).at[min(own_row, push.n_out - 1)]);

  vec4 x[NORM_LOADS];
  UNROLL for (uint begin = 0; begin < NORM_LOADS; begin += kAtOnce) {
#define PART kAtOnce
#include "common/decode_input.glsl"
  }
  if (adds_tagged) {  // an earlier stage has given it, but this invocation may have read it too early
    uint tag = tag_of(this_stage - push.residual_back);
    for (uint polls = 0; (residual.x ^ residual.y) != tag && look_again(polls); ++polls)
      residual = Tagged(push.residual).at[min(own_row, push.n_out - 1)];
  }
  barrier();  // subgroups that polled at different times meet here
  if (!kScalesFirst)
    UNROLL for (uint k = 0; k < kCodes; ++k)
      UNROLL for (uint i = 0; i < LOADS; ++i) {
        uint g = min(lane + i * LANES, n_groups - 1);
        halves[k][i] = scales.at[(rows[k] * row_scales + g / kScaleGroups) / 2];
      }

  float squares = 0.0, largest = 0.0;
  UNROLL for (uint i = 0; i < NORM_LOADS; ++i) {
    if (invocation + i * gl_WorkGroupSize.x >= words) break;
    squares = add_squares(x[i], squares);
    precise vec4 product = x[i] * weight[i];
    x[i] = product;
    largest = largest_of(product, largest);
  }
  RowScale scale = row_scale(squares, largest, normed);
  // int8 as [plane][s][group]: at s the activations that meet the codes at shift 6 - 2s. A gap of one keeps
  // the four s of a group out of each other's banks.
  uint stride = n_groups + 1;
  UNROLL for (uint i = 0; i < NORM_LOADS; ++i) {
    uint at = invocation + i * gl_WorkGroupSize.x;
    int sum = 0;
    if (at < words) {
      ivec4 four = quantised(x[i], scale.factor);
      sum = sum_of(four);
      uint to = at % 16 / 4 * stride + at / 16;
      if (kPlanes == 2) tile[to][at % 4] = packed(high_plane(four));
      tile[(kPlanes - 1) * 4 * stride + to][at % 4] = packed(four);
    }
    // Sixteen neighbours have a group, in one subgroup or in several.
    UNROLL for (uint step = 1; step < 16; step *= 2)
      if (step < SUBGROUP_SIZE) sum += shuffle_xor(sum, step);
    if (at < words && LANE % 16 == 0) atomicAdd(group_sums[at / 16], sum);
  }
  barrier();

  for (uint pass = 0;; ++pass) {
    int acc[kCodes];
    UNROLL for (uint k = 0; k < kCodes; ++k) acc[k] = 0;
    UNROLL for (uint i = 0; i < LOADS; ++i) {
      uint own = lane + i * LANES, g = min(own, n_groups - 1);
      int q_sum = group_sums[g];
      uvec4 q[kPlanes][4];
      UNROLL for (uint plane = 0; plane < kPlanes; ++plane)
        UNROLL for (uint s = 0; s < 4; ++s) q[plane][s] = tile[(plane * 4 + s) * stride + g];
      UNROLL for (uint k = 0; k < kCodes; ++k) {
        uvec4 some = bits[k][i];
        int dot_of_all = 0;
        UNROLL for (uint plane = 0; plane < kPlanes; ++plane) {
          int dot = dot_codes_at(some, 4, q[plane][1], 0) >> 2;  // codes are masked where they lie
          dot = dot_codes_at(some, 2, q[plane][2], dot) >> 2;
          dot = dot_codes_at(some, 0, q[plane][3], dot);
          dot = dot_codes_at(some >> 6, 0, q[plane][0], dot);
          dot_of_all = plane == 0 ? dot : 256 * dot_of_all + dot;
        }
        float of_group = half_of(halves[k][i], rows[k] * row_scales + g / kScaleGroups) * push.fixed_point;
        acc[k] += rounded(dot_of_all - q_sum, own < n_groups ? of_group : 0.0);
      }
    }
    bool goes_on = pass + 1 < push.n_passes;
    first_row += a_pass;
    UNROLL for (uint k = 0; k < kCodes; ++k) {  // the next rows are on their way while these are summed
      if (!goes_on) break;
      rows[k] = min(first_row + k % ROWS, push.n_out - 1) + k / ROWS * push.n_out;
      UNROLL for (uint i = 0; i < LOADS; ++i) {
        uint g = min(lane + i * LANES, n_groups - 1);
        bits[k][i] = codes.at[rows[k] * n_groups + g];
        halves[k][i] = scales.at[(rows[k] * row_scales + g / kScaleGroups) / 2];
      }
    }
    UNROLL for (uint k = 0; k < kCodes; ++k)
      UNROLL for (uint step = LANES / 2; step > 0; step /= 2) acc[k] += shuffle_xor(acc[k], step);
    int sum = acc[0], up_sum = acc[kCodes - ROWS];
    UNROLL for (uint r = 1; r < ROWS; ++r)
      if (lane == r) {
        sum = acc[r];
        up_sum = acc[kCodes - ROWS + r];
      }
    if (lane < ROWS && own_row < push.n_out) {
      if (MATRICES == 2) {
        give(own_row, gated(ternary_result(sum, 0, scale.s, push.scale0),
                            ternary_result(up_sum, 0, scale.s, push.scale1)));
      } else {
        precise float result = ternary_result(sum, 0, scale.s, scale_of_row(own_row));
        if (adds) result = uintBitsToFloat(residual.x) + result;
        give(own_row, result);
      }
    }
    own_row += a_pass;
    if (!goes_on) break;
  }
  finish_stage();
}
