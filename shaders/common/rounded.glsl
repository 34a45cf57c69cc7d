#ifndef BITNET_SHADERS_ROUNDED
#define BITNET_SHADERS_ROUNDED
// Rounding by addition: conversions between int and float are slow on GPUs. For magnitudes below 2^22 adding
// 1.5 * 2^23, whose bits are kHalfway, rounds half to even and leaves the integer in the low bits.
const int kHalfway = 0x4B400000;
const float kHalfwayFloat = 12582912.0;

// The share of a group or a unit in the result: t is its exact sum, `scale` its own times fixed_point. Both
// are below 2^22 (engine/layouts/pack.h). Whether a device rounds the product before the
// addition is its own affair, but one fma() of a device does what the others do (as in quantise.glsl).
int rounded(int t, float scale) {
  precise float exact = intBitsToFloat(t + kHalfway) - kHalfwayFloat;
  precise float half_to_even = fma(exact, scale, kHalfwayFloat);
  return floatBitsToInt(half_to_even) - kHalfway;
}

// The same where the unit's inputs have a scale of their own, their share (quantise.glsl). Every kernel
// rounds the product of the two scales first.
int rounded_share(int t, float scale, float share) {
  precise float of_unit = scale * share;
  return rounded(t, of_unit);
}
#endif
