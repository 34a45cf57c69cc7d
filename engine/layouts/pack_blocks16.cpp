#include "pack_blocks16.h"

#include <cstring>

#include "pack.h"
#include "pack_blocks.h"

namespace bitnet {
namespace {

constexpr uint32_t kEach = 0x01010101;

uint64_t codes_of_row(const BlockType& type, uint64_t n) { return n * type.bits / 8; }

uint64_t scales_of_row(const BlockType& type, uint64_t n) {
  if (!type.has_steps) return n / type.unit * sizeof(uint16_t);
  return (n / kSteppedBlock * sizeof(uint16_t) + n / type.unit) * (type.has_min ? 2 : 1);
}

// Four codes, each plus the type's offset, as bytes.
uint32_t four_codes(const int8_t* at, int offset) {
  uint32_t word = 0;
  std::memcpy(&word, at, sizeof word);
  const uint32_t more = static_cast<uint32_t>(offset) * kEach;  // no byte carries into the next
  return ((word & 0x7F * kEach) + (more & 0x7F * kEach)) ^ ((word ^ more) & 0x80 * kEach);
}

// The words of one row and unit go to `out`, 16 words apart.
void pack_unit16(const BlockType& type, const int8_t* codes, std::byte* out) {
  constexpr size_t kStride = kRowsTogether * sizeof(uint32_t);
  const auto put = [&](size_t index, uint32_t word) {
    std::memcpy(out + index * kStride, &word, sizeof word);
  };
  uint32_t pair = 0, upper = 0;
  for (uint32_t k = 0; k < type.unit / 4; ++k) {
    const uint32_t word = four_codes(codes + size_t{k} * 4, type.offset);
    if (type.bits == 8) {
      put(k, word);
      continue;
    }
    const uint32_t low = word & 0x0F * kEach;
    pair = k % 2 == 0 ? low : pair | low << 4;
    if (k % 2 == 1) put(k / 2, pair);
    upper |= (word >> 4 & 0x0F * kEach) << k * (type.bits - 4);
  }
  if (type.bits == 5 || type.bits == 6) put(type.unit / 8, upper);
}

template <typename T>
void side_by_side(const T* from, size_t row_length, size_t index, std::byte*& to) {
  for (size_t row = 0; row < kRowsTogether; ++row, to += sizeof(T))
    std::memcpy(to, from + row * row_length + index, sizeof(T));
}

}  // namespace

BlockRowBytes block16_row_bytes(TensorType type, size_t n) {
  const BlockType& t = *find_block_type(type);
  return {codes_of_row(t, n), scales_of_row(t, n)};
}

void pack_blocks16(TensorType id, const SixteenRows& rows, size_t n, std::byte* codes, std::byte* scales) {
  const BlockType& type = *find_block_type(id);
  const size_t units = n / type.unit, blocks = type.has_steps ? n / kSteppedBlock : units;
  const size_t unit_bytes = codes_of_row(type, type.unit) * kRowsTogether;
  for (size_t row = 0; row < kRowsTogether; ++row)
    for (size_t u = 0; u < units; ++u)
      pack_unit16(type, rows.codes + row * n + u * type.unit,
                  codes + u * unit_bytes + row * sizeof(uint32_t));
  for (size_t b = 0; b < blocks; ++b) {
    side_by_side(rows.d, blocks, b, scales);
    if (type.has_min) side_by_side(rows.dmin, blocks, b, scales);
    for (size_t u = b * (units / blocks); type.has_steps && u < (b + 1) * (units / blocks); ++u) {
      side_by_side(rows.steps, units, u, scales);
      if (type.has_min) side_by_side(rows.min_steps, units, u, scales);
    }
  }
}

}  // namespace bitnet
