// The part of decode_few.glsl that decode_rows.glsl includes for each shape of loop.

// Takes, norms and rounds the vectors of n tokens from `first` on as those from number `slot` on in `tile`, AT_ONCE of
// them together, so that one does not wait for the other: each step is taken for all. Words behind the end are zeros, and
// what subgroups add comes before anything that not all lanes do: a driver may leave these apart then, even behind a
// branch, and the sum is that of a part (../bench/SPEED.md).
void ROUND_FEW(uint first, uint n, uint slot) {
  uint invocation = SUBGROUP * SUBGROUP_SIZE + LANE, units = push.n_in / 64, words = push.n_in / 4;
  bool normed = is_normed(LONG_ROWS);
  for (uint t = 0; t < n; t += AT_ONCE) {
    uvec4 some[AT_ONCE * NORM_LOADS];
    uint of_token[AT_ONCE];  // vec4 in which its vector begins
    UNROLL for (uint j = 0; j < AT_ONCE; ++j) of_token[j] = (first + min(t + j, n - 1)) * words;
    if ((push.flow & FLOW_FROM) == 0) {
      UNROLL for (uint j = 0; j < AT_ONCE; ++j)
        UNROLL for (uint i = 0; i < NORM_LOADS; ++i) {
          uint at = min(invocation + i * gl_WorkGroupSize.x, words - 1);
          some[j * NORM_LOADS + i] = floatBitsToUint(Vectors(push.x).at[of_token[j] + at]);
        }
    } else {
      GivenQuads input_ = GivenQuads(push.from);
      wait_for_input(4 * of_token[0] + push.n_in - 1);
      for (uint polls = 0;; ++polls) {
        UNROLL for (uint j = 0; j < AT_ONCE; ++j)
          UNROLL for (uint i = 0; i < NORM_LOADS; ++i) {
            uint at = min(invocation + i * gl_WorkGroupSize.x, words - 1);
            some[j * NORM_LOADS + i] = input_.at[of_token[j] + at];
          }
        bool missing = false;
        UNROLL for (uint i = 0; i < AT_ONCE * NORM_LOADS; ++i) missing = missing || is_missing(some[i]);
        if (!missing || !look_again(polls)) break;
      }
    }
    barrier();  // subgroups that polled at different times meet here
    vec4 x[AT_ONCE * NORM_LOADS];
    float squares[AT_ONCE], largest[AT_ONCE];
    UNROLL for (uint j = 0; j < AT_ONCE; ++j) {
      squares[j] = largest[j] = 0.0;
      UNROLL for (uint i = 0; i < NORM_LOADS; ++i) {
        bool is_there = invocation + i * gl_WorkGroupSize.x < words;
        precise vec4 product = mix(vec4(0.0), uintBitsToFloat(some[j * NORM_LOADS + i]), bvec4(is_there));
        squares[j] = add_squares(product, squares[j]);
        if (i < kWeights) product *= own_weight[i];
        x[j * NORM_LOADS + i] = product;
        largest[j] = largest_of(product, largest[j]);
      }
    }
    UNROLL for (uint j = 0; j < AT_ONCE; ++j) squares[j] = subgroup_add(squares[j]);
    UNROLL for (uint j = 0; j < AT_ONCE; ++j) largest[j] = subgroup_max(largest[j]);
    if (LANE == 0)
      UNROLL for (uint j = 0; j < AT_ONCE; ++j) few_shares[j][SUBGROUP] = vec2(squares[j], largest[j]);
    barrier();
    RowScale scale[AT_ONCE];
    int sum[AT_ONCE];
    uint rounded[AT_ONCE * NORM_LOADS];
    UNROLL for (uint j = 0; j < AT_ONCE; ++j) {
      precise float all_squares = 0.0;
      float all_largest = 0.0;
      for (uint i = 0; i < N_SUBGROUPS; ++i) {  // as workgroup_add_max()
        all_squares += few_shares[j][i].x;
        all_largest = max(all_largest, few_shares[j][i].y);
      }
      scale[j] = row_scale(vec2(all_squares, all_largest), normed);
      sum[j] = 0;
      UNROLL for (uint i = 0; i < NORM_LOADS; ++i) {
        ivec4 four = quantised(x[j * NORM_LOADS + i], scale[j].factor);
        sum[j] += sum_of(four);
        rounded[j * NORM_LOADS + i] = packed(four);
      }
    }
    UNROLL for (uint j = 0; j < AT_ONCE; ++j) sum[j] = subgroup_add(sum[j]);
    UNROLL for (uint j = 0; j < AT_ONCE; ++j) {
      if (t + j >= n) break;
      uint to = slot + t + j;
      UNROLL for (uint i = 0; i < NORM_LOADS; ++i) {
        uint at = invocation + i * gl_WorkGroupSize.x;
        if (at < words) tile[to * 4 * units + place_of_word(at, units)][at % 4] = rounded[j * NORM_LOADS + i];
      }
      if (LANE == 0) few_sums[j][SUBGROUP] = sum[j];
      if (invocation == 0) token_scales[to] = scale[j];
    }
    barrier();
    if (invocation < min(AT_ONCE, n - t)) {
      int all = 0;
      for (uint i = 0; i < N_SUBGROUPS; ++i) all += few_sums[invocation][i];
      token_sums[slot + t + invocation] = all;
    }
  }
}

void BRING_FEW(uint first, uint n, uint slot) {
  if (kRoundsApart) take_rounded(first, n, slot);
  else ROUND_FEW(first, n, slot);
}

// The product with the vectors of n tokens from `first` on, which are those from number `slot` on in `tile`. Where it
// goes on, the codes of next_row and its neighbours take the place of those that are not needed any more.
void PRODUCT_OF_FEW(uint first_row, uint first, uint n, uint slot, bool goes_on, uint next_row) {
  const uint kValues = ROWS * kBatch;
  uint lane = LANE % LANES, units = push.n_in / 64;
  int acc[MATRICES * kValues];
  UNROLL for (uint k = 0; k < MATRICES * kValues; ++k) acc[k] = 0;
  UNROLL for (uint i = 0; i < LOADS; ++i) {
    uint h = min(lane + i * LANES, units - 1);
    UNROLL for (uint s = 0; s < 4; ++s) {
      uvec4 q[kBatch];
      UNROLL for (uint t = 0; t < kBatch; ++t) q[t] = tile[((slot + min(t, n - 1)) * 4 + s) * units + h];
      UNROLL for (uint k = 0; k < CODES; ++k)
        UNROLL for (uint t = 0; t < kBatch; ++t)
          acc[k * kBatch + t] = dot_codes(bits[k * LOADS + i], 6 - 2 * s, q[t], acc[k * kBatch + t]);
    }
#if TAKES_PASSES
    if (goes_on) LOAD_AT(next_row, i, i + 1);
#endif
  }
  UNROLL for (uint bit = 0; bit < 6; ++bit) {  // counted by ones, so that compilers unroll it
    uint step = 1u << bit, half_ = kValues >> bit + 1;
    bool upper = (LANE & step) != 0;
    if (step >= LANES) break;
    UNROLL for (uint m = 0; m < MATRICES; ++m) {
      uint at = m * kValues;
      if (half_ == 0) acc[at] += shuffle_xor(acc[at], step);
      UNROLL for (uint j = 0; j < kBatch; ++j) {
        if (j >= half_) break;
        int given = upper ? acc[at + j] : acc[at + half_ + j];
        int kept = upper ? acc[at + half_ + j] : acc[at + j];
        acc[at + j] = kept + shuffle_xor(given, step);
      }
    }
  }
  uvec2 own = left_with(kValues);
  uint row = first_row + own.x;
  this_token = first + min(own.y, n - 1);
  if (MATRICES == 1 && push.kind == STAGE_LINEAR_ADD && (push.flow & FLOW_RESIDUAL) != 0)
    residual = taken_word(push.residual, first_result() + min(row, push.n_out - 1), residual);
  if (lane >= kValues || own.y >= n || row >= push.n_out) return;
  float q_scale = token_scales[slot + own.y].s;
  int q_sum = token_sums[slot + own.y];
  if (MATRICES == 2) {
    give(row, gated(ternary_result(acc[0], q_sum, q_scale, push.scale0),
                    ternary_result(acc[(MATRICES - 1) * kValues], q_sum, q_scale, push.scale1)));
  } else {
    precise float result = ternary_result(acc[0], q_sum, q_scale, scale_of_row(row));
    if (push.kind == STAGE_LINEAR_ADD) result = uintBitsToFloat(residual) + result;
    give(row, result);
  }
}

// All sets of rows of a workgroup with the tokens from `first` to `end`.
void FEW(uint group, uint first, uint end) {
  uint first_row = FIRST_ROW(group);
  LOAD_AT(first_row, 0, LOADS);
  if (!kRoundsApart)
    load_weights(SUBGROUP * SUBGROUP_SIZE + LANE, push.n_in / 4, NORM_LOADS, is_normed(LONG_ROWS));
#if MATRICES == 2
  uint a_pass = N_SUBGROUPS * (SUBGROUP_SIZE / LANES) * ROWS * push.n_groups;
  for (uint t = first; t < end; t += kBatch) BRING_FEW(t, min(end - t, kBatch), t);
  barrier();
  for (uint pass = 0; pass < push.n_passes; ++pass, first_row += a_pass)
    for (uint t = first; t < end; t += kBatch)
      PRODUCT_OF_FEW(first_row, t, min(end - t, kBatch), t, pass + 1 < push.n_passes && t + kBatch >= end,
                     first_row + a_pass);
#else
  uint at_once = min(kBatch, kTile / (push.n_in / 16));
  for (uint t = first; t < end; t += at_once) {
    uint n = min(end - t, at_once);
    residual = residual_of_few(first_row, left_with(ROWS * kBatch), t, n);
    if (t != first) barrier();  // nobody needs the vectors before these
    BRING_FEW(t, n, 0);
    barrier();
    PRODUCT_OF_FEW(first_row, t, n, 0, false, 0);
  }
#endif
}
