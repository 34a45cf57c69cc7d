// Puts rows of the types of blocks.h as Layout::blocks16 has them, for the CPU.
//
// Thread rule: free functions.
#pragma once

#include "pack_blocks.h"

namespace bitnet {

// Sixteen rows of n inputs, as unpack_blocks and unpack_block_scales give them, one behind the other.
struct SixteenRows {
  const int8_t* codes;      // [16][n]
  const uint16_t* d;        // F16 [16][n / block]
  const int8_t* steps;      // [16][n / unit], where the type has_steps
  const uint16_t* dmin;     // F16 [16][n / block], where it has_min
  const int8_t* min_steps;  // [16][n / unit], likewise
};

// Bytes of one of sixteen rows. Requires, here and below: n is a multiple of the type's block.
BlockRowBytes block16_row_bytes(TensorType type, size_t n);

// Writes 16 times as many bytes.
void pack_blocks16(TensorType type, const SixteenRows& rows, size_t n, std::byte* codes, std::byte* scales);

}  // namespace bitnet
