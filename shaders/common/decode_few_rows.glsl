// The part of decode_few.glsl that decode_rows.glsl includes for each shape of loop.

// The product with the vectors of n tokens from `first` on, which are those from number `slot` on in `tile`.
// Where it goes on, the codes of next_row and its neighbours take the place of those that are not needed any
// more.
void PRODUCT_OF_FEW(uint first_row, uint first, uint n, uint slot, bool goes_on, uint next_row) {
  const uint kValues = ROWS * kBatch;
  uint lane = LANE % LANES, units = push.n_in / 64;
  int acc[MATRICES * kValues];
  UNROLL for (uint k = 0; k < MATRICES * kValues; ++k) acc[k] = 0;
  UNROLL for (uint i = 0; i < LOADS; ++i) {
    uint own = lane + i * LANES, h = i < INSIDE ? own : min(own, units - 1);
    UNROLL for (uint s = 0; s < 4; ++s) {
      uvec4 q[kBatch];
      UNROLL for (uint t = 0; t < kBatch; ++t) q[t] = tile[((slot + min(t, n - 1)) * 4 + s) * units + h];
      UNROLL for (uint k = 0; k < CODES; ++k)
        UNROLL for (uint t = 0; t < kBatch; ++t)
          acc[k * kBatch + t] = dot_codes(bits[k * LOADS + i], 6 - 2 * s, q[t], acc[k * kBatch + t]);
    }
#if MATRICES == 2
    if (goes_on) LOAD_AT(next_row, i, i + 1);
#endif
  }
  HALVE(16, kValues, kValues / 16)
  HALVE(8, kValues, kValues / 8)
  HALVE(4, kValues, kValues / 4)
  HALVE(2, kValues, kValues / 2)
  UNROLL for (uint m = 0; m < MATRICES; ++m)
    UNROLL for (uint step = LANES / 2; step >= kValues; step /= 2)
      acc[m * kValues] += shuffle_xor(acc[m * kValues], step);
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
#if MATRICES == 2
  uint a_pass = N_SUBGROUPS * (SUBGROUP_SIZE / LANES) * ROWS * push.n_groups;
  for (uint t = first; t < end; t += kBatch) take_rounded(t, min(end - t, kBatch), t);
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
    take_rounded(t, n, 0);
    barrier();
    PRODUCT_OF_FEW(first_row, t, n, 0, false, 0);
  }
#endif
}
