// Quantised weights as engine/layouts/pack_blocks.h lays them out: rows of runs of 32 inputs, each with 16-byte
// units of codes that masks and shifts turn into int8, and with scales. A run has one unit of 32 inputs with a
// scale of its own, or two of 16. The exact sum(code * q) of a unit is multiplied by its scale and rounded to
// an integer, and the integers are summed, so that their order does not matter (engine/layouts/blocks.h).
// Expects half.glsl and, unless MATRICES is defined, dot.glsl.
#include "common/rounded.glsl"

layout(constant_id = CONSTANT_BITS) const uint kBits = 8;
layout(constant_id = CONSTANT_UNIT) const uint kUnit = 32;
layout(constant_id = CONSTANT_MINIMUM) const uint kMinimum = 0;

const bool kSteps = kUnit == 16 || kMinimum != 0;  // blocks of 256 have F16, which units multiply by integers
const uint kHighWords = kBits == 8 ? 0 : kBits - 4;  // of a run
// Signed codes lie in the highest bits of their int8, so that they need not be extended: they are 2^kShift
// times as large, which their scales make up for.
const uint kShift = kMinimum != 0 ? 0 : 8 - kBits;
const uint kCodeScale = 127u - kShift << 23;  // the bits of 2^-kShift

struct RunCodes {
  uvec4 low;   // of 8 bits the first 16 inputs
  uvec4 more;  // the others
  uvec2 high;
};

uint row_quads(uint runs) { return kBits == 8 ? 2 * runs : runs + (kHighWords * runs + 3) / 4; }

// Defines `name`, the codes of a run from `quads`, an array of uvec4.
#define RUN_CODES(name, quads)                                                    \
  RunCodes name(uint row, uint run, uint runs) {                                  \
    RunCodes c = RunCodes(uvec4(0), uvec4(0), uvec2(0));                          \
    uint begin = row * row_quads(runs), high = (begin + runs) * 4 + run * kHighWords; \
    c.low = quads[begin + run];                                                   \
    if (kBits == 8) c.more = quads[begin + runs + run];                           \
    if (kHighWords >= 1) c.high.x = quads[high / 4][high % 4];                    \
    if (kHighWords == 2) c.high.y = quads[high / 4][high % 4 + 1];                \
    return c;                                                                     \
  }

// The same from the two bytes of a run and the two F16 of its block.
vec3 stepped(uint steps, uint halves, float fixed_) {
  float d = from_half(halves) * fixed_;
  if (kUnit == 16) return vec3(d * float(int(steps << 24) >> 24), d * float(int(steps << 16) >> 24), 0.0);
  float first = d * float(steps & 0xFFu);
  return vec3(first, first, from_half(halves >> 16) * fixed_ * float(steps >> 8 & 0xFFu));
}

// Defines `name`, the scales of the first and of the second 16 inputs of a run and its minimum, as factors of
// what is in the int8, times `fixed_point`. `words` is an array of words.
#define RUN_SCALES(name, words)                                                                  \
  vec3 name(uint row, uint run, uint runs, float fixed_point) {                                  \
    float fixed_ = fixed_point * uintBitsToFloat(kCodeScale);                                    \
    if (kSteps) {                                                                                \
      uint begin = row * (runs / 8 * 5), steps = words[begin + run / 2] >> run % 2 * 16;         \
      return stepped(steps, words[begin + runs / 2 + run / 8], fixed_);                          \
    }                                                                                            \
    uint i = row * runs + run;                                                                   \
    float d = from_half(words[i / 2] >> i % 2 * 16) * fixed_;                                    \
    return vec3(d, d, 0.0);                                                                      \
  }

// The codes of the first and of the second 16 inputs as int8.
void unpack(RunCodes c, out uvec4 first, out uvec4 second) {
  first = c.low;
  second = c.more;
  if (kBits == 8) return;
  const uint kMask = 0x0F0F0F0Fu << kShift;
  first = c.low << kShift & kMask;
  second = c.low >> (4 - kShift) & kMask;
  if (kHighWords == 1) {
    first |= (c.high.xxxx >> uvec4(0, 1, 2, 3) & 0x01010101u) << (4 + kShift);
    second |= (c.high.xxxx >> uvec4(4, 5, 6, 7) & 0x01010101u) << (4 + kShift);
  }
  if (kHighWords == 2) {
    first |= (c.high.xxxx >> uvec4(0, 2, 4, 6) & 0x03030303u) << (4 + kShift);
    second |= (c.high.yyyy >> uvec4(0, 2, 4, 6) & 0x03030303u) << (4 + kShift);
  }
}

// As rounded(), for 256 * high + low, where kHalfway was added to both and is too much in the result. high and
// low are below 2^22; their sum may be larger, and is rounded to f32 once.
int rounded_and_biased(int high, int low, float scale) {
  // 256 high - kHalfwayFloat: every step of it is exact.
  precise float above = intBitsToFloat(high) * 256.0 - 257.0 * kHalfwayFloat;
  precise float sum = above + intBitsToFloat(low);
  precise float scaled = sum * scale;
  precise float half_to_even = scaled + kHalfwayFloat;
  return floatBitsToInt(half_to_even);
}

int rounded_planes(int high, int low, float scale) {
  return rounded_and_biased(high + kHalfway, low + kHalfway, scale) - kHalfway;
}

#ifndef MATRICES
// A run's share of the result: its codes as int8, the inputs' high and low planes, and the sum of the inputs.
int run_share(uvec4 first, uvec4 second, uvec4 high[2], uvec4 low[2], vec3 scale, int q_sum) {
  int above = dot_words(ivec4(first), high[0], 0), below = dot_words(ivec4(first), low[0], 0);
  if (kUnit == 16) {
    int other_above = dot_words(ivec4(second), high[1], 0);
    int other_below = dot_words(ivec4(second), low[1], 0);
    return rounded_planes(above, below, scale.x) + rounded_planes(other_above, other_below, scale.y);
  }
  above = dot_words(ivec4(second), high[1], above);
  below = dot_words(ivec4(second), low[1], below);
  int share = rounded_planes(above, below, scale.x);
  if (kMinimum != 0) share -= rounded(q_sum, scale.z);
  return share;
}

#endif

// The exact integer as a float, once rounded. All kernels do this, so that decode and prefill agree.
float blocks_result(int sum, float q_scale, float weight_scale) {
  precise float y = float(sum) * (weight_scale / q_scale);
  return y;
}
