// Quantised weights as engine/layouts/pack_blocks.h lays them out: rows of runs of 32 inputs, each with codes
// in units of 16 bytes, which masks and shifts turn into int8, and with scales. A run has one unit of 32
// inputs with a scale of its own, or two of 16. The exact sum(code * q) of a unit is multiplied by its scale
// and by the share of the run's inputs (common/quantise.glsl) and rounded to an integer, and the integers are
// summed, so that their order does not matter (engine/layouts/blocks.h). Expects half.glsl and, unless
// MATRICES is defined, dot.glsl. With MIXED_BLOCKS the kind of the codes is what the variable `block_kind`
// says at the time; otherwise it is constant.
#include "common/rounded.glsl"

layout(constant_id = CONSTANT_BITS) const uint kBits = 8;
layout(constant_id = CONSTANT_UNIT) const uint kUnit = 32;
layout(constant_id = CONSTANT_MINIMUM) const uint kMinimum = 0;

#ifdef MIXED_BLOCKS
uvec3 block_kind;
uint block_bits() { return block_kind.x; }
uint block_unit() { return block_kind.y; }
bool has_minimum() { return block_kind.z != 0; }
#else
uint block_bits() { return kBits; }
uint block_unit() { return kUnit; }
bool has_minimum() { return kMinimum != 0; }
#endif

// Whether units have integers, by which an F16 of their block of 256 is multiplied.
bool has_steps() { return block_unit() == 16 || has_minimum(); }
uint high_words() { return block_bits() == 8 ? 0 : block_bits() - 4; }  // of a run
// Signed codes lie in the highest bits of their int8, so that they need not be extended: they are
// 2^code_shift() times as large, which their scales make up for.
uint code_shift() { return has_minimum() ? 0 : 8 - block_bits(); }

struct RunCodes {
  uvec4 low;   // of 8 bits the first 16 inputs
  uvec4 more;  // the others
  uvec2 high;
};

uint row_quads(uint runs) { return block_bits() == 8 ? 2 * runs : runs + (high_words() * runs + 3) / 4; }

// Defines `name`, which loads the codes of a run from `quads`, an array of uvec4. `parameters` come first.
#define RUN_CODES(name, parameters, quads)                                                  \
  RunCodes name(parameters, uint run, uint runs) {                                          \
    RunCodes c = RunCodes(uvec4(0), uvec4(0), uvec2(0));                                    \
    uint begin = row * row_quads(runs), high = (begin + runs) * 4 + run * high_words();     \
    c.low = quads[begin + run];                                                             \
    if (block_bits() == 8) c.more = quads[begin + runs + run];                                    \
    if (block_bits() == 5 || block_bits() == 6) c.high.x = quads[high / 4][high % 4];                   \
    if (block_bits() == 6) c.high.y = quads[high / 4][high % 4 + 1];                              \
    return c;                                                                               \
  }

// Defines `name`, which loads what the scales of a run are made of from `words`, an array of words.
#define RUN_SCALES(name, parameters, words)                                                 \
  uvec2 name(parameters, uint run, uint runs) {                                             \
    if (!has_steps()) return uvec2(words[(row * runs + run) / 2], 0);                       \
    uint begin = row * (runs / 8 * 5);                                                      \
    return uvec2(words[begin + run / 2], words[begin + runs / 2 + run / 8]);                \
  }

// The scales of the first and of the second 16 inputs of a run and its minimum, as factors of what is in the
// int8, times `fixed_point`.
vec3 scales_of(uvec2 loaded, uint row, uint run, uint runs, float fixed_point) {
  float fixed_ = fixed_point * uintBitsToFloat(127 - code_shift() << 23);
  uint own = loaded.x >> (has_steps() ? run : row * runs + run) % 2 * 16;
  float d = from_half(has_steps() ? loaded.y : own) * fixed_;
  if (!has_steps()) return vec3(d, d, 0.0);
  if (block_unit() == 16) return vec3(d * float(int(own << 24) >> 24), d * float(int(own << 16) >> 24), 0.0);
  float first = d * float(own & 0xFFu);
  return vec3(first, first, from_half(loaded.y >> 16) * fixed_ * float(own >> 8 & 0xFFu));
}

// The codes of the first and of the second 16 inputs as int8.
void unpack(RunCodes c, out uvec4 first, out uvec4 second) {
  first = c.low;
  second = c.more;
  if (block_bits() == 8) return;
  uint shift = code_shift(), mask = 0x0F0F0F0Fu << shift;
  first = c.low << shift & mask;
  second = c.low >> (4 - shift) & mask;
  if (block_bits() == 5) {
    first |= (c.high.xxxx >> uvec4(0, 1, 2, 3) & 0x01010101u) << (4 + shift);
    second |= (c.high.xxxx >> uvec4(4, 5, 6, 7) & 0x01010101u) << (4 + shift);
  }
  if (block_bits() == 6) {
    first |= (c.high.xxxx >> uvec4(0, 2, 4, 6) & 0x03030303u) << (4 + shift);
    second |= (c.high.yyyy >> uvec4(0, 2, 4, 6) & 0x03030303u) << (4 + shift);
  }
}

#ifndef MATRICES
// A run's share of the result: its codes as int8, the inputs, their share and their sum.
int run_share(uvec4 first, uvec4 second, uvec4 q[2], vec3 scale, float share, int q_sum) {
  int sum = dot_words(ivec4(first), q[0], 0);
  if (block_unit() == 16)
    return rounded_share(sum, scale.x, share) +
           rounded_share(dot_words(ivec4(second), q[1], 0), scale.y, share);
  int result = rounded_share(dot_words(ivec4(second), q[1], sum), scale.x, share);
  if (has_minimum()) result -= rounded_share(q_sum, scale.z, share);
  return result;
}
#endif

// The exact integer as a float, once rounded. All kernels do this, so that decode and prefill agree.
float blocks_result(int sum, float q_scale, float weight_scale) {
  precise float y = float(sum) * (weight_scale / q_scale);
  return y;
}
