// A rotation as a stage of decode.comp, y = H (signs * x) or H (signs * norm(x)), with the bits of norm.comp
// and rotate.comp, for a product that does not turn its input itself (decode_linear.glsl). A workgroup takes
// one block of the features; with a norm it takes the whole vector, as products do. The stage's `bias` has
// the signs, and n_in is 0 where there is no norm.

// The vec4 of the block that this invocation has, if it has one.
vec4 quad_of_block(uint first_quad, uint invocation) {
  uint words = push.n_in / 4, own = min(invocation, kBlockQuads - 1);
  bool long_rows = kHasLongRows && push.long_rows != 0;
  if (push.n_in != 0) {
    uint loads = loads_of(long_rows);
    take_normed_vector(invocation, long_rows);
    UNROLL for (uint i = 0; i < kMostNormLoads; ++i) {
      uint at = place_of(invocation, i);
      if (i >= loads || at < first_quad || at >= min(first_quad + kBlockQuads, words)) continue;
      keep_quad(at - first_quad, own_x[i]);
    }
    barrier();
    return quad_at(own);
  }
  if ((push.flow & FLOW_FROM) == 0) return Vectors(push.x).at[first_quad + own];
  uvec4 four;
  for (uint polls = 0;; ++polls) {
    four = GivenQuads(push.from).at[first_quad + own];
    if (!is_missing(four) || !look_again(polls)) break;
  }
  meet_behind_polls();
  return uintBitsToFloat(four);
}

void rotate(uint group) {
  uint invocation = INVOCATION, first_quad = group * kBlockQuads, own = min(invocation, kBlockQuads - 1);
  bool is_there = invocation < kBlockQuads;
  vec4 signs = vec4(1.0);
  if (push.bias != uvec2(0)) signs = Weights(push.bias).at[first_quad + own];
  vec4 four = turned_in_subgroup(quad_of_block(first_quad, invocation) * signs);
  if (quads_in_subgroup() < kBlockQuads) {
    barrier();  // nobody reads the block as it was
    if (is_there) keep_quad(invocation, four);
    barrier();
    turn_tile(kBlockQuads);
    four = quad_at(own);
  }
  if (SUBGROUP * SUBGROUP_SIZE < kBlockQuads) {
    precise vec4 scaled = four * push.scale;
    uint at = first_quad + invocation;
    if (gives_units()) {
      give_unit(scaled, at / kUnitWords, push.n_out / (4 * kUnitWords), is_there);
      if (is_there && (push.flow & FLOW_OUT) != 0) Vectors(push.y).at[at] = scaled;
    } else if (is_there) {
      give_pair(2 * at, scaled.xy);
      give_pair(2 * at + 1, scaled.zw);
    }
  }
  finish_stage();
}
