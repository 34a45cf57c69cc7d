// Puts rows of the types of blocks.h as Layout::blocks has them, for Vulkan, in as many bits as in the file
// (Q4_K and Q5_K take an eighth of a bit a weight more).
//
// Thread rule: free functions.
//
// A row is cut into runs of 32 inputs. Its codes, with the sign in their highest bit (Q4_K and Q5_K have
// none), are
//   8 bits  [2][runs] of 16 bytes: inputs 0 .. 15 of every run, then 16 .. 31
//   others  [runs] of 16 bytes: byte b has the lowest four bits of the inputs b and, above them, 16 + b
//           then the rest of each run, in words of 32 bits, up to a multiple of 16 bytes:
//           fifth bits: one word; bit k + 8 b belongs to the input 4 k + b
//           fifth and sixth bits: two words, of 16 inputs each; bits 2 k + 8 b and above to 4 k + b
// and its scales [runs] of 16 bits, an F16, or in types of blocks of 256 two bytes: the steps of the two
// units (Q6_K), or a unit's step and its step of the minimum. Behind these stands for each block of 256 a
// word: its F16 d, and above it dmin or 0.
#pragma once

#include "blocks.h"

namespace bitnet {

constexpr size_t kSteppedBlock = 256;  // inputs of a block of a type that has steps

// Bytes of a row of n inputs. Requires, here and below: n is a multiple of the type's block.
struct BlockRowBytes {
  uint64_t codes, scales;
};
BlockRowBytes block_row_bytes(TensorType type, size_t n);

// Packs a row as it is in the file. Rows lie one behind the other without a gap, codes in one buffer and
// scales in another, whose size is rounded up to a multiple of 4.
void pack_blocks(TensorType type, const std::byte* row, size_t n, std::byte* codes, std::byte* scales);

}  // namespace bitnet
