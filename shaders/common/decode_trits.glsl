// A stage of whole matrices (decode_linear.glsl): the codes of a tensor have one scale.

void LINEAR(uint group) {
  uint lane = LANE % LANES, halves = push.n_in / 64, words = push.n_in / 4;
  uint row = (group * N_SUBGROUPS + SUBGROUP) * (SUBGROUP_SIZE / LANES) + LANE / LANES;
  Codes codes = Codes(push.w);
  uvec4 bits[MATRICES][LOADS];
  UNROLL for (uint m = 0; m < MATRICES; ++m)
    UNROLL for (uint i = 0; i < LOADS; ++i) {
      uint h = lane + i * LANES;  // past the end codes of 0, which add nothing
      bits[m][i] = uvec4(0);
      if (h < halves) bits[m][i] = codes.at[(min(row, push.n_out - 1) + m * push.n_out) * halves + h];
    }
  bool normed = NORM == NORM_ALWAYS || NORM == NORM_BY_STAGE && push.weight != uvec2(0);
  Weights weights = Weights(push.weight);
  vec4 weight[NORM_LOADS];
  UNROLL for (uint i = 0; i < NORM_LOADS; ++i) {
    weight[i] = vec4(1.0);
    if (normed) weight[i] = weights.at[min(gl_LocalInvocationID.x + i * gl_WorkGroupSize.x, words - 1)];
  }

  bool adds = MATRICES == 1 && push.kind == STAGE_LINEAR_ADD;
  bool adds_tagged = adds && (push.flow & FLOW_RESIDUAL) != 0;
  uvec2 residual = uvec2(0);
  if (adds_tagged) residual = Tagged(push.residual).at[min(row, push.n_out - 1)];
  if (adds && !adds_tagged) residual.x = floatBitsToUint(Floats(push.y).at[min(row, push.n_out - 1)]);

  vec4 x[NORM_LOADS];
  const uint begin = 0;
  uint invocation = gl_LocalInvocationID.x;
#define PART NORM_LOADS
#include "common/decode_input.glsl"
  if (adds_tagged) {  // an earlier stage has given it, but this invocation may have read it too early
    uint tag = tag_of(this_stage - push.residual_back);
    for (uint polls = 0; (residual.x ^ residual.y) != tag && look_again(polls); ++polls)
      residual = Tagged(push.residual).at[min(row, push.n_out - 1)];
  }
  barrier();  // subgroups that polled at different times meet here

  float squares = 0.0, largest = 0.0;
  UNROLL for (uint i = 0; i < NORM_LOADS; ++i) {
    if (gl_LocalInvocationID.x + i * gl_WorkGroupSize.x >= words) break;
    squares = add_squares(x[i], squares);
    precise vec4 product = x[i] * weight[i];
    x[i] = product;
    largest = largest_of(product, largest);
  }
  RowScale scale = row_scale(squares, largest, normed);
  int sum = 0;
  UNROLL for (uint i = 0; i < NORM_LOADS; ++i) {
    uint at = gl_LocalInvocationID.x + i * gl_WorkGroupSize.x;
    if (at >= words) break;
    // int8 as [s][half]: at s the activations that meet the codes at shift 6 - 2s of each half of a block.
    // Neighbouring lanes take neighbouring halves, so no two of them want the same bank.
    uint quad = at / 4;  // of a block's eight: 2s + half
    ivec4 four = quantised(x[i], scale.factor);
    sum += sum_of(four);
    tile[quad % 8 / 2 * halves + quad / 8 * 2 + quad % 2][at % 4] = packed(four);
  }
  sum = workgroup_add(sum);  // its barrier also shows everyone the int8

  // Gate and up alone may take several sets of rows: a loop around the others makes decode 2 % slower.
#if MATRICES == 2
  for (uint pass = 0;; ++pass) {
#endif
  ivec4 sums[MATRICES];  // one for each shift, still scaled by it
  UNROLL for (uint m = 0; m < MATRICES; ++m) sums[m] = ivec4(0);
  UNROLL for (uint i = 0; i < LOADS; ++i) {
    uint h = min(lane + i * LANES, halves - 1);
    uvec4 q0 = tile[h], q1 = tile[halves + h], q2 = tile[2 * halves + h], q3 = tile[3 * halves + h];
    UNROLL for (uint m = 0; m < MATRICES; ++m) {
      uvec4 some = bits[m][i];
      sums[m].x = dot_codes_at(some >> 6, 0, q0, sums[m].x);
      sums[m].y = dot_codes_at(some, 4, q1, sums[m].y);
      sums[m].z = dot_codes_at(some, 2, q2, sums[m].z);
      sums[m].w = dot_codes_at(some, 0, q3, sums[m].w);
    }
  }
#if MATRICES == 2
  bool goes_on = pass + 1 < push.n_passes;
  uint next = row + push.n_groups * N_SUBGROUPS * (SUBGROUP_SIZE / LANES);
  if (goes_on)  // the next rows are on their way while these are summed
    UNROLL for (uint m = 0; m < MATRICES; ++m)
      UNROLL for (uint i = 0; i < LOADS; ++i) {
        uint h = lane + i * LANES;
        if (h < halves) bits[m][i] = codes.at[(min(next, push.n_out - 1) + m * push.n_out) * halves + h];
      }
#endif
  int acc[MATRICES];
  UNROLL for (uint m = 0; m < MATRICES; ++m) {
    acc[m] = sums[m].x + (sums[m].y >> 4) + (sums[m].z >> 2) + sums[m].w;
    UNROLL for (uint step = LANES / 2; step > 0; step /= 2) acc[m] += shuffle_xor(acc[m], step);
  }
  if (lane == 0 && row < push.n_out) {
    if (MATRICES == 2) {
      give(row, gated(ternary_result(acc[0], sum, scale.s, push.scale0),
                      ternary_result(acc[MATRICES - 1], sum, scale.s, push.scale1)));
    } else {
      precise float result = ternary_result(acc[0], sum, scale.s, scale_of_row(row));
      if (adds) result = uintBitsToFloat(residual.x) + result;
      give(row, result);
    }
  }
#if MATRICES == 2
  if (!goes_on) break;
  row = next;
  }
#endif
  finish_stage();
}
