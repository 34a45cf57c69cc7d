// The dense projections as rows and tiles of rows: linear_dense.cpp and experts.cpp cut them into units.
//
// Thread rule: values.
#pragma once

#include <algorithm>
#include <array>

#include "engine/layouts/blocks.h"
#include "engine/layouts/file_types.h"
#include "engine/layouts/pack_blocks16.h"
#include "linear.h"

namespace bitnet::cpu {

struct DensePart {
  uint32_t begin = 0, rows = 0;  // of the stack
  float scale = 0;
  const float* bias = nullptr;  // of its first row
  BlockBands bands{};           // blocks16
  TableRows table{};            // floats
  uint64_t row_bytes = 0;
};

// Some rows of a part, counted from its first one.
struct DenseUnit {
  uint32_t part, first, rows;
};

class DenseMatrix {
 public:
  explicit DenseMatrix(const Matrix& w)
      : blocks_(w.layout == Layout::blocks16), has_rest_(w.input == Input::int16_units), n_in_(w.n_in) {
    const float* bias = w.bias ? data_of<const float>(*w.bias) : nullptr;
    for (const Matrix::Part& from : w.parts) {
      if (from.rows == 0) break;
      DensePart& part = parts_[n_parts_++];
      part.begin = rows_;
      part.rows = from.rows;
      part.scale = from.scale;
      part.bias = bias ? bias + rows_ : nullptr;
      if (blocks_) {
        const BlockType& type = *find_block_type(from.type);
        part.bands = {data_of<const uint8_t>(*from.codes),
                      data_of<const uint8_t>(*from.scales),
                      n_in_,
                      type.bits,
                      type.has_min,
                      from.fixed};
        part.row_bytes = (part.bands.band_codes() + part.bands.band_scales()) / kBandRows;
        units_of_row_ = std::max(units_of_row_, n_in_ / type.unit);
      } else {
        part.row_bytes = find_file_type(from.type)->row_bytes(n_in_);
        part.table = {data_of<const std::byte>(*from.codes), part.row_bytes, n_in_, from.type};
      }
      rows_ += from.rows;
    }
  }

  DenseMatrix with(const Rounded& inputs) const {
    DenseMatrix m = *this;
    m.in_ = inputs;
    return m;
  }
  // With what the rounding of its inputs leaves in place of these, and without the bias. Requires: has_rest.
  DenseMatrix rest() const {
    DenseMatrix m = with(in_.rest());
    for (DensePart& part : m.parts_) part.bias = nullptr;
    return m;
  }
  bool has_rest() const { return has_rest_; }
  bool blocks() const { return blocks_; }
  uint32_t rows() const { return rows_; }
  uint32_t n_parts() const { return n_parts_; }
  const DensePart& part(uint32_t i) const { return parts_[i]; }
  // Bytes of scratch that a tile of blocks takes, or so many rows as floats
  size_t tile_bytes(uint32_t float_rows) const {
    return blocks_ ? size_t{n_in_} * kTileRows + size_t{2} * units_of_row_ * kTileRows * sizeof(float)
                   : size_t{n_in_} * float_rows * sizeof(float);
  }

  // values [n_tokens][stride] = rows of a part for tokens from `token` on, and their bias.
  void multiply(const CpuKernels& k, const DenseUnit& unit, uint32_t token, uint32_t n_tokens, size_t stride,
                std::byte* scratch, int32_t* sums, float* values) const {
    const DensePart& part = parts_[unit.part];
    if (!blocks_) {
      multiply_floats(k, part.table, unit, token, n_tokens, stride, reinterpret_cast<float*>(scratch),
                      values);
      for (uint32_t t = 0; t < n_tokens && part.scale != 1; ++t)
        for (uint32_t r = 0; r < unit.rows; ++r) values[t * stride + r] *= part.scale;
      return add_bias(part, unit, n_tokens, stride, values);
    }
    const BlockBands bands = bands_at(part, unit.first);
    for (uint32_t t = 0; t < n_tokens; ++t) {
      k.block_rows(bands, ceil_div(unit.rows, kBandRows), in_.blocks(token + t, n_in_), sums);
      k.scale_sums(sums, unit.rows, 0, part.scale / in_.info[token + t].s, values + t * stride);
    }
    add_bias(part, unit, n_tokens, stride, values);
  }

  // A tile of two bands: of the one unit, or of both.
  void unpack(const CpuKernels& k, const DenseUnit& unit, const DenseUnit* other, std::byte* tile) const {
    const DensePart& part = parts_[unit.part];
    auto* codes = reinterpret_cast<uint8_t*>(tile);
    k.unpack_block_band(bands_at(part, unit.first), 0, codes, scales_of(tile), minima_of(tile));
    const uint32_t second = unit.first + kBandRows < part.rows ? unit.first + kBandRows : unit.first;
    k.unpack_block_band(other ? bands_at(parts_[other->part], other->first) : bands_at(part, second), 1,
                        codes, scales_of(tile), minima_of(tile));
  }
  // values [n_tokens][kTileRows]
  void multiply_tile(const CpuKernels& k, const DenseUnit& unit, const DenseUnit* other, uint32_t token,
                     uint32_t n_tokens, std::byte* tile, int32_t* sums, float* values) const {
    const DensePart& part = parts_[unit.part];
    k.block_tile({reinterpret_cast<const uint8_t*>(tile), scales_of(tile),
                  part.bands.has_min ? minima_of(tile) : nullptr, n_in_, part.bands.bits},
                 in_.blocks(token, n_in_), n_tokens, sums);
    for (uint32_t t = 0; t < n_tokens; ++t) {
      const float s = in_.info[token + t].s;
      const int32_t* from = sums + t * kTileRows;
      float* to = values + t * kTileRows;
      k.scale_sums(from, unit.rows, 0, part.scale / s, to);
      if (other)
        k.scale_sums(from + kBandRows, other->rows, 0, parts_[other->part].scale / s, to + kBandRows);
    }
    add_bias(part, unit, n_tokens, kTileRows, values);
    if (other) add_bias(parts_[other->part], *other, n_tokens, kTileRows, values + kBandRows);
  }

  // The codes from the first row of a unit on
  std::span<const std::byte> weights_from(const DenseUnit& unit) const {
    const DensePart& part = parts_[unit.part];
    if (!blocks_) return {part.table.row(unit.first), (part.rows - unit.first) * part.row_bytes};
    const BlockBands bands = bands_at(part, unit.first);
    return {reinterpret_cast<const std::byte*>(bands.codes),
            bands.band_codes() * ceil_div(part.rows - unit.first, kBandRows)};
  }

 private:
  // For many tokens the rows become floats first; then some tokens after the other are multiplied with all of
  // them, while they are in the first cache.
  void multiply_floats(const CpuKernels& k, const TableRows& table, const DenseUnit& unit, uint32_t token,
                       uint32_t n_tokens, size_t stride, float* scratch, float* values) const {
    constexpr uint32_t kTogether = 4;
    const float* y = in_.y + size_t{token} * n_in_;
    if (n_tokens <= kRowTokens)
      return multiply_rows(k, table, unit.first, unit.rows, y, n_tokens, stride, values, scratch);
    const RowFloats floats = row_floats_of(k, table.type);
    for (uint32_t r = 0; r < unit.rows; ++r)
      floats(table.row(unit.first + r), n_in_, scratch + size_t{r} * n_in_);
    for (uint32_t t = 0; t < n_tokens; t += kTogether)
      k.float_tokens(scratch, n_in_, unit.rows, y + size_t{t} * n_in_, std::min(kTogether, n_tokens - t),
                     stride, values + t * stride);
  }
  static BlockBands bands_at(const DensePart& part, uint32_t row) {
    BlockBands bands = part.bands;
    bands.codes += row / kBandRows * bands.band_codes();
    bands.scales += row / kBandRows * bands.band_scales();
    return bands;
  }
  static void add_bias(const DensePart& part, const DenseUnit& unit, uint32_t n_tokens, size_t stride,
                       float* values) {
    for (uint32_t t = 0; t < n_tokens && part.bias; ++t)
      for (uint32_t r = 0; r < unit.rows; ++r) values[t * stride + r] += part.bias[unit.first + r];
  }
  float* scales_of(std::byte* tile) const {
    return reinterpret_cast<float*>(tile + size_t{n_in_} * kTileRows);
  }
  float* minima_of(std::byte* tile) const { return scales_of(tile) + size_t{units_of_row_} * kTileRows; }

  bool blocks_, has_rest_;
  uint32_t n_in_, rows_ = 0, n_parts_ = 0, units_of_row_ = 0;
  Rounded in_{};
  std::array<DensePart, 3> parts_{};
};

using Activate = void (*)(const float* x, const float* times, uint32_t n, float* y);
inline Activate activation_of(const CpuKernels& k, Act act) {
  return act == Act::relu2 ? k.relu2 : act == Act::silu ? k.silu : k.gelu;
}

// What happens to the values of some rows of a token.
struct Finish {
  Out::Kind kind;
  Activate activate;
  float* y;
  uint32_t n_out;

  void run(uint32_t token, uint32_t row, uint32_t n, const float* values, const float* up) const {
    float* to = y + size_t{token} * n_out + row;
    switch (kind) {
      case Out::Kind::store:
        return static_cast<void>(std::copy_n(values, n, to));
      case Out::Kind::add:
        for (uint32_t i = 0; i < n; ++i) to[i] += values[i];
        return;
      case Out::Kind::act:
      case Out::Kind::gate:
        return activate(values, up, n, to);
    }
  }
};

}  // namespace bitnet::cpu
