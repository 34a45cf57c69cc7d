// The share of a group or a unit in the result: t is its exact sum, `scale` its own times fixed_point.
// Both are below 2^22 (engine/layouts/pack.h), so additions of 1.5 * 2^23, whose bits are kHalfway, do what
// conversions between int and float would: those are slow on GPUs.
const int kHalfway = 0x4B400000;
const float kHalfwayFloat = 12582912.0;
int rounded(int t, float scale) {
  precise float exact = intBitsToFloat(t + kHalfway) - kHalfwayFloat;
  precise float scaled = exact * scale;
  precise float half_to_even = scaled + kHalfwayFloat;
  return floatBitsToInt(half_to_even) - kHalfway;
}
