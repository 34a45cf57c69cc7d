// Ternary weights in groups of 64 with scales of their own (engine/layouts/layout.h). A group is a uvec4 of
// codes; its word w holds at shift 6 - 2s the codes of the elements 16s + 4w .. 16s + 4w + 3, so it meets the
// four neighbouring uvec4 of int8 of each plane. The exact sum(weight * q) of a unit of inputs, a group or two, is
// scaled and rounded to an integer, and the integers are summed, so that the order of the sum does not matter.
// Expects ternary.glsl, and push constants `fixed_point` and those of TernaryPush.

layout(constant_id = CONSTANT_SCALE_GROUPS) const uint kScaleGroups = 1;
layout(constant_id = CONSTANT_UNIT) const uint kUnit = 64;  // or 128: inputs that share a scale, and a rounding of sums
const uint kUnitGroups = kUnit / 64;  // kScaleGroups is a multiple of it

#include "common/rounded.glsl"

// The F16 number `i` of those that lie in pairs, of which this word is number i / 2.
float half_of(uint word, uint i) { return unpackHalf2x16(word >> i % 2 * 16).x; }
