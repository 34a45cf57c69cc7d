// The ternary projections as rows and tiles of rows: linear.cpp and experts.cpp cut them into units.
//
// Thread rule: values.
#pragma once

#include <algorithm>
#include <array>
#include <cassert>

#include "linear.h"

namespace bitnet::cpu {

inline constexpr uint32_t kHalfTile = kTileRows / 2;
static_assert(kHalfTile == kBandRows);

// Sixteen neighbouring rows from `first` on; the row `last` stands for those behind it.
struct HalfTile {
  uint32_t first, last;
};

// A matrix and its inputs. A row is counted from the first row of the stack.
class Operands {
 public:
  struct Part {
    uint32_t begin, end;
    float scale;
    const uint8_t* codes;
    const uint16_t* scales;
  };

  explicit Operands(const Matrix& w)
      : groups_(has_bands(w.layout)),
        fives_(w.in_fives),
        n_in_(w.n_in),
        code_bytes_(code_bytes(w.in_fives ? Layout::fives16 : w.layout, w.n_in)),
        scale_every_(w.scale_every),
        fixed_(w.fixed),
        has_rest_(w.input == Input::int16_units) {
    assert(w.layout != Layout::groups && (groups_ || w.input == Input::int8_row));
    const uint8_t* codes = w.codes ? data_of<const uint8_t>(*w.codes) : nullptr;
    const uint16_t* scales = w.scales ? data_of<const uint16_t>(*w.scales) : nullptr;
    uint32_t row = 0;
    for (size_t i = 0; i < w.parts.size() && w.parts[i].rows != 0; ++i) {
      const uint32_t end = row + w.parts[i].rows;
      const uint8_t* own =
          w.part_codes[i] ? data_of<const uint8_t>(*w.part_codes[i]) : codes + row * code_bytes_;
      parts_[i] = {row, end, w.parts[i].scale, own,
                   groups_ ? scales + row * (n_in_ / scale_every_) : nullptr};
      row = end;
    }
    rows_ = row;
  }

  Operands with(const Rounded& inputs) const {
    Operands o = *this;
    o.in_ = inputs;
    return o;
  }
  uint32_t rows() const { return rows_; }
  const Part& part(size_t i) const { return parts_[i]; }
  // Rows that a unit takes a multiple of, and the bytes of a row. A single band of short rows would be done
  // so soon that what a unit costs besides shows.
  uint32_t rows_together() const {
    constexpr uint64_t kShort = 1024;
    return groups_ || fives_ ? (row_bytes() < kShort ? 2 : 1) * kBandRows : 8;
  }
  // Up to so many tokens the rows are used as they lie.
  uint32_t row_tokens(const CpuKernels& k) const { return fives_ ? k.fives_row_tokens : kTernaryRowTokens; }
  uint64_t row_bytes() const { return code_bytes_ + (groups_ ? n_in_ / scale_every_ * sizeof(uint16_t) : 0); }

  // What the sums of a part's rows and a token are multiplied by, and what is subtracted from them first
  float factor(const Part& part, uint32_t token) const { return part.scale / in_.info[token].s; }
  int32_t q_sum(uint32_t token) const { return groups_ ? 0 : in_.info[token].sum; }

  // f(first, end, part) for the pieces of [begin, end) that are of one part each
  template <typename F>
  void pieces(uint32_t begin, uint32_t end, F f) const {
    while (begin < end) {
      const Part& p = part_of(begin);
      const uint32_t piece_end = std::min(end, p.end);
      f(begin, piece_end, p);
      begin = piece_end;
    }
  }

  // The codes of rows [first, end), as far as they lie together.
  std::span<const std::byte> codes(uint32_t first, uint32_t end) const {
    if (first >= end) return {};
    const Part& part = part_of(first);
    const auto row = [&](uint32_t r) { return part.codes + size_t{r - part.begin} * code_bytes_; };
    return std::as_bytes(std::span(row(first), row(std::min(end, part.end))));
  }

  // The sums of rows of one part with n_tokens, `stride` apart. In groups there is room for whole bands.
  void multiply_rows(const CpuKernels& k, const Part& part, uint32_t first, uint32_t n_rows, uint32_t token,
                     uint32_t n_tokens, size_t stride, int32_t* sums) const {
    const uint8_t* codes = part.codes + size_t{first - part.begin} * code_bytes_;
    const int8_t* q = in_.q + size_t{token} * n_in_;
    if (fives_) return k.fives_rows(codes, n_in_, ceil_div(n_rows, kBandRows), q, n_tokens, stride, sums);
    if (!groups_) return k.ternary_rows(codes, n_in_, n_rows, q, n_tokens, stride, sums);
    const uint32_t in_band = first % kBandRows;  // a part may begin in a band of the one before it
    const auto row = static_cast<ptrdiff_t>(first - part.begin) - static_cast<ptrdiff_t>(in_band);
    const uint16_t* scales = part.scales + row * static_cast<ptrdiff_t>(n_in_ / scale_every_);
    k.group_rows({codes - in_band * code_bytes_, scales, n_in_, scale_every_, fixed_},
                 ceil_div(in_band + n_rows, kBandRows), in_.groups(token, n_in_, has_rest_), n_tokens, stride,
                 sums);
    for (uint32_t t = 0; t < n_tokens && in_band != 0; ++t, sums += stride)
      std::copy_n(sums + in_band, n_rows, sums);
  }

  // A tile is its codes and, in groups, its scales.
  size_t tile_bytes() const {
    return size_t{n_in_} * kTileRows +
           (groups_ ? size_t{n_in_ / scale_every_} * kTileRows * sizeof(float) : 0);
  }
  void unpack(const CpuKernels& k, const HalfTile (&halves)[2], uint8_t* tile) const {
    if (!groups_ && !fives_) {
      const uint8_t* rows[kTileRows];
      for (uint32_t r = 0; r < kTileRows; ++r) {
        const HalfTile& half = halves[r / kHalfTile];
        const uint32_t row = std::min(half.first + r % kHalfTile, half.last);
        const Part& part = part_of(row);
        rows[r] = part.codes + size_t{row - part.begin} * code_bytes_;
      }
      return k.unpack_tile(rows, n_in_, tile);
    }
    const uint8_t* bands[2];
    const uint16_t* scales[2];
    for (uint32_t h = 0; h < 2; ++h) {
      const uint32_t row = std::min(halves[h].first, halves[h].last / kBandRows * kBandRows);
      const Part& part = part_of(row);
      bands[h] = part.codes + size_t{row - part.begin} * code_bytes_;
      if (groups_) scales[h] = part.scales + size_t{row - part.begin} * (n_in_ / scale_every_);
    }
    if (fives_) return k.unpack_fives(bands, n_in_, tile);
    k.unpack_bands(bands, n_in_, tile);
    k.unpack_scales(scales, n_in_ / scale_every_, fixed_, tile_scales(tile));
  }
  // sums [n_tokens][kTileRows]
  void multiply_tile(const CpuKernels& k, uint8_t* tile, uint32_t token, uint32_t n_tokens,
                     int32_t* sums) const {
    if (!groups_) return k.tile_product(tile, n_in_, in_.q + size_t{token} * n_in_, n_tokens, sums);
    k.group_tile({tile, tile_scales(tile), n_in_, scale_every_}, in_.groups(token, n_in_, has_rest_),
                 n_tokens, sums);
  }

 private:
  const Part& part_of(uint32_t row) const {
    size_t i = 0;
    while (row >= parts_[i].end) ++i;
    return parts_[i];
  }
  float* tile_scales(uint8_t* tile) const {
    return reinterpret_cast<float*>(tile + size_t{n_in_} * kTileRows);
  }

  bool groups_, fives_;  // rows have scales, or lie in Layout::fives16 without them
  uint32_t n_in_;
  size_t code_bytes_;  // of a row
  uint32_t scale_every_;
  float fixed_;
  bool has_rest_;  // Input::int16_units
  Rounded in_{};
  std::array<Part, 3> parts_{};
  uint32_t rows_ = 0;
};

inline constexpr size_t kTileSums = size_t{kTokensAtOnce} * kTileRows * sizeof(int32_t);

// Unpacks a tile into scratch, and calls output(token, its kTileRows sums).
template <typename Output>
void for_each_token(const CpuKernels& k, const Operands& operands, const HalfTile (&halves)[2], uint32_t n,
                    CacheLine* scratch, Output output) {
  auto* sums = reinterpret_cast<int32_t*>(scratch);
  auto* tile = reinterpret_cast<uint8_t*>(scratch) + kTileSums;
  operands.unpack(k, halves, tile);
  for (uint32_t first = 0; first < n; first += kTokensAtOnce) {
    const uint32_t tokens = std::min(kTokensAtOnce, n - first);
    operands.multiply_tile(k, tile, first, tokens, sums);
    for (uint32_t t = 0; t < tokens; ++t) output(first + t, sums + t * kTileRows);
  }
}

}  // namespace bitnet::cpu
