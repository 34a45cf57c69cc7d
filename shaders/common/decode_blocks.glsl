// A product of blocks of one token as a stage of decode.comp, y = W q(rms_norm(x) * weight), as
// decode_linear.glsl has those of ternary matrices. Every workgroup norms and rounds the whole vector.
// push.lanes lanes share two rows, of gate and of up or neighbours, so that what a lane reads from shared
// memory serves both. A workgroup takes push.n_passes sets of such pairs, one behind the other. It loads
// its first codes and the norm's weights before it waits for x, and the next codes while it multiplies. All
// products of a token share this one function, whatever their kind: a GPU fetches instructions anew for each
// stage. The results are those of rms_norm_quantise and of the kernels for few tokens, bit for bit.

// A row of one of the stage's tensors, which have codes and scales of their own. All have the same kind,
// unless kBits is 0, when each has its own.
struct BlockRow {
  uint tensor;
  uint row;
};

const uint kPair = 2;  // rows that a lane takes
RunCodes pair_codes[kPair][kLoads];
uvec2 pair_scales[kPair][kLoads];

BlockRow block_row(uint row) {  // of the stacked tensors
  if (row < push.end0) return BlockRow(0, row);
  return row < push.end1 ? BlockRow(1, row - push.end0) : BlockRow(2, row - push.end1);
}

BlockRow row_of_pair(uint pair, uint k, bool gates) {
  uint last = push.n_out - 1;
  return block_row(gates ? min(pair, last) + k * push.n_out : min(kPair * pair + k, last));
}

uvec3 kind_of(uint tensor) {
  if (kBits != 0) return uvec3(kBits, kUnit, kMinimum);
  uint packed_kind = push.kinds >> BLOCK_KIND_BITS * tensor;
  return uvec3(packed_kind & 15u, (packed_kind & BLOCK_KIND_16) != 0 ? 16u : 32u,
               packed_kind & BLOCK_KIND_MINIMUM);
}

#define CODES_AND_ROW Codes codes, uint row
#define SCALES_AND_ROW Halves scales, uint row
RUN_CODES(codes_at, CODES_AND_ROW, codes.at)
RUN_SCALES(scales_at, SCALES_AND_ROW, scales.at)

void fetch_run(uint i, BlockRow rows[kPair], uint run, uint runs) {
  run = min(run, runs - 1);
  UNROLL for (uint k = 0; k < kPair; ++k) {
    uint t = rows[k].tensor;
    block_kind = kind_of(t);
    Codes codes = Codes(t == 0 ? push.w : t == 1 ? push.w1 : push.w2);
    Halves scales = Halves(t == 0 ? push.scales : t == 1 ? push.scales1 : push.scales2);
    pair_codes[k][i] = codes_at(codes, rows[k].row, run, runs);
    pair_scales[k][i] = scales_at(scales, rows[k].row, run, runs);
  }
}

// The input lies in `tile` as [plane][half of a run][run]. Returns the shares of both rows, and behind them
// those of what the rounding of the input left.
ivec4 multiply_run(uint i, BlockRow rows[kPair], uint run, uint runs, RowScale row_scale) {
  uint own = min(run, runs - 1);
  uvec4 q[2] = {tile[own], tile[unit_stride(runs) + own]}, rest[2] = q;
  int sums = unit_sums[own];
  if (kRest != 0) rest = uvec4[2](tile[2 * unit_stride(runs) + own], tile[3 * unit_stride(runs) + own]);
  float share = share_of(own, row_scale);
  ivec4 shares = ivec4(0);
  UNROLL for (uint k = 0; k < kPair; ++k) {
    uint t = rows[k].tensor;
    block_kind = kind_of(t);
    float fixed_ = t == 0 ? push.fixed_point : t == 1 ? push.fixed1 : push.fixed2;
    vec3 scale = scales_of(pair_scales[k][i], rows[k].row, own, runs, run < runs ? fixed_ : 0.0);
    uvec4 first, second;
    unpack(pair_codes[k][i], first, second);
    shares[k] = run_share(first, second, q, scale, share, kRest != 0 ? sum_of_q(sums) : sums);
    if (kRest != 0) shares[kPair + k] = run_share(first, second, rest, scale, share, sum_of_rest(sums));
  }
  return shares;
}

// Norms and rounds the vector into `tile`, unit_sums and unit_largest.
RowScale take_input(uint invocation, bool long_rows) {
  uint words = push.n_in / 4, loads = loads_of(long_rows), runs = push.n_in / 32;
  if (kRounded != 0 && (push.flow & FLOW_FROM_ROUNDED) != 0) {
    float largest = take_units(invocation, runs);
    meet_behind_polls();
    return row_scale(0.0, largest, false);
  }
  take_vector(invocation, words, long_rows);
  meet_behind_polls();
  RowShare share = weigh_vector(invocation, words, loads);
  round_words(invocation, words, runs, loads, 0.0);
  return row_scale_of(share, is_normed(long_rows));  // its barrier shows the int8
}

void linear(uint group) {
  bool gates = kHasGates && push.kind == STAGE_GATE_UP, adds = push.kind == STAGE_LINEAR_ADD;
  bool adds_given = adds && (push.flow & FLOW_RESIDUAL) != 0;
  bool long_rows = kHasLongRows && push.long_rows != 0;
  uint invocation = INVOCATION;  // eight neighbours are also neighbouring lanes
  uint lanes = push.lanes, lane = LANE % lanes, runs = push.n_in / 32;
  uint a_group = N_SUBGROUPS * (SUBGROUP_SIZE / lanes);  // pairs; passes are neighbours
  uint passes = passes_of(group);
  uint pair = first_pass(group) * a_group + SUBGROUP * (SUBGROUP_SIZE / lanes) + LANE / lanes;
  BlockRow rows[kPair];
  UNROLL for (uint k = 0; k < kPair; ++k) rows[k] = row_of_pair(pair, k, gates);
  UNROLL for (uint i = 0; i < kLoads; ++i)
    if (i * lanes < runs) fetch_run(i, rows, lane + i * lanes, runs);
  load_weights(invocation, push.n_in / 4, loads_of(long_rows), is_normed(long_rows));
  clear_units(invocation, runs);

  RowScale scale;
  for (uint pass = 0; pass < passes; ++pass) {
    uint own_row = gates ? pair : kPair * pair + lane % kPair, own = min(own_row, push.n_out - 1);
    uint residual = 0;
    if (adds_given) residual = Given(push.residual).at[own];
    if (adds && !adds_given) residual = floatBitsToUint(Floats(push.y).at[own]);
    if (pass == 0) scale = take_input(invocation, long_rows);
    else if (adds_given) meet_behind_polls();  // of what the pass before was added to

    pair += a_group;
    ivec4 acc = ivec4(0);
    for (uint chunk = 0; chunk < runs; chunk += kLoads * lanes) {
      bool last = chunk + kLoads * lanes >= runs;
      uint next = last ? 0 : chunk + kLoads * lanes;
      BlockRow next_rows[kPair] = rows;
      if (last) UNROLL for (uint k = 0; k < kPair; ++k) next_rows[k] = row_of_pair(pair, k, gates);
      UNROLL for (uint i = 0; i < kLoads; ++i) {  // the next codes are on their way meanwhile
        if (chunk + i * lanes < runs) acc += multiply_run(i, rows, chunk + lane + i * lanes, runs, scale);
        if (next + i * lanes < runs && !(last && pass + 1 == passes))
          fetch_run(i, next_rows, next + lane + i * lanes, runs);
      }
      rows = next_rows;
    }
    for (uint step = lanes / 2; step > 0; step /= 2) {
      acc.x += shuffle_xor(acc.x, step);
      acc.y += shuffle_xor(acc.y, step);
      if (kRest != 0) {
        acc.z += shuffle_xor(acc.z, step);
        acc.w += shuffle_xor(acc.w, step);
      }
    }

    if (adds_given) residual = taken_word(push.residual, own, residual);
    if (lane < (gates ? 1 : kPair) && own_row < push.n_out) {
      float of_row = gates ? push.scale0 : scale_of_row(own_row), of_rest = scale_of_rest(scale.s);
      precise float result = blocks_result(lane == 0 ? acc.x : acc.y, scale.s, of_row);
      if (adds) result = uintBitsToFloat(residual) + result;
      if (kRest != 0) result += blocks_result(lane == 0 ? acc.z : acc.w, of_rest, of_row);
      if (gates) {
        precise float up = blocks_result(acc.y, scale.s, push.scale1);
        if (kRest != 0) up += blocks_result(acc.w, of_rest, push.scale1);
        result = gated(result, up);
      }
      if (kGatesRound && gates && gives_units())
        keep_gate(own_row, result);
      else
        give(own_row, result);
    }
    if (kGatesRound && gates && gives_units()) give_gates((first_pass(group) + pass + 1) * a_group);
  }
  finish_stage();
}
