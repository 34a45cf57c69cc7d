#include "pack_blocks.h"

#include <cstring>
#include <vector>

namespace bitnet {
namespace {

constexpr size_t kRun = 32;

// The words of a run that hold what is above the lowest four bits of its codes.
size_t high_words(const BlockType& t) { return t.bits == 8 ? 0 : t.bits - 4; }

void pack_bytes(const int8_t* codes, size_t n, std::byte* out) {
  for (size_t run = 0; run < n / kRun; ++run)
    for (size_t half = 0; half < 2; ++half)
      std::memcpy(out + (half * (n / kRun) + run) * 16, codes + run * kRun + half * 16, 16);
}

void pack_fours(const int8_t* codes, size_t n, std::byte* out) {
  for (; n != 0; n -= kRun, codes += kRun, out += 16)
    for (size_t b = 0; b < 16; ++b)
      out[b] = static_cast<std::byte>((codes[b] & 15) | (codes[16 + b] & 15) << 4);
}

void pack_high(const int8_t* codes, size_t n, uint32_t bits, std::byte* out) {
  const uint32_t width = bits - 4, a_word = 8 / width * 4;  // inputs
  for (size_t i = 0; i < n; i += a_word, out += sizeof(uint32_t)) {
    uint32_t word = 0;
    for (uint32_t k = 0; k < a_word; ++k) {
      const uint32_t high = static_cast<uint8_t>(codes[i + k]) >> 4 & ((1U << width) - 1);
      word |= high << (k / 4 * width + k % 4 * 8);
    }
    std::memcpy(out, &word, sizeof word);
  }
}

}  // namespace

BlockRowBytes block_row_bytes(TensorType type, size_t n) {
  const BlockType& t = *find_block_type(type);
  const size_t runs = n / kRun, high = (high_words(t) * 4 * runs + 15) / 16 * 16;
  return {(t.bits == 8 ? 32 * runs : 16 * runs + high), 2 * runs + (t.has_steps ? n / kSteppedBlock * 4 : 0)};
}

void pack_blocks(TensorType type, const std::byte* row, size_t n, std::byte* codes, std::byte* scales) {
  const BlockType& t = *find_block_type(type);
  const size_t runs = n / kRun, block = t.has_steps ? kSteppedBlock : kRun;
  std::vector<int8_t> unpacked(n);
  t.codes(row, n, unpacked.data());
  if (t.bits == 8) {
    pack_bytes(unpacked.data(), n, codes);
  } else {
    std::memset(codes, 0, block_row_bytes(type, n).codes);
    pack_fours(unpacked.data(), n, codes);
    if (high_words(t) != 0) pack_high(unpacked.data(), n, t.bits, codes + 16 * runs);
  }
  std::vector<uint16_t> d(n / block), dmin(n / block);
  std::vector<int8_t> steps(n / t.unit), min_steps(n / t.unit);
  t.scales(row, n, d.data(), steps.data(), dmin.data(), min_steps.data());
  if (!t.has_steps) {
    std::memcpy(scales, d.data(), 2 * runs);
    return;
  }
  for (size_t run = 0; run < runs; ++run, scales += 2) {
    scales[0] = static_cast<std::byte>(t.unit == 16 ? steps[2 * run] : steps[run]);
    scales[1] = static_cast<std::byte>(t.unit == 16 ? steps[2 * run + 1] : min_steps[run]);
  }
  for (size_t b = 0; b < n / block; ++b, scales += 4) {
    std::memcpy(scales, &d[b], 2);
    std::memcpy(scales + 2, &dmin[b], 2);
  }
}

}  // namespace bitnet
