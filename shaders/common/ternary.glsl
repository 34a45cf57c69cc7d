// The i2_s bits (engine/layouts/i2s.h) against int8 activations. In a block of 128 weights (32 bytes, two
// uvec4 "halves"), the word at byte 4w holds, at shift 6 - 2s, the codes of the elements 32s + 4w to
// 32s + 4w + 3; the activation words of the same elements are block * 32 + 8s + w. So one uvec4 of weights
// meets four uvec4 of activations, and nothing has to be repacked. Codes are 0, 1, 2 for -1, 0, +1, so that
// sum(weight * q) is sum(code * q) - sum(q).

// Position, in uvec4, of the activations that half `h` of a row (64 weights each) meets at s = 0. The next s
// is 2 further on.
uint activation_of_half(uint h) { return (h >> 1) * 8 + (h & 1); }

#include "common/dot.glsl"

// dot_codes adds the 16 products of the codes at `shift` of `bits` with the bytes of q to acc.
#ifdef INTEGER_DOT
int dot_codes(uvec4 bits, uint shift, uvec4 q, int acc) {
  return dot_words(ivec4(bits >> shift & 0x03030303u), q, acc);
}

// As dot_codes, but times 2^shift, since the codes are masked where they lie. Requires: a shift below 6,
// where a code would reach the sign.
int dot_codes_at(uvec4 bits, uint shift, uvec4 q, int acc) {
  return dot_words(ivec4(bits & 0x03030303u << shift), q, acc);
}
#else
// Two products a multiplication: (c0 + c2 2^16) (q2 + q0 2^16) = c0 q2 + (c0 q0 + c2 q2) 2^16 mod 2^32. Eight
// of these sum to a low part within +-2^11, which 0x8000 keeps from borrowing, and a high part within +-2^13.
int dot_codes(uvec4 bits, uint shift, uvec4 q, int acc) {
  ivec4 even = (ivec4(q << 24) >> 8) + (ivec4(q << 8) >> 24);                // q0 2^16 + q2
  ivec4 odd = (ivec4(q << 16) >> 8 & ~0xFFFF) + (ivec4(q) >> 24);            // q1 2^16 + q3
  ivec4 sum = ivec4(bits >> shift & 0x00030003u) * even + ivec4(bits >> (shift + 8) & 0x00030003u) * odd;
  return acc + (sum.x + sum.y + sum.z + sum.w + 0x8000 >> 16);
}

int dot_codes_at(uvec4 bits, uint shift, uvec4 q, int acc) {
  return acc + (dot_codes(bits, shift, q, 0) << shift);
}
#endif

// The products of a group of 64 codes with the inputs that they meet, added to acc.
int dot_group(uvec4 bits, uvec4 q0, uvec4 q1, uvec4 q2, uvec4 q3, int acc) {
  acc = dot_codes(bits, 6, q0, acc);
  acc = dot_codes(bits, 4, q1, acc);
  acc = dot_codes(bits, 2, q2, acc);
  return dot_codes(bits, 0, q3, acc);
}

// The scale of output row `row` in a stack of tensors.
float scale_of_row(uint row) {
  return row < push.end0 ? push.scale0 : row < push.end1 ? push.scale1 : push.scale2;
}

// Rounds the exact integer once, as all kernels do, so that decode and prefill agree bit for bit.
float ternary_result(int code_sum, int q_sum, float q_scale, float weight_scale) {
  precise float y = float(code_sum - q_sum) * (weight_scale / q_scale);
  return y;
}
