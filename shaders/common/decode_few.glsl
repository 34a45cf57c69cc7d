// Ternary products of more tokens than ROUNDED_HERE as stages of decode.comp, where rows have one scale. A
// stage of its own rounds the vectors, with a workgroup for each token, and hands over the int8 as words, and
// behind them the scale and the sum. So the workgroups of the product, which are many, neither norm nor read
// four times the bytes. They multiply their codes with the vectors of kBatch tokens together, which lie in
// `tile`; gate and up have the vectors of all tokens there. Each further stage takes time, so this pays where
// tokens are many.
const uint kBatch = 4;

// Words that a rounded vector takes.
uint rounded_stride() { return push.n_in / 4 + 4; }

void give_word(uint at, uint word) { Given(push.to).at[first_result() + at] = given(word); }

// Behind the words of a vector, a quad of them.
void give_scale(float s, int sum) {
  GivenQuads(push.to).at[first_result() / 4 + push.n_in / 16] = uvec4(given(uvec2(floatBitsToUint(s), sum)), 0, 0);
}

// Takes the vectors of n tokens from `first` on as those from number `slot` on in `tile`. Those that round
// are few, so that all invocations may poll.
void take_rounded(uint first, uint n, uint slot) {
  GivenQuads input_ = GivenQuads(push.from);
  uint invocation = gl_LocalInvocationID.x, stride = rounded_stride() / 4, quads = push.n_in / 16 + 1;
  uint units = push.n_in / 64;
  for (uint quad = invocation; quad < quads; quad += gl_WorkGroupSize.x) {
    uvec4 some[kBatch];
    for (uint polls = 0;; ++polls) {
      bool missing = false;
      UNROLL for (uint t = 0; t < kBatch; ++t) some[t] = input_.at[(first + min(t, n - 1)) * stride + quad];
      UNROLL for (uint t = 0; t < kBatch; ++t) missing = either(missing, is_missing(some[t]));
      if (!missing || !look_again(polls)) break;
    }
    UNROLL for (uint t = 0; t < kBatch; ++t) {
      if (t >= n) break;
      if (quad + 1 == quads) {
        token_scales[slot + t].s = uintBitsToFloat(some[t].x);
        token_sums[slot + t] = int(some[t].y);
      } else {
        tile[(slot + t) * 4 * units + place_of_word(4 * quad, units)] = some[t];
      }
    }
  }
}

// Of kBatch tokens a lane has sums for each of its rows. Then it adds what half of the lanes have of half of
// them, and so on, until it is left with one of so many values: this row and this token.
uvec2 left_with(uint values) {
  uint value = 0;
  UNROLL for (uint bit = 0; bit < 6; ++bit)
    if ((LANE & 1u << bit) != 0) value += values >> bit + 1;
  return uvec2(value / kBatch, value % kBatch);
}

// The bits of what the result of a lane is added to, or NOT_GIVEN, where the lane is left with `own` of the
// rows from first_row on and of n tokens from `first` on.
uint residual_of_few(uint first_row, uvec2 own, uint first, uint n) {
  this_token = first + min(own.y, n - 1);
  uint row = first_result() + min(first_row + own.x, push.n_out - 1);
  if (push.kind != STAGE_LINEAR_ADD) return 0;
  if ((push.flow & FLOW_RESIDUAL) != 0) return Given(push.residual).at[row];
  return floatBitsToUint(Floats(push.y).at[row]);
}
