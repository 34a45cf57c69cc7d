// The ternary bits of GGUF type I2_S (36): two bits a weight, one scale a tensor.
//
// Thread rule: free functions.
//
// A tensor of n weights is n / 4 bytes of codes and a 32-byte tail whose first 4 bytes are the scale, a
// little-endian f32 (the other 28 are undefined). Code 0, 1, 2 is weight -1, 0, +1; 3 never occurs. In layout
// block128, element e of a row lies in block e / 128 (32 bytes), byte e % 32, at shift 6 - 2 * (e % 128 /
// 32). Files made by an ARM build of the quantiser have block64 instead: block e / 64 (16 bytes), byte e %
// 16, at shift 6 - 2 * (e % 64 / 16). Some x86 builds write 1x4: four rows in each byte, row 4 g + k of
// column c in byte g * n_in + c at shift 6 - 2 k. Nothing in a file tells the three apart. Source:
// ggml-bitnet-mad.cpp of microsoft/BitNet (quantize_i2_s).
#pragma once

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace bitnet {

constexpr size_t kI2sTail = 32;

struct I2sPosition {
  size_t byte;  // in the tensor's codes
  int shift;
};

// `block` is 128 or 64, the elements of a block.
inline I2sPosition i2s_position(size_t element, size_t block = 128) {
  const size_t lanes = block / 4;  // bytes of a block, four weights each
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

// Whether a code is 3, which no quantiser writes. All layouts have four codes in every byte.
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
    for (size_t i = 0; i < 16; ++i) {
      const std::byte a = from[block + i], b = from[block + 16 + i];  // of the first and of the second 64
      to[block + i] = (a & std::byte{0xC0}) | (a << 2 & std::byte{0x30}) | (b >> 4 & std::byte{0x0C}) |
                      (b >> 2 & std::byte{0x03});
      to[block + 16 + i] = (a << 2 & std::byte{0xC0}) | (a << 4 & std::byte{0x30}) |
                           (b >> 2 & std::byte{0x0C}) | (b & std::byte{0x03});
    }
}

// The codes of eight columns, a byte each, of the row whose bits are `shift` and `shift` + 1.
inline uint64_t eight_codes(const std::byte* at, size_t shift) {
  uint64_t word = 0;
  std::memcpy(&word, at, sizeof word);
  return word >> shift & 0x0303030303030303U;
}

// Repacks codes of 1x4 as block128. Requires: a multiple of four rows of whole blocks of 128.
inline void i2s_1x4_to_block128(std::span<const std::byte> from, size_t n_in, std::span<std::byte> to) {
  assert(from.size() == to.size() && n_in % 128 == 0 && from.size() % n_in == 0);
  const size_t row_bytes = n_in / 4;
  for (size_t row = 0; row < to.size() / row_bytes; ++row) {
    const size_t shift = 6 - 2 * (row % 4);
    for (size_t at = 0; at < row_bytes; at += 8) {
      const std::byte* column = from.data() + row / 4 * n_in + at / 32 * 128 + at % 32;
      const uint64_t packed = eight_codes(column, shift) << 6 | eight_codes(column + 32, shift) << 4 |
                              eight_codes(column + 64, shift) << 2 | eight_codes(column + 96, shift);
      std::memcpy(to.data() + row * row_bytes + at, &packed, sizeof packed);
    }
  }
}

// Packs codes of 0, 1, 2, one a byte. Requires: whole blocks of 128.
inline void i2s_pack(const uint8_t* codes, size_t n, std::byte* to) {
  const auto eight = [](const uint8_t* at) {
    uint64_t word = 0;
    std::memcpy(&word, at, sizeof word);
    return word;
  };
  for (; n != 0; n -= 128, codes += 128)
    for (size_t b = 0; b < 32; b += 8, to += 8) {
      const uint64_t packed = eight(codes + b) << 6 | eight(codes + 32 + b) << 4 |
                              eight(codes + 64 + b) << 2 | eight(codes + 96 + b);
      std::memcpy(to, &packed, sizeof packed);
    }
}

// Repacks what Hugging Face's transformers pack, [rows / 4][n_in] bytes, as block128: the bits 2 i and 2 i +
// 1 of byte row p are row i * rows / 4 + p. Requires: whole blocks of 128.
inline void i2s_hub_to_block128(std::span<const std::byte> from, size_t n_in, std::span<std::byte> to) {
  assert(from.size() == to.size() && n_in % 128 == 0 && from.size() % n_in == 0);
  const size_t row_bytes = n_in / 4, quarter = from.size() / n_in;
  for (size_t row = 0; row < 4 * quarter; ++row) {
    const size_t shift = row / quarter * 2;
    const std::byte* in = from.data() + row % quarter * n_in;
    for (size_t at = 0; at < row_bytes; at += 8) {
      const std::byte* column = in + at / 32 * 128 + at % 32;
      const uint64_t packed = eight_codes(column, shift) << 6 | eight_codes(column + 32, shift) << 4 |
                              eight_codes(column + 64, shift) << 2 | eight_codes(column + 96, shift);
      std::memcpy(to.data() + row * row_bytes + at, &packed, sizeof packed);
    }
  }
}

}  // namespace bitnet
