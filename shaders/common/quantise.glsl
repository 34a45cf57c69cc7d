// The input of a ternary product: y = rms_norm(x) * weight, then integers by the row's largest magnitude,
//   one plane of int8 (BitNet b1.58, section 2):
//     s = 127 / max(1e-5, max|y|),     q = clamp(round_half_even(y * s), -128, 127)
//   two planes, q = 256 high + low:
//     s = 32512 / max(1e-30, max|y|),  q = clamp(round_half_even(y * s), -32512, 32512)
// With y = inverse_rms * (x * weight), one pass over the row finds what both steps need. All kernels that
// include this give the same bits, since the order of operations is written out and `precise` keeps it.
// Expects reduce.glsl and push constants `n_in` and `epsilon`.
#include "common/rounded.glsl"

#ifdef GROUPS
layout(constant_id = CONSTANT_PLANES) const uint kPlanes = 1;
#elif defined(BLOCKS)
const uint kPlanes = 2;
#else
const uint kPlanes = 1;
#endif
const float kMostQuantised = kPlanes == 2 ? 32512.0 : 127.0;
const float kLeastQuantised = kPlanes == 2 ? -32512.0 : -128.0;

struct RowScale {
  float s;
  float factor;  // q = round(x * weight * factor)
};

precise float add_squares(vec4 v, float sum) {
  return fma(v.x, v.x, fma(v.y, v.y, fma(v.z, v.z, fma(v.w, v.w, sum))));
}

float largest_of(vec4 y, float largest) {
  y = abs(y);
  return max(largest, max(max(y.x, y.y), max(y.z, y.w)));
}

// `squares` and `largest` are an invocation's share of the row: sum of x^2, largest |x * weight|. Without a
// norm y is x, and the weights are 1.
RowScale row_scale(float squares, float largest, bool normed) {
  vec2 row = workgroup_add_max(squares, largest);
  precise float inverse = 1.0 / sqrt(row.x / float(push.n_in) + push.epsilon);
  if (!normed) inverse = 1.0;
  precise float s = kMostQuantised / max(kPlanes == 2 ? 1e-30 : 1e-5, row.y * inverse);
  precise float factor = inverse * s;
  return RowScale(s, factor);
}

ivec4 quantised(vec4 y, float factor) {
  precise vec4 scaled = y * factor;
  precise vec4 half_to_even = clamp(scaled, kLeastQuantised, kMostQuantised) + kHalfwayFloat;
  return floatBitsToInt(half_to_even) - kHalfway;
}

int sum_of(ivec4 q) { return q.x + q.y + q.z + q.w; }

// Four int8 in a word.
uint packed(ivec4 q) {
  q &= 0xFF;
  return uint(q.x | q.y << 8 | q.z << 16 | q.w << 24);
}

// The high plane of q = 256 high + low. The low one, from -128 to 127, is the lowest byte of q.
ivec4 high_plane(ivec4 q) { return q + 128 >> 8; }
