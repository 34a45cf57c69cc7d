// Expands ternary codes from 1.6 bits (Layout::fives16 of engine/layouts/layout.h), in which they came over a
// link, into the 2 bits that the other kernels read: Layout::trits, or Layout::groups. An invocation takes a
// row's five groups of 64 for Layout::groups, and for Layout::trits half of the bytes of ten groups, which
// are five of 128; what is left at the end of a row is in 2 bits already and only wants another order.
#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_GOOGLE_include_directive : require
#include "params.h"

layout(local_size_x = 64) in;
layout(constant_id = CONSTANT_SCALE_GROUPS) const uint kScaleGroups = 0;  // 0: Layout::trits

layout(push_constant) uniform Push { ExpandPush push; };
layout(binding = 0) readonly buffer From { uint from[]; };
layout(binding = 1) writeonly buffer To { uvec4 to[]; };  // [n_rows][n_in / 64]

const uint kRows = 16;     // side by side
const uint kPairs = 0x00010001;  // SIMD in a word: two bytes with 16 bits each

// The codes of a word's four bytes, c0 + 3 c1 + 9 c2 + 28 c3 + 84 c4 each, as five words. The products with
// rounded inverses are exact for all 243 bytes that are codes.
void five_of(uint word, out uint codes[5]) {
  uint even[5], odd[5];
  [[unroll]] for (uint half_ = 0; half_ < 2; ++half_) {
    uint v = word >> 8 * half_ & 0xFF * kPairs;
    uint high = (v + kPairs) * 73 >> 11 & 0xF * kPairs;  // v / 28
    uint low = v - 28 * high;
    uint c[5];
    c[4] = high * 11 >> 5 & 3 * kPairs;  // high / 3
    c[3] = high - 3 * c[4];
    c[2] = low * 57 >> 9 & 3 * kPairs;  // low / 9
    low -= 9 * c[2];
    c[1] = low * 11 >> 5 & 3 * kPairs;
    c[0] = low - 3 * c[1];
    [[unroll]] for (uint i = 0; i < 5; ++i) codes[i] = half_ == 0 ? c[i] : codes[i] | c[i] << 8;
  }
}

uint at_shifts(uint a, uint b, uint c, uint d) { return a << 6 | b << 4 | c << 2 | d; }

// Where a row lies: the first word of its band, and its place among the rows.
uint band, lane, whole;  // whole: fives of groups in a row

uint word_of(uint fives, uint i) { return from[band + (fives * 16 + i) * kRows + lane]; }

// The codes of the elements 4 i to 4 i + 3 of a group, by themselves.
uint four_codes(uint group, uint i) {
  if (group < 5 * whole) {
    uint codes[5];
    five_of(word_of(group / 5, i), codes);
    return codes[group % 5];
  }
  uint block = (group - 5 * whole) * 4 + i / 4;
  return from[band + (whole * 16 + block) * kRows + lane] >> (6 - 2 * (i % 4)) & 0x03030303;
}

// Word `i` of the 16 bytes at `unit` of a row.
uint word_at(uint unit, uint i) {
  if (kScaleGroups != 0)
    return at_shifts(four_codes(unit, i), four_codes(unit, 4 + i), four_codes(unit, 8 + i),
                     four_codes(unit, 12 + i));
  uint group = unit / 2 * 2;
  i += unit % 2 * 4;
  return at_shifts(four_codes(group, i), four_codes(group, 8 + i), four_codes(group + 1, i),
                   four_codes(group + 1, 8 + i));
}

void main() {
  uint row = gl_GlobalInvocationID.x, step_ = gl_WorkGroupID.y, groups = push.n_in / 64;
  if (kScaleGroups == 0) {
    // The halves of sixteen rows are beside each other, so that 32 bytes of a row are written at a time.
    uint i = gl_LocalInvocationID.x;
    row = gl_WorkGroupID.x * 64 + step_ % 2 * 32 + i / 32 * 16 + i % 16;
    step_ = step_ / 2 * 2 + i / 16 % 2;
  }
  if (row >= push.n_rows) return;
  whole = groups / 5;
  band = row / kRows * (whole * 16 + groups % 5 * 4) * kRows;
  lane = row % kRows;
  uint first = row * groups;
  bool both = step_ / 2 * 2 + 1 < whole;
  if (kScaleGroups != 0 ? step_ >= whole : !both) {
    // The end of a row, of which the two steps of ten groups share the units.
    uint begin = kScaleGroups != 0 ? 5 * step_ : 10 * (step_ / 2) + step_ % 2,
         stride = kScaleGroups != 0 ? 1 : 2, end = kScaleGroups != 0 ? groups : min(groups, begin + 10);
    for (uint unit = begin; unit < end; unit += stride)
      to[first + unit] = uvec4(word_at(unit, 0), word_at(unit, 1), word_at(unit, 2), word_at(unit, 3));
    return;
  }
  uvec4 units[5];
  [[unroll]] for (uint i = 0; i < 4; ++i) {
    uint a[5], b[5], c[5], d[5];
    if (kScaleGroups != 0) {
      five_of(word_of(step_, i), a);
      five_of(word_of(step_, 4 + i), b);
      five_of(word_of(step_, 8 + i), c);
      five_of(word_of(step_, 12 + i), d);
      [[unroll]] for (uint k = 0; k < 5; ++k) units[k][i] = at_shifts(a[k], b[k], c[k], d[k]);
    } else {
      uint fives = step_ / 2 * 2, w = step_ % 2 * 4 + i;
      five_of(word_of(fives, w), a);
      five_of(word_of(fives, 8 + w), b);
      five_of(word_of(fives + 1, w), c);
      five_of(word_of(fives + 1, 8 + w), d);
      units[0][i] = at_shifts(a[0], b[0], a[1], b[1]);
      units[1][i] = at_shifts(a[2], b[2], a[3], b[3]);
      units[2][i] = at_shifts(a[4], b[4], c[0], d[0]);
      units[3][i] = at_shifts(c[1], d[1], c[2], d[2]);
      units[4][i] = at_shifts(c[3], d[3], c[4], d[4]);
    }
  }
  [[unroll]] for (uint k = 0; k < 5; ++k)
    to[first + (kScaleGroups != 0 ? 5 * step_ + k : 10 * (step_ / 2) + 2 * k + step_ % 2)] = units[k];
}
