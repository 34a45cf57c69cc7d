// Puts rows of ternary codes (0, 1, 2 a byte) and their scales (F16) as layout.h says, and what loading needs
// of numbers besides.
//
// Thread rule: free functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "layout.h"

namespace bitnet {

constexpr size_t kRowsTogether = 16;  // of Layout::groups16, fives16 and blocks16
// Rows with those past the last one that fill its sixteen.
constexpr size_t in_whole_sets(size_t rows) {
  return (rows + kRowsTogether - 1) / kRowsTogether * kRowsTogether;
}

// One row in Layout::groups, n / 4 bytes. Requires: n is a multiple of 64.
void pack_groups(const uint8_t* codes, size_t n, std::byte* out);

// 16 rows, codes [16][n], in Layout::groups16: [n / 16][16 rows][4 bytes]. Requires: n is a multiple of 16.
void pack_groups16(const uint8_t* codes, size_t n, std::byte* out);

// The same in Layout::fives16. Requires: n is a multiple of 64.
void pack_fives16(const uint8_t* codes, size_t n, std::byte* out);

// Code `i` of row `lane` of a band of 16 rows in Layout::groups16 or fives16.
uint8_t code_in_band(Layout layout, const uint8_t* band, size_t n, size_t lane, size_t i);

// The scales of 16 rows, [16][n], as Layout::groups16 has them: [n][16 rows].
void pack_scales16(const uint16_t* scales, size_t n, uint16_t* out);

// Where neighbouring scales are equal in all rows, one can stand for them. Given those of a matrix in
// a layout with bands, n to a row, leaves as few as possible and returns how many of the old ones each stands
// for.
uint32_t merge_scales16(std::vector<uint16_t>& scales, size_t n);

// Drivers may take a subnormal F16 for zero (unpackHalf2x16). Where any of these scales is one, multiplies
// all by 2^k and returns k, and otherwise 0: the largest k up to 10, with which each is normal, that leaves
// all finite. Nothing is rounded. Requires: finite scales.
int lift_subnormals(std::span<uint16_t> scales);

// What a row's scales allow `fixed` to be: the sum over its groups of 64 inputs of |scale|, or 256 times the
// largest of them, if that is more. NaN or infinite where a scale is.
double bound_of_scales(const uint16_t* scales, size_t n, uint32_t scale_every);

// The largest power of two with which no group of 64 inputs exceeds 2^22, where a float still has every
// integer and its half, and no sum over a row 2^30. `largest_bound` is the largest bound_of_scales of a
// matrix, times steps_of its inputs and the groups of a unit of these (a row's sum may then stay below 2^29).
// Requires: a finite bound.
constexpr double kLargestInput = 128;  // magnitude of an int8
float fixed_for(double largest_bound);

// Which row of a head in the file is row `row` where the kernels want it. Llama's files have the two features
// that RoPE rotates together side by side, 2 i and 2 i + 1; kernels have them at i and i + rope_dim / 2.
uint32_t rope_row(uint32_t row, uint32_t rope_dim);

}  // namespace bitnet
