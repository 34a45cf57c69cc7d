// Stages of decode.comp that round the vectors of a few tokens for a ternary product, where rows have one scale. A
// workgroup rounds the vector of a token, and hands over the int8 as words, and behind them the scale and the sum. So the
// workgroups of the product, which are many, neither norm nor read four times the bytes. Each further stage takes time, so
// this pays where tokens are many. The products are in decode_few_dot.glsl, or in decode_few_matrix.glsl.

// Words that a rounded vector takes.
uint rounded_stride() { return push.n_in / 4 + 4; }

void give_word(uint at, uint word) { Given(push.to).at[first_result() + at] = given(word); }

// Behind the words of a vector, a quad of them.
void give_scale(float s, int sum) {
  GivenQuads(push.to).at[first_result() / 4 + push.n_in / 16] = uvec4(given(uvec2(floatBitsToUint(s), sum)), 0, 0);
}
