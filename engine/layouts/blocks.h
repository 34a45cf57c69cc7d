// Weights of dense types as integers with a scale for each few inputs: Q8_0, Q4_0, Q5_0, Q4_K, Q5_K, Q6_K.
//
// Thread rule: constant data and free functions.
//
// A unit is 32 neighbouring inputs of a row (16 in Q6_K). In unit u a weight is d_u * code - m_u; only Q4_K
// and Q5_K have m. In all but the K types d_u is the F16 of the unit's block. In the K types d_u is the F16
// of the block of 256 inputs times a small integer of the unit, and m_u likewise; both products are exact in
// f32.
#pragma once

#include <cstddef>
#include <cstdint>

#include "file_types.h"

namespace bitnet {

struct BlockType {
  uint32_t id;    // of the TensorType
  uint32_t unit;  // inputs that share d and m
  uint32_t bits;  // of a code
  // A code plus this is from 0 to 2^bits - 1: 128, 32, 16 or 8, and 0 in Q4_K and Q5_K.
  int offset;
  bool has_min;    // weights have an m
  bool has_steps;  // units of a block have small integers, by which its F16 are multiplied
  void (*codes)(const std::byte* row, size_t n, int8_t* codes);
  void (*scales)(const std::byte* row, size_t n, uint16_t* d, int8_t* steps, uint16_t* dmin,
                 int8_t* min_steps);
};

const BlockType* find_block_type(TensorType type);  // nullptr where the type is none of these

// The same of a type that is one of these.
inline bool has_min(TensorType type) { return find_block_type(type)->has_min; }

// A row of n inputs: codes [n], and d and m [n / unit]; m is not touched where the type has none. d * code -
// m is, bit for bit, what row_floats gives. Requires: n is a multiple of the type's block.
void unpack_blocks(TensorType type, const std::byte* row, size_t n, int8_t* codes, float* d, float* m);

// The scales of a row as they are in the file: F16 d and dmin [n / block], steps and min_steps [n / unit].
// Only types with has_steps write steps, and only those with has_min write dmin and min_steps. A step is
// signed in Q6_K, and from 0 to 63 elsewhere.
void unpack_block_scales(TensorType type, const std::byte* row, size_t n, uint16_t* d, int8_t* steps,
                         uint16_t* dmin, int8_t* min_steps);

// How large the integers of a product may become before they are multiplied by `fixed`, for inputs of 1: the
// most of a unit and the most of a row, each the largest of all rows that were added. They are NaN or
// infinite where a scale is.
struct BlockBound {
  double unit = 0, row = 0;
  void add(const BlockBound& other);
  bool finite() const;
};
// Of one row, from what unpack_blocks gives; m is null where there is none.
BlockBound bound_of_blocks(const int8_t* codes, const float* d, const float* m, size_t n, uint32_t unit);

// The largest power of two with which no unit exceeds 2^22, where rounding by additions ends, and no sum over
// a row 2^30. Requires: a finite bound.
float fixed_for(const BlockBound& bound);

}  // namespace bitnet
