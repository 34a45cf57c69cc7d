// The ternary types: I2_S, TQ1_0, TQ2_0, Q2_0, PQ2_0 and PTQ1_0, and Q1_0, which has no zeros. Codes 0, 1, 2
// are -1, 0, +1; those of two bits may also be 3, which is refused.
#include <array>

#include "rows.h"

namespace bitnet::layouts {
namespace {

constexpr uint64_t kLowPairs = 0x0303030303030303U;  // the lowest two bits of eight bytes
constexpr uint16_t kOne = 0x3C00;                    // 1 as F16

uint64_t word_at(const std::byte* at) {
  uint64_t word = 0;
  std::memcpy(&word, at, sizeof word);
  return word;
}

// A bit for each code of 3 in N bytes.
template <size_t N>
uint64_t threes_of(const std::byte* from) {
  uint64_t found = 0;
  for (size_t i = 0; i < N; i += 8) found |= word_at(from + i) & word_at(from + i) >> 1;
  return found & 0x5555555555555555U;
}

// Writes two bits of each of N bytes, those at `shift`.
template <size_t N>
void pairs_at(const std::byte* from, int shift, uint8_t* codes) {
  for (size_t i = 0; i < N; i += 8) {
    const uint64_t word = word_at(from + i) >> shift & kLowPairs;
    std::memcpy(codes + i, &word, sizeof word);
  }
}

// Writes the four codes of each of N bytes, the lowest bits first. Between local arrays compilers see that
// nothing overlaps, and use vectors.
template <size_t N>
void four_a_byte(const std::byte* from, uint8_t* codes) {
  std::array<uint8_t, N> bytes;
  std::array<uint32_t, N> fours;
  std::memcpy(bytes.data(), from, N);
  for (size_t i = 0; i < N; ++i) {
    const uint32_t byte = bytes[i];
    fours[i] = (byte | byte << 6 | byte << 12 | byte << 18) & 0x03030303U;
  }
  std::memcpy(codes, fours.data(), 4 * N);
}

// Turns the codes of a row into its values.
template <bool (*Trits)(const std::byte*, size_t, uint8_t*, uint16_t*), size_t Block, size_t BlockBytes,
          size_t Every>
void floats_of(const std::byte* row, size_t n, float* out) {
  std::array<uint8_t, Block> codes;
  std::array<uint16_t, Block / Every> scales;
  for (; n != 0; n -= Block, row += BlockBytes, out += Block) {
    Trits(row, Block, codes.data(), scales.data());
    for (size_t i = 0; i < Block; ++i)
      out[i] = from_half(scales[i / Every]) * static_cast<float>(codes[i] - 1);
  }
}

template <size_t Block>
bool q2_0_codes(const std::byte* row, size_t n, uint8_t* codes, uint16_t* scales) {
  uint64_t threes = 0;
  for (; n != 0; n -= Block, row += 2 + Block / 4, codes += Block, ++scales) {
    *scales = load_u16(row);
    threes |= threes_of<Block / 4>(row + 2);
    four_a_byte<Block / 4>(row + 2, codes);
  }
  return threes == 0;
}

}  // namespace

// As i2s.h has block128.
bool i2_s_trits(const std::byte* row, size_t n, uint8_t* codes, uint16_t* scales) {
  uint64_t threes = 0;
  for (; n != 0; n -= 128, row += 32, codes += 128, ++scales) {
    *scales = kOne;
    threes |= threes_of<32>(row);
    for (int k = 0; k < 4; ++k) pairs_at<32>(row, 6 - 2 * k, codes + 32 * k);
  }
  return threes == 0;
}

// 48 bytes of five digits to base 3, 4 bytes of four, and the scale. Digit k of byte i is element 32 k + i
// for the first 32 bytes, 160 + 16 k + i for the next 16, and 240 + 4 k + i for the last. A byte is ceil(q *
// 256 / 3^5), where the first digit of q is the most significant: times 3 it carries that digit out of its
// eight bits, and what stays is a byte of the same kind.
bool tq1_0_trits(const std::byte* row, size_t n, uint8_t* codes, uint16_t* scales) {
  for (; n != 0; n -= 256, row += 54, codes += 256, ++scales) {
    *scales = load_u16(row + 52);
    std::array<uint8_t, 64> left{}, digits;  // of 52; the others fill vectors
    std::memcpy(left.data(), row, 52);
    for (size_t k = 0; k < 5; ++k) {
      for (size_t i = 0; i < left.size(); ++i) {
        const uint8_t byte = left[i];
        digits[i] = static_cast<uint8_t>((byte >= 86 ? 1 : 0) + (byte >= 171 ? 1 : 0));  // 3 * byte / 256
        left[i] = static_cast<uint8_t>(byte + byte + byte);
      }
      std::memcpy(codes + 32 * k, digits.data(), 32);
      std::memcpy(codes + 160 + 16 * k, digits.data() + 32, 16);
      if (k < 4) std::memcpy(codes + 240 + 4 * k, digits.data() + 48, 4);
    }
  }
  return true;
}

// Twice 32 bytes, each with 128 elements: element 32 k + i in byte i at shift 2 k; then the scale.
bool tq2_0_trits(const std::byte* row, size_t n, uint8_t* codes, uint16_t* scales) {
  uint64_t threes = 0;
  for (; n != 0; n -= 256, row += 66, codes += 256, ++scales) {
    *scales = load_u16(row + 64);
    threes |= threes_of<64>(row);
    for (int k = 0; k < 8; ++k) pairs_at<32>(row + k / 4 * 32, k % 4 * 2, codes + 32 * k);
  }
  return threes == 0;
}

// The scale, then a byte for every four elements, the first in its lowest bits.
bool q2_0_trits(const std::byte* row, size_t n, uint8_t* codes, uint16_t* scales) {
  return q2_0_codes<64>(row, n, codes, scales);
}
bool q2_0_by_128_trits(const std::byte* row, size_t n, uint8_t* codes, uint16_t* scales) {
  return q2_0_codes<128>(row, n, codes, scales);
}

// 24 bytes of five digits to base 3, 2 bytes of four, and the scale. Digit k of byte i is element 16 k + i
// for the first 16 bytes, 80 + 8 k + i for the next 8, and 120 + 2 k + i for the last. The digits are found
// as those of TQ1_0. A byte of them, ceil(q * 256 / 243) of some q, is 256 q + e after five times 3, where e
// is less than 243; of the 13 other bytes e is more.
bool ptq1_0_trits(const std::byte* row, size_t n, uint8_t* codes, uint16_t* scales) {
  uint8_t other = 0;
  for (; n != 0; n -= 128, row += 28, codes += 128, ++scales) {
    *scales = load_u16(row + 26);
    std::array<uint8_t, 32> left{}, digits;  // of 26; the others fill vectors
    std::memcpy(left.data(), row, 26);
    for (size_t k = 0; k < 5; ++k) {
      for (size_t i = 0; i < left.size(); ++i) {
        const uint8_t byte = left[i];
        digits[i] = static_cast<uint8_t>((byte >= 86 ? 1 : 0) + (byte >= 171 ? 1 : 0));  // 3 * byte / 256
        left[i] = static_cast<uint8_t>(byte + byte + byte);
      }
      std::memcpy(codes + 16 * k, digits.data(), 16);
      std::memcpy(codes + 80 + 8 * k, digits.data() + 16, 8);
      if (k < 4) std::memcpy(codes + 120 + 2 * k, digits.data() + 24, 2);
    }
    for (const uint8_t byte : left) other |= static_cast<uint8_t>(byte >= 243 ? 1 : 0);
  }
  return other == 0;
}

// The scale, then a bit for every element, the first in the lowest of its byte: 1 is +1, 0 is -1.
bool q1_0_trits(const std::byte* row, size_t n, uint8_t* codes, uint16_t* scales) {
  for (; n != 0; n -= 128, row += 18, codes += 128, ++scales) {
    *scales = load_u16(row);
    for (size_t i = 0; i < 128; ++i)
      codes[i] = static_cast<uint8_t>((static_cast<uint8_t>(row[2 + i / 8]) >> i % 8 & 1) * 2);
  }
  return true;
}

void i2_s_floats(const std::byte* row, size_t n, float* out) {
  floats_of<i2_s_trits, 128, 32, 128>(row, n, out);
}
void tq1_0_floats(const std::byte* row, size_t n, float* out) {
  floats_of<tq1_0_trits, 256, 54, 256>(row, n, out);
}
void tq2_0_floats(const std::byte* row, size_t n, float* out) {
  floats_of<tq2_0_trits, 256, 66, 256>(row, n, out);
}
void q2_0_floats(const std::byte* row, size_t n, float* out) {
  floats_of<q2_0_trits, 64, 18, 64>(row, n, out);
}
void q2_0_by_128_floats(const std::byte* row, size_t n, float* out) {
  floats_of<q2_0_by_128_trits, 128, 34, 128>(row, n, out);
}
void ptq1_0_floats(const std::byte* row, size_t n, float* out) {
  floats_of<ptq1_0_trits, 128, 28, 128>(row, n, out);
}
void q1_0_floats(const std::byte* row, size_t n, float* out) {
  floats_of<q1_0_trits, 128, 18, 128>(row, n, out);
}

}  // namespace bitnet::layouts
