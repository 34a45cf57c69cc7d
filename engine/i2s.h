// The ternary bits of GGUF type I2_S (36): two bits a weight, one scale a tensor.
//
// Thread rule: free functions.
//
// A tensor of n weights is n / 4 bytes of codes and a 32-byte tail whose first 4 bytes are the scale, a
// little-endian f32 (the other 28 are undefined). Code 0, 1, 2 is weight -1, 0, +1; 3 never occurs. In layout
// block128, element e of a row lies in block e / 128 (32 bytes), byte e % 32, at shift 6 - 2 * (e % 128 /
// 32). Files made by an ARM build of the quantiser have block64 instead: block e / 64 (16 bytes), byte e %
// 16, at shift 6 - 2 * (e % 64 / 16). Nothing in a file tells the two apart. Source: ggml-bitnet-mad.cpp of
// microsoft/BitNet (quantize_i2_s).
#pragma once

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "engine/engine.h"

namespace bitnet {

constexpr size_t kI2sTail = 32;

struct I2sPosition {
  size_t byte;  // in the tensor's codes
  int shift;
};

inline I2sPosition i2s_position(size_t element, I2sLayout layout) {
  const size_t lanes = layout == I2sLayout::block128 ? 32 : 16;  // bytes of a block, four weights each
  const size_t in_block = element % (4 * lanes);
  return {element / (4 * lanes) * lanes + in_block % lanes, static_cast<int>(6 - 2 * (in_block / lanes))};
}

// The scale of a tensor, given all of its bytes.
inline float i2s_scale(std::span<const std::byte> tensor) {
  assert(tensor.size() >= kI2sTail);
  float scale = 0;
  std::memcpy(&scale, tensor.data() + tensor.size() - kI2sTail, sizeof scale);
  return scale;
}

// Whether a code is 3, which no quantiser writes. Both layouts have four codes in every byte.
inline bool i2s_has_code_3(std::span<const std::byte> codes) {
  uint64_t found = 0, word = 0;
  size_t at = 0;
  for (; at + sizeof word <= codes.size(); at += sizeof word) {
    std::memcpy(&word, codes.data() + at, sizeof word);
    found |= word & word >> 1;
  }
  for (; at < codes.size(); ++at) found |= std::to_integer<uint64_t>(codes[at] & codes[at] >> 1);
  return (found & 0x5555555555555555U) != 0;
}

// Repacks codes of block64 as block128. Requires: whole blocks of 128.
inline void i2s_block64_to_block128(std::span<const std::byte> from, std::span<std::byte> to) {
  assert(from.size() == to.size() && from.size() % 32 == 0);
  for (size_t block = 0; block < from.size(); block += 32)
    for (size_t lane = 0; lane < 32; ++lane) {
      std::byte packed{};
      for (size_t k = 0; k < 4; ++k) {  // element k * 32 + lane: in half k / 2 of the two block64
        const size_t in_half = (k * 32 + lane) % 64;
        const std::byte code =
            from[block + k / 2 * 16 + in_half % 16] >> static_cast<int>(6 - 2 * (in_half / 16)) &
            std::byte{3};
        packed |= code << static_cast<int>(6 - 2 * k);
      }
      to[block + lane] = packed;
    }
}

}  // namespace bitnet
