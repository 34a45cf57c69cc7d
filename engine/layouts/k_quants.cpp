// Q4_K, Q5_K, Q6_K: 256 values have an F16 scale, and 16 or 32 of them a small scale of their own.
#include "rows.h"

namespace bitnet::layouts {
namespace {

constexpr size_t kSuperBlock = 256;

// The scale and the minimum, six bits each, that 32 values of Q4_K and Q5_K share. Eight pairs lie in 12
// bytes: the first four in the low six bits of bytes 0 to 3 and 4 to 7; of the others the low four bits are
// in bytes 8 to 11 and the high two above the first four.
struct Pair {
  int scale;
  int minimum;
};
Pair pair_at(const uint8_t* packed, size_t i) {
  if (i < 4) return {packed[i] & 63, packed[i + 4] & 63};
  return {(packed[i + 4] & 15) | packed[i - 4] >> 6 << 4, packed[i + 4] >> 4 | packed[i] >> 6 << 4};
}

// 32 values: (low four bits of q >> shift, and 16 where `fifth` has the bit) * d * scale - dmin * minimum.
void sub_block(const uint8_t* q, int shift, const uint8_t* fifth, int bit, float d, float dmin, Pair pair,
               float* out) {
  const float scale = d * static_cast<float>(pair.scale);
  const float minimum = dmin * static_cast<float>(pair.minimum);
  for (size_t i = 0; i < 32; ++i) {
    const int high = fifth ? (fifth[i] >> bit & 1) << 4 : 0;
    out[i] = scale * static_cast<float>((q[i] >> shift & 15) + high) - minimum;
  }
}

}  // namespace

// d, dmin, 12 bytes of pairs, then 32 bytes for each 64 values: low four bits for the first 32, high four for
// the others.
void q4_k_floats(const std::byte* row, size_t n, float* out) {
  for (; n != 0; n -= kSuperBlock, row += 144, out += kSuperBlock) {
    const float d = half_at(row), dmin = half_at(row + 2);
    const auto* pairs = reinterpret_cast<const uint8_t*>(row + 4);
    const auto* q = reinterpret_cast<const uint8_t*>(row + 16);
    for (size_t i = 0; i < 8; ++i)
      sub_block(q + i / 2 * 32, i % 2 * 4, nullptr, 0, d, dmin, pair_at(pairs, i), out + i * 32);
  }
}

// As Q4_K, with 32 bytes of fifth bits before the fours: bit i of byte l belongs to value l of the i-th 32.
void q5_k_floats(const std::byte* row, size_t n, float* out) {
  for (; n != 0; n -= kSuperBlock, row += 176, out += kSuperBlock) {
    const float d = half_at(row), dmin = half_at(row + 2);
    const auto* pairs = reinterpret_cast<const uint8_t*>(row + 4);
    const auto* fifth = reinterpret_cast<const uint8_t*>(row + 16);
    const auto* q = reinterpret_cast<const uint8_t*>(row + 48);
    for (size_t i = 0; i < 8; ++i)
      sub_block(q + i / 2 * 32, i % 2 * 4, fifth, static_cast<int>(i), d, dmin, pair_at(pairs, i),
                out + i * 32);
  }
}

// For each of two halves of 128 values 64 bytes of low four bits; behind them 32 bytes a half of high two
// bits; then 16 int8 scales, each for 16 values; d is last. Quarter k of a half (32 values) has its low bits
// in byte k % 2 * 32 + l at shift k / 2 * 4, and its high bits in byte l at shift 2 k; each value less 32.
void q6_k_floats(const std::byte* row, size_t n, float* out) {
  for (; n != 0; n -= kSuperBlock, row += 210, out += kSuperBlock) {
    const float d = half_at(row + 208);
    const auto* scales = reinterpret_cast<const int8_t*>(row + 192);
    for (size_t quarter = 0; quarter < 8; ++quarter) {
      const size_t half = quarter / 4, k = quarter % 4;
      const auto* low = reinterpret_cast<const uint8_t*>(row) + half * 64 + k % 2 * 32;
      const auto* high = reinterpret_cast<const uint8_t*>(row) + 128 + half * 32;
      for (size_t l = 0; l < 32; l += 16) {
        const float scale = d * static_cast<float>(scales[quarter * 2 + l / 16]);
        for (size_t i = l; i < l + 16; ++i) {
          const int q = (low[i] >> k / 2 * 4 & 15) | (high[i] >> 2 * k & 3) << 4;
          out[quarter * 32 + i] = scale * static_cast<float>(q - 32);
        }
      }
    }
  }
}

}  // namespace bitnet::layouts
