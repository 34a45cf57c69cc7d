// Ternary weights in groups of 64 with scales of their own (engine/layouts/layout.h). A group is a uvec4 of
// codes; its word w holds at shift 6 - 2s the codes of the elements 16s + 4w .. 16s + 4w + 3, so it meets the
// four neighbouring uvec4 of int8 of each plane. A group's exact sum(weight * q) is scaled and rounded to an
// integer, and the integers are summed, so that the order of the sum does not matter.
// Expects ternary.glsl, and push constants `fixed_point` and those of TernaryPush.

layout(constant_id = CONSTANT_SCALE_GROUPS) const uint kScaleGroups = 1;

#include "common/rounded.glsl"

// The F16 number `i` of those that lie in pairs, of which this word is number i / 2.
float half_of(uint word, uint i) { return unpackHalf2x16(word >> i % 2 * 16).x; }
