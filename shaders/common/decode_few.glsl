// Ternary products of more tokens than ROUNDED_HERE as stages of decode.comp, where rows have one scale. A stage of its
// own rounds the vectors, with a workgroup for each token, and hands over the int8 as words, each tagged as a value is,
// and behind them the scale and the sum. So the workgroups of the product, which are many, neither norm nor read four
// times the bytes. They multiply their codes with the vectors of kBatch tokens together, which lie in `tile`; gate and
// up have the vectors of all tokens there. Each further stage takes time, so this pays where tokens are many.
const uint kBatch = 4;

// Tagged values that a rounded vector takes.
uint rounded_stride() { return push.n_in / 4 + 4; }

void give_word(uint at, uint word) { Tagged(push.to).at[first_result() + at] = uvec2(word, word ^ tag_of(this_stage)); }

// Takes the vectors of n tokens from `first` on as those from number `slot` on in `tile`. Those that round are few, so
// that all invocations may poll.
void take_rounded(uint first, uint n, uint slot) {
  TaggedPairs input_ = TaggedPairs(push.from);
  uint invocation = gl_LocalInvocationID.x, stride = rounded_stride() / 2, pairs = push.n_in / 8 + 1;
  uint tag = tag_of(this_stage - push.from_back), units = push.n_in / 64;
  for (uint pair = invocation; pair < pairs; pair += gl_WorkGroupSize.x) {
    uvec4 some[kBatch];
    for (uint polls = 0;; ++polls) {
      uint wrong = 0;
      UNROLL for (uint t = 0; t < kBatch; ++t) some[t] = input_.at[(first + min(t, n - 1)) * stride + pair];
      UNROLL for (uint t = 0; t < kBatch; ++t)
        wrong |= (some[t].x ^ some[t].y ^ tag) | (some[t].z ^ some[t].w ^ tag);
      if (wrong == 0 || !look_again(polls)) break;
    }
    UNROLL for (uint t = 0; t < kBatch; ++t) {
      if (t >= n) break;
      if (pair + 1 == pairs) {
        token_scales[slot + t].s = uintBitsToFloat(some[t].x);
        token_sums[slot + t] = int(some[t].z);
        continue;
      }
      uint to = (slot + t) * 4 * units + place_of_word(2 * pair, units);
      tile[to][2 * pair % 4] = some[t].x;
      tile[to][2 * pair % 4 + 1] = some[t].z;
    }
  }
}

// Of kBatch tokens a lane has sums for each of its rows. Then it adds what half of the lanes have of half of them, and
// so on, until it is left with one of so many values: this row and this token.
uvec2 left_with(uint values) {
  uint value = 0;
  UNROLL for (uint bit = 0; bit < 6; ++bit)
    if ((LANE & 1u << bit) != 0) value += values >> bit + 1;
  return uvec2(value / kBatch, value % kBatch);
}

// What the results of a lane are added to, which is left with `own` of the rows from first_row on and of n tokens from
// `first` on: tagged or with 0.
uvec2 residual_of_few(uint first_row, uvec2 own, uint first, uint n) {
  this_token = first + min(own.y, n - 1);
  uint row = first_result() + min(first_row + own.x, push.n_out - 1);
  if (push.kind != STAGE_LINEAR_ADD) return uvec2(0);
  if ((push.flow & FLOW_RESIDUAL) != 0) return Tagged(push.residual).at[row];
  return uvec2(floatBitsToUint(Floats(push.y).at[row]), 0);
}
