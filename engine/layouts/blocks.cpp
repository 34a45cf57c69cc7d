#include "blocks.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <iterator>

#include "pack.h"
#include "rows.h"

namespace bitnet {
namespace {

using namespace layouts;

void q8_0_codes(const std::byte* row, size_t n, int8_t* codes) {
  for (; n != 0; n -= 32, row += 34, codes += 32) std::memcpy(codes, row + 2, 32);
}

void q4_0_codes(const std::byte* row, size_t n, int8_t* codes) {
  for (; n != 0; n -= 32, row += 18, codes += 32) {
    const auto* q = reinterpret_cast<const uint8_t*>(row + 2);
    for (size_t i = 0; i < 16; ++i) {
      codes[i] = static_cast<int8_t>((q[i] & 15) - 8);
      codes[16 + i] = static_cast<int8_t>((q[i] >> 4) - 8);
    }
  }
}

void q5_0_codes(const std::byte* row, size_t n, int8_t* codes) {
  for (; n != 0; n -= 32, row += 22, codes += 32) {
    uint32_t fifth = 0;
    std::memcpy(&fifth, row + 2, sizeof fifth);
    const auto* q = reinterpret_cast<const uint8_t*>(row + 6);
    for (uint32_t i = 0; i < 16; ++i) {
      codes[i] = static_cast<int8_t>(((q[i] & 15U) | (fifth >> i & 1U) << 4) - 16);
      codes[16 + i] = static_cast<int8_t>((q[i] >> 4U | (fifth >> (i + 16) & 1U) << 4) - 16);
    }
  }
}

void q4_k_codes(const std::byte* row, size_t n, int8_t* codes) {
  for (; n != 0; n -= 256, row += 144, codes += 256)
    for (size_t pair = 0; pair < 4; ++pair) {
      const auto* q = reinterpret_cast<const uint8_t*>(row + 16 + pair * 32);
      for (size_t i = 0; i < 32; ++i) {
        codes[pair * 64 + i] = static_cast<int8_t>(q[i] & 15);
        codes[pair * 64 + 32 + i] = static_cast<int8_t>(q[i] >> 4);
      }
    }
}

void q5_k_codes(const std::byte* row, size_t n, int8_t* codes) {
  for (; n != 0; n -= 256, row += 176, codes += 256) {
    const auto* fifth = reinterpret_cast<const uint8_t*>(row + 16);
    for (size_t pair = 0; pair < 4; ++pair) {
      const auto* q = reinterpret_cast<const uint8_t*>(row + 48 + pair * 32);
      for (size_t i = 0; i < 32; ++i) {
        const int high = fifth[i] >> 2 * pair;
        codes[pair * 64 + i] = static_cast<int8_t>((q[i] & 15) | (high & 1) << 4);
        codes[pair * 64 + 32 + i] = static_cast<int8_t>(q[i] >> 4 | (high & 2) << 3);
      }
    }
  }
}

void q6_k_codes(const std::byte* row, size_t n, int8_t* codes) {
  for (; n != 0; n -= 256, row += 210, codes += 256)
    for (size_t half = 0; half < 2; ++half) {
      const auto* low = reinterpret_cast<const uint8_t*>(row) + half * 64;
      const auto* high = reinterpret_cast<const uint8_t*>(row) + 128 + half * 32;
      int8_t* to = codes + half * 128;
      for (size_t i = 0; i < 32; ++i) {
        to[i] = static_cast<int8_t>(((low[i] & 15) | (high[i] & 3) << 4) - 32);
        to[32 + i] = static_cast<int8_t>(((low[32 + i] & 15) | (high[i] >> 2 & 3) << 4) - 32);
        to[64 + i] = static_cast<int8_t>((low[i] >> 4 | (high[i] >> 4 & 3) << 4) - 32);
        to[96 + i] = static_cast<int8_t>((low[32 + i] >> 4 | high[i] >> 6 << 4) - 32);
      }
    }
}

template <size_t kBlockBytes>
void simple_scales(const std::byte* row, size_t n, uint16_t* d, int8_t*, uint16_t*, int8_t*) {
  for (size_t b = 0; b < n / 32; ++b) d[b] = load_u16(row + b * kBlockBytes);
}

// k_quants.cpp says how the pairs of six bits lie.
template <size_t kBlockBytes>
void paired_scales(const std::byte* row, size_t n, uint16_t* d, int8_t* steps, uint16_t* dmin,
                   int8_t* min_steps) {
  for (size_t b = 0; b < n / 256; ++b, row += kBlockBytes, steps += 8, min_steps += 8) {
    d[b] = load_u16(row);
    dmin[b] = load_u16(row + 2);
    const auto* packed = reinterpret_cast<const uint8_t*>(row + 4);
    for (size_t i = 0; i < 4; ++i) {
      steps[i] = static_cast<int8_t>(packed[i] & 63);
      min_steps[i] = static_cast<int8_t>(packed[4 + i] & 63);
      steps[4 + i] = static_cast<int8_t>((packed[8 + i] & 15) | packed[i] >> 6 << 4);
      min_steps[4 + i] = static_cast<int8_t>(packed[8 + i] >> 4 | packed[4 + i] >> 6 << 4);
    }
  }
}

void q6_k_scales(const std::byte* row, size_t n, uint16_t* d, int8_t* steps, uint16_t*, int8_t*) {
  for (size_t b = 0; b < n / 256; ++b, row += 210) {
    d[b] = load_u16(row + 208);
    std::memcpy(steps + b * 16, row + 192, 16);
  }
}

constexpr BlockType kBlockTypes[] = {
    {2, 32, 4, 8, false, false, q4_0_codes, simple_scales<18>},
    {6, 32, 5, 16, false, false, q5_0_codes, simple_scales<22>},
    {8, 32, 8, 128, false, false, q8_0_codes, simple_scales<34>},
    {12, 32, 4, 0, true, true, q4_k_codes, paired_scales<144>},
    {13, 32, 5, 0, true, true, q5_k_codes, paired_scales<176>},
    {14, 16, 6, 32, false, true, q6_k_codes, q6_k_scales},
};

double larger(double a, double b) { return std::isnan(a) || b <= a ? a : b; }  // NaN if one is

}  // namespace

const BlockType* find_block_type(TensorType type) {
  const auto* found = std::ranges::find(kBlockTypes, static_cast<uint32_t>(type), &BlockType::id);
  return found == std::end(kBlockTypes) ? nullptr : found;
}

void unpack_block_scales(TensorType type, const std::byte* row, size_t n, uint16_t* d, int8_t* steps,
                         uint16_t* dmin, int8_t* min_steps) {
  find_block_type(type)->scales(row, n, d, steps, dmin, min_steps);
}

void unpack_blocks(TensorType type, const std::byte* row, size_t n, int8_t* codes, float* d, float* m) {
  const BlockType& t = *find_block_type(type);
  const size_t block = find_file_type(type)->block, bytes = find_file_type(type)->block_bytes;
  t.codes(row, n, codes);
  for (size_t b = 0; b < n / block; ++b, row += bytes) {
    uint16_t half = 0, half_min = 0;
    int8_t steps[16] = {1}, min_steps[16] = {};
    t.scales(row, block, &half, steps, &half_min, min_steps);
    for (size_t u = 0; u < block / t.unit; ++u, ++d) {
      *d = from_half(half) * static_cast<float>(steps[u]);
      if (t.has_min) *m++ = from_half(half_min) * static_cast<float>(min_steps[u]);
    }
  }
}

void BlockBound::add(const BlockBound& other) {
  unit = larger(unit, other.unit);
  row = larger(row, other.row);
}

bool BlockBound::finite() const { return std::isfinite(unit) && std::isfinite(row); }

BlockBound bound_of_blocks(const int8_t* codes, const float* d, const float* m, size_t n, uint32_t unit) {
  BlockBound bound;
  for (size_t u = 0; u < n / unit; ++u, codes += unit) {
    int sum = 0;
    for (uint32_t i = 0; i < unit; ++i) sum += std::abs(int{codes[i]});
    const double most = std::abs(double{d[u]}) * sum + (m ? std::abs(double{m[u]}) * unit : 0);
    bound.unit = larger(bound.unit, most);
    bound.row += most;
  }
  return bound;
}

float fixed_for(const BlockBound& bound) {
  const double most = kLargestInput * std::max(bound.unit * 256, bound.row);  // 2^30 / 2^22 = 256
  if (most == 0) return 1;
  int exponent = 0;  // 2^30 / most = mantissa * 2^exponent, mantissa from 1/2 to 1
  std::frexp(0x1p30 / most, &exponent);
  return std::ldexp(1.0F, exponent - 1);
}

}  // namespace bitnet
