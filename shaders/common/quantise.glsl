// The input of a product: y = rms_norm(x) * weight, as int8 by the largest magnitude of the row (BitNet b1.58,
// section 2), M that of x * weight and not below 1e-30:
//   s = 127 / max|y|,   q = round_half_even(x * weight * (127 / M)),   y = q / s,
// so that a row is rounded before it is known what the norm divides by. Without a norm neither is more than 127 / 1e-5.
// (With one the paper bounds s by that too, so that it rounds a row of smaller values more coarsely.) Where kInputUnits is 1
// each unit of inputs, of 64, 128 or in matrices of blocks 32, is rounded by its own largest |x * weight|, m:
//   q = round_half_even(x * weight * (127 / m)),   share = m * (1 / M)
// so that y = q * share / s, and q does not depend on the rest of the row. With y = inverse_rms * (x *
// weight), one pass over the row finds what all steps need. All kernels that include this give the same bits,
// since the order of operations is written out and `precise` keeps it.
// Expects reduce.glsl and push constants `n_in` and `epsilon`.
#include "common/rounded.glsl"

#ifdef GROUPS
layout(constant_id = CONSTANT_INPUT_UNITS) const uint kInputUnits = 0;
#elif defined(BLOCKS)
const uint kInputUnits = 1;
#else
const uint kInputUnits = 0;
#endif
const float kLeastMagnitude = 1e-30;

struct RowScale {
  float s;
  float factor;    // without units q = round(x * weight * factor)
  float per_unit;  // with them a unit's share is its largest |x * weight| times this
};

float largest_of(vec4 y, float largest) {
  y = abs(y);
  return max(largest, max(max(y.x, y.y), max(y.z, y.w)));
}

// What the values of a unit are multiplied by, of which `largest` is the largest |x * weight|.
float factor_of_unit(float largest) {
  precise float factor = 127.0 / max(kLeastMagnitude, largest);
  return factor;
}

float least_of_row(bool normed) { return kInputUnits == 0 && !normed ? 1e-5 : kLeastMagnitude; }

// The same of a row.
float factor_of_row(float largest, bool normed) {
  precise float factor = 127.0 / max(least_of_row(normed), largest);
  return factor;
}

// `row` has the sum of x^2 and the largest |x * weight| of a row. Without a norm y is x, and the weights are
// 1.
RowScale row_scale(vec2 row, bool normed) {
  precise float inverse = 1.0 / sqrt(row.x / float(push.n_in) + push.epsilon);
  if (!normed) inverse = 1.0;
  precise float s = 127.0 / max(least_of_row(normed), row.y * inverse);
  precise float per_unit = 1.0 / max(kLeastMagnitude, row.y);
  return RowScale(s, factor_of_row(row.y, normed), per_unit);
}

// The same of an invocation's share of the row.
RowScale row_scale(float squares, float largest, bool normed) {
  return row_scale(workgroup_add_max(squares, largest), normed);
}

// The share of a unit, of which `largest` is the largest |x * weight|.
float share_of_unit(float largest, RowScale scale) {
  precise float share = max(kLeastMagnitude, largest) * scale.per_unit;
  return share;
}

ivec4 quantised(vec4 y, float factor) {
  precise vec4 scaled = y * factor;
  precise vec4 half_to_even = clamp(scaled, -128.0, 127.0) + kHalfwayFloat;
  return floatBitsToInt(half_to_even) - kHalfway;
}

// What that leaves, rounded: Input::int16_units.
ivec4 quantised_rest(vec4 y, float factor) {
  precise vec4 scaled = y * factor;
  precise vec4 left = scaled - ((clamp(scaled, -128.0, 127.0) + kHalfwayFloat) - kHalfwayFloat);
  precise vec4 steps = left * float(REST_STEPS);
  precise vec4 half_to_even = clamp(steps, -127.0, 127.0) + kHalfwayFloat;
  return floatBitsToInt(half_to_even) - kHalfway;
}

float scale_of_rest(float s) {
  precise float of_rest = s * float(REST_STEPS);
  return of_rest;
}

int sum_of(ivec4 q) { return q.x + q.y + q.z + q.w; }

// Four int8 in a word.
uint packed(ivec4 q) {
  q &= 0xFF;
  return uint(q.x | q.y << 8 | q.z << 16 | q.w << 24);
}
