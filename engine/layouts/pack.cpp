#include "pack.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "rows.h"

namespace bitnet {
namespace {

// Eight codes at a time: a shift up to 6 moves none of them into another's byte.
uint64_t eight_codes(const uint8_t* at) {
  uint64_t word = 0;
  std::memcpy(&word, at, sizeof word);
  return word;
}

constexpr size_t kFives = 320;  // inputs of five groups
constexpr uint8_t kWeights[] = {1, 3, 9, 28, 84};

// From element `at` on
void pack_rest16(const uint8_t* codes, size_t n, size_t at, std::byte* out) {
  for (; at < n; at += 16)
    for (size_t row = 0; row < kRowsTogether; ++row, out += 4) {
      const uint8_t* block = codes + row * n + at;
      const uint64_t pairs =
          eight_codes(block) << 4 | eight_codes(block + 8);  // elements b, 8 + b, and 4 + b, 12 + b
      const uint32_t word = static_cast<uint32_t>(pairs) << 2 | static_cast<uint32_t>(pairs >> 32);
      std::memcpy(out, &word, sizeof word);
    }
}

}  // namespace

void pack_groups(const uint8_t* codes, size_t n, std::byte* out) {
  for (; n != 0; n -= 64, codes += 64, out += 16)
    for (size_t b = 0; b < 16; b += 8) {
      const uint64_t word = eight_codes(codes + b) << 6 | eight_codes(codes + 16 + b) << 4 |
                            eight_codes(codes + 32 + b) << 2 | eight_codes(codes + 48 + b);
      std::memcpy(out + b, &word, sizeof word);
    }
}

void pack_groups16(const uint8_t* codes, size_t n, std::byte* out) { pack_rest16(codes, n, 0, out); }

void pack_fives16(const uint8_t* codes, size_t n, std::byte* out) {
  size_t at = 0;
  for (; at + kFives <= n; at += kFives)
    for (size_t word = 0; word < 16; ++word)
      for (size_t row = 0; row < kRowsTogether; ++row, out += 4) {
        uint32_t bytes = 0;  // none of the four exceeds 250
        for (size_t group = 0; group < 5; ++group) {
          uint32_t four = 0;
          std::memcpy(&four, codes + row * n + at + 64 * group + 4 * word, sizeof four);
          bytes += four * kWeights[group];
        }
        std::memcpy(out, &bytes, sizeof bytes);
      }
  pack_rest16(codes, n, at, out);
}

uint8_t code_in_band(Layout layout, const uint8_t* band, size_t n, size_t lane, size_t i) {
  const size_t whole = layout == Layout::fives16 ? n / kFives * kFives : 0;
  if (i >= whole) {
    const uint8_t byte =
        band[whole / 5 * kRowsTogether + ((i - whole) / 16 * kRowsTogether + lane) * 4 + i % 4];
    return byte >> (6 - 2 * (i / 4 % 4)) & 3;
  }
  unsigned rest = band[((i / kFives * 16 + i % 64 / 4) * kRowsTogether + lane) * 4 + i % 4];
  for (size_t group = 4; group > i % kFives / 64; --group) rest %= kWeights[group];
  return static_cast<uint8_t>(rest / kWeights[i % kFives / 64] % 3);
}

void pack_scales16(const uint16_t* scales, size_t n, uint16_t* out) {
  for (size_t row = 0; row < kRowsTogether; ++row)
    for (size_t i = 0; i < n; ++i) out[i * kRowsTogether + row] = scales[row * n + i];
}

uint32_t merge_scales16(std::vector<uint16_t>& scales, size_t n) {
  const auto equal = [&](size_t together) {
    for (size_t first = 0; first < scales.size(); first += together * kRowsTogether)
      for (size_t i = kRowsTogether; i < together * kRowsTogether; ++i)
        if (scales[first + i] != scales[first + i % kRowsTogether]) return false;
    return true;
  };
  for (size_t together = n; together > 1; --together) {
    if (n % together != 0 || !equal(together)) continue;
    for (size_t i = 0; i < scales.size() / together; ++i)
      scales[i] = scales[i / kRowsTogether * together * kRowsTogether + i % kRowsTogether];
    scales.resize(scales.size() / together);
    return static_cast<uint32_t>(together);
  }
  return 1;
}

int lift_subnormals(std::span<uint16_t> scales) {
  constexpr int kMantissaBits = 10, kLargestExponent = 30;
  constexpr unsigned kMagnitude = 0x7FFF, kSign = 0x8000, kOne = 1 << kMantissaBits;
  unsigned largest = 0;
  bool some = false;
  for (const uint16_t s : scales) {
    const unsigned magnitude = s & kMagnitude;
    largest = std::max(largest, magnitude);
    some |= magnitude != 0 && magnitude < kOne;
  }
  if (!some) return 0;
  const int k = std::min(kMantissaBits, kLargestExponent - static_cast<int>(largest >> kMantissaBits));
  for (uint16_t& s : scales) {
    unsigned magnitude = s & kMagnitude;
    int left = k;
    for (; left > 0 && magnitude < kOne; --left)
      magnitude *= 2;  // the first that is normal has the exponent 1
    if (magnitude != 0 && left > 0) magnitude += static_cast<unsigned>(left) << kMantissaBits;
    s = static_cast<uint16_t>((s & kSign) | magnitude);
  }
  return k;
}

double bound_of_scales(const uint16_t* scales, size_t n, uint32_t scale_every) {
  double sum = 0, largest = 0;
  for (size_t i = 0; i < n; ++i) {
    const double magnitude = std::abs(layouts::from_half(scales[i]));
    sum += magnitude;
    largest = std::max(largest, magnitude);
  }
  return std::max(sum * (scale_every / 64), 256 * largest);  // a NaN is in the first, which max then gives
}

float fixed_for(double largest_bound) {
  if (largest_bound == 0) return 1;
  int exponent = 0;  // 2^30 / bound = mantissa * 2^exponent, mantissa from 1/2 to 1
  std::frexp(0x1p30 / (largest_bound * 64 * kLargestInput), &exponent);
  return std::ldexp(1.0F, exponent - 1);
}

uint32_t rope_row(uint32_t row, uint32_t rope_dim) {
  const uint32_t half = rope_dim / 2;
  if (row >= rope_dim) return row;
  return row < half ? 2 * row : 2 * (row - half) + 1;
}

}  // namespace bitnet
