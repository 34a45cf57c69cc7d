// Q4_0, Q5_0, Q8_0: 32 values share an F16 scale d, which comes first.
#include "rows.h"

namespace bitnet::layouts {
namespace {

constexpr size_t kBlock = 32;

}  // namespace

// d, then 16 bytes: the low four bits are elements 0 to 15, the high four 16 to 31, each less 8.
void q4_0_floats(const std::byte* row, size_t n, float* out) {
  for (; n != 0; n -= kBlock, row += 18, out += kBlock) {
    const float d = half_at(row);
    const auto* q = reinterpret_cast<const uint8_t*>(row + 2);
    for (size_t i = 0; i < 16; ++i) {
      out[i] = d * static_cast<float>((q[i] & 15) - 8);
      out[16 + i] = d * static_cast<float>((q[i] >> 4) - 8);
    }
  }
}

// d, then 32 bits, the fifth of each element, then as Q4_0; each less 16.
void q5_0_floats(const std::byte* row, size_t n, float* out) {
  for (; n != 0; n -= kBlock, row += 22, out += kBlock) {
    const float d = half_at(row);
    uint32_t fifth = 0;
    std::memcpy(&fifth, row + 2, sizeof fifth);
    const auto* q = reinterpret_cast<const uint8_t*>(row + 6);
    for (uint32_t i = 0; i < 16; ++i) {
      const int low = static_cast<int>((q[i] & 15U) | (fifth >> i & 1U) << 4);
      const int high = static_cast<int>((q[i] >> 4U) | (fifth >> (i + 16) & 1U) << 4);
      out[i] = d * static_cast<float>(low - 16);
      out[16 + i] = d * static_cast<float>(high - 16);
    }
  }
}

// d, then 32 int8.
void q8_0_floats(const std::byte* row, size_t n, float* out) {
  for (; n != 0; n -= kBlock, row += 34, out += kBlock) {
    const float d = half_at(row);
    const auto* q = reinterpret_cast<const int8_t*>(row + 2);
    for (size_t i = 0; i < kBlock; ++i) out[i] = d * static_cast<float>(q[i]);
  }
}

}  // namespace bitnet::layouts
