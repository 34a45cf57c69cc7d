// A rotation as a stage of decode.comp, y = H (signs * x) or H (signs * norm(x)), with the bits of norm.comp and
// rotate.comp. A workgroup takes one block of the features; with a norm it takes the whole vector, as products
// do. The stage's `bias` has the signs, and n_in is 0 where there is no norm.
layout(constant_id = CONSTANT_BLOCK) const uint kRotated = 0;  // features of a block; 0: there is none
const bool kHasRotation = kRotated != 0;
const uint kBlockQuads = kHasRotation ? kRotated / 4 : 1;

// `tile` holds the block.
float turned_at(uint i) { return uintBitsToFloat(tile[i / 4][i % 4]); }
void keep_turned(uint i, float value) { tile[i / 4][i % 4] = floatBitsToUint(value); }

void load_block(uint first_quad, uint invocation) {
  uint words = push.n_in / 4;
  bool long_rows = kHasLongRows && push.long_rows != 0;
  if (push.n_in != 0) {
    uint loads = loads_of(long_rows);
    take_normed_vector(invocation, long_rows);
    UNROLL for (uint i = 0; i < kMostNormLoads; ++i) {
      uint at = place_of(invocation, i);
      if (i >= loads || at < first_quad || at >= min(first_quad + kBlockQuads, words)) continue;
      tile[at - first_quad] = floatBitsToUint(own_x[i]);
    }
    return;
  }
  if (invocation >= kBlockQuads) return;
  if ((push.flow & FLOW_FROM) == 0) {
    tile[invocation] = floatBitsToUint(Vectors(push.x).at[first_quad + invocation]);
    return;
  }
  for (uint polls = 0;; ++polls) {
    uvec4 four = GivenQuads(push.from).at[first_quad + invocation];
    tile[invocation] = four;
    if (!is_missing(four) || !look_again(polls)) break;
  }
}

void rotate(uint group) {
  uint invocation = INVOCATION, first_quad = group * kBlockQuads;
  vec4 signs = vec4(1.0);
  if (push.bias != uvec2(0) && invocation < kBlockQuads) signs = Weights(push.bias).at[first_quad + invocation];
  load_block(first_quad, invocation);
  barrier();
  if (invocation < kBlockQuads) tile[invocation] = floatBitsToUint(uintBitsToFloat(tile[invocation]) * signs);
  barrier();
  for (uint h = 1; h < kRotated; h *= 2) {
    for (uint j = gl_LocalInvocationID.x; j < kRotated / 2; j += gl_WorkGroupSize.x) {
      uint i = j / h * 2 * h + j % h;
      float a = turned_at(i), b = turned_at(i + h);
      precise float more = a + b, less = a - b;
      keep_turned(i, more);
      keep_turned(i + h, less);
    }
    barrier();
  }
  if (SUBGROUP * SUBGROUP_SIZE < kBlockQuads) {
    precise vec4 four = uintBitsToFloat(tile[min(invocation, kBlockQuads - 1)]) * push.scale;
    bool is_there = invocation < kBlockQuads;
    uint at = first_quad + invocation;
    if (gives_units()) {
      give_unit(four, at / kUnitWords, push.n_out / (4 * kUnitWords), is_there);
      if (is_there && (push.flow & FLOW_OUT) != 0) Vectors(push.y).at[at] = four;
    } else if (is_there) {
      give_pair(2 * at, four.xy);
      give_pair(2 * at + 1, four.zw);
    }
  }
  finish_stage();
}
