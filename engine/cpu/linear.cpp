// quantise rounds the inputs of a projection. product multiplies those that are ternary; linear_dense.cpp has
// the others. A product is cut into units of rows. For decode a unit takes rows as they lie; for prefill it
// unpacks a tile of kTileRows rows, which it multiplies with all tokens. Both do so for each layout, and
// `Operands` hides which one it is.
#include "linear.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>

#include "engine/error.h"
#include "norms.h"
#include "recorder.h"

namespace bitnet::cpu {
namespace {

constexpr uint32_t kHalfTile = kTileRows / 2;
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
        n_in_(w.n_in),
        code_bytes_(code_bytes(w.layout, w.n_in)),
        scale_every_(w.scale_every),
        planes_(planes_of(w)),
        fixed_(w.fixed) {
    assert(w.layout != Layout::groups && (groups_ || planes_ == 1));
    const uint8_t* codes = w.codes ? data_of<const uint8_t>(*w.codes) : nullptr;
    const uint16_t* scales = w.scales ? data_of<const uint16_t>(*w.scales) : nullptr;
    uint32_t row = 0;
    for (size_t i = 0; i < w.parts.size() && w.parts[i].rows != 0; ++i) {
      assert(!groups_ || row % kBandRows == 0);  // only the last part may end within a band
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
  // Rows that a unit has to begin at a multiple of, and the bytes of a row
  uint32_t rows_together() const { return groups_ ? kBandRows : 8; }
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

  // The sums of rows of one part with a token. In groups there is room for whole bands.
  void multiply_rows(const CpuKernels& k, const Part& part, uint32_t first, uint32_t n_rows, uint32_t token,
                     int32_t* sums) const {
    const uint8_t* codes = part.codes + size_t{first - part.begin} * code_bytes_;
    if (!groups_) return k.ternary_rows(codes, n_in_, n_rows, in_.q + size_t{token} * n_in_, sums);
    const uint16_t* scales = part.scales + size_t{first - part.begin} * (n_in_ / scale_every_);
    k.group_rows({codes, scales, n_in_, scale_every_, fixed_, planes_}, (n_rows + kBandRows - 1) / kBandRows,
                 in_.q + size_t{token} * planes_ * n_in_, in_.sums + size_t{token} * (n_in_ / 64), sums);
  }

  // A tile is its codes and, in groups, its scales.
  size_t tile_bytes() const {
    return size_t{n_in_} * kTileRows +
           (groups_ ? size_t{n_in_ / scale_every_} * kTileRows * sizeof(float) : 0);
  }
  void unpack(const CpuKernels& k, const HalfTile (&halves)[2], uint8_t* tile) const {
    if (!groups_) {
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
      scales[h] = part.scales + size_t{row - part.begin} * (n_in_ / scale_every_);
    }
    k.unpack_bands(bands, n_in_, tile);
    k.unpack_scales(scales, n_in_ / scale_every_, fixed_, tile_scales(tile));
  }
  // sums [n_tokens][kTileRows]
  void multiply_tile(const CpuKernels& k, uint8_t* tile, uint32_t token, uint32_t n_tokens,
                     int32_t* sums) const {
    const int8_t* q = in_.q + size_t{token} * planes_ * n_in_;
    if (!groups_) return k.tile_product(tile, n_in_, q, n_tokens, sums);
    k.group_tile({tile, tile_scales(tile), n_in_, scale_every_, planes_}, q,
                 in_.sums + size_t{token} * (n_in_ / 64), n_tokens, sums);
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

  bool groups_;
  uint32_t n_in_;
  size_t code_bytes_;  // of a row
  uint32_t scale_every_, planes_;
  float fixed_;
  Rounded in_{};
  std::array<Part, 3> parts_{};
  uint32_t rows_ = 0;
};

constexpr size_t kTileSums = size_t{kTokensAtOnce} * kTileRows * sizeof(int32_t);

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

uint32_t round_up(uint32_t n, uint32_t multiple) { return (n + multiple - 1) / multiple * multiple; }

}  // namespace

Rounding::Rounding(const CpuKernels& k, const Matrix& w, const In& in)
    : k_(k),
      n_in_(w.n_in),
      planes_(planes_of(w)),
      groups_(has_bands(w.layout)),
      blocks_(w.layout == Layout::blocks16),
      floats_(w.layout == Layout::floats),
      norm_(in.norm),
      x_(data_of<const float>(in.x) + size_t{in.first_row} * w.n_in) {}

void Rounding::run(uint32_t token, const Rounded& to, float* normed) const {
  const float* row = x_ + size_t{token} * n_in_;
  if (floats_) return norm_.run(k_, row, n_in_, to.y + size_t{token} * n_in_);
  int8_t* q = to.q + size_t{token} * planes_ * n_in_;
  const float inverse = norm_.kind == Norm::Kind::rms ? norm_.inverse(k_, row, n_in_) : 1;
  if (needs_room()) {
    norm_.run(k_, row, n_in_, normed);
    row = normed;
  }
  const float* weight = needs_room() ? nullptr : norm_.weight;
  const float largest = k_.largest_normalised(row, weight, n_in_, inverse);
  const float s = planes_ == 2 ? 32512 / std::max(1e-30F, largest) : 127 / std::max(1e-5F, largest);
  to.info[token] = {s, (planes_ == 2 ? k_.quantise16 : k_.quantise)(row, weight, n_in_, inverse, s, q)};
  if (groups_) k_.sums_of_groups(q, n_in_, planes_, to.sums + size_t{token} * (n_in_ / 64));
  if (blocks_) k_.sums_of_16(q, n_in_, to.sums16 + size_t{token} * (n_in_ / 16));
}

namespace {

size_t lines_of(size_t bytes) { return ceil_div(bytes, sizeof(CacheLine)); }

}  // namespace

size_t Rounding::own_lines() const {
  const size_t floats = floats_ || needs_room() ? lines_of(n_in_ * sizeof(float)) : 0;
  return floats + (floats_ ? 0
                           : lines_of(sizeof(TokenScale)) + lines_of(size_t{n_in_} * planes_) +
                                 lines_of(n_in_ / (blocks_ ? 16 : 64) * sizeof(int32_t)));
}

// The floats, which are also the room for a normed row, are behind all else.
Rounded Rounding::own(CacheLine* memory) const {
  if (floats_) return {nullptr, nullptr, nullptr, nullptr, reinterpret_cast<float*>(memory)};
  CacheLine* q = memory + lines_of(sizeof(TokenScale));
  CacheLine* sums = q + lines_of(size_t{n_in_} * planes_);
  CacheLine* rest = sums + lines_of(n_in_ / (blocks_ ? 16 : 64) * sizeof(int32_t));
  return {reinterpret_cast<int8_t*>(q), reinterpret_cast<TokenScale*>(memory),
          reinterpret_cast<int32_t*>(sums), reinterpret_cast<int32_t*>(sums), reinterpret_cast<float*>(rest)};
}

void Rounding::run_own(CacheLine* memory) const {
  const Rounded to = own(memory);
  run(0, to, to.y);
}

Inputs::Inputs(const Quantised& q, const std::shared_ptr<const Rounding>& own) : own_(own) {
  const auto data = [](const BufferPtr& buffer) { return buffer ? data_of<std::byte>(*buffer) : nullptr; };
  buffers_ = {reinterpret_cast<int8_t*>(data(q.q)), reinterpret_cast<TokenScale*>(data(q.info)),
              reinterpret_cast<int32_t*>(data(q.sums)), reinterpret_cast<int32_t*>(data(q.sums16)),
              reinterpret_cast<float*>(data(q.y))};
}

void CpuRecorder::linear(const Matrix& w, const In& in, const Out& out, uint32_t n) {
  made_last_ = nullptr;
  if (n != 1) return Recorder::linear(w, in, out, n);
  assert(&in.x != &out.y);  // which some threads write while others still read
  own_ = std::make_shared<Rounding>(k_, w, in);
  rows_done_ = std::make_shared<RowsDone>();
  made_last_ = &out.y;
  product(w, in.q, out, n);
  own_.reset();
}

void CpuRecorder::quantise(const Matrix& w, const In& in, uint32_t n) {
  const Rounding rounding(k_, w, in);
  step(
      n,
      [rounding, inputs = Inputs(in.q, nullptr)](uint32_t t, CacheLine* scratch) {
        rounding.run(t, inputs.take(scratch), reinterpret_cast<float*>(scratch));
      },
      rounding.needs_room() ? w.n_in * sizeof(float) : 0);
}

void CpuRecorder::product(const Matrix& w, const Quantised& q, const Out& out, uint32_t n) {
  if (is_dense(w)) return dense_product(w, q, out, n);
  if (w.bias || out.kind == Out::Kind::act)
    throw Error(ErrorKind::device, "the CPU cannot run ternary projections with biases or without gates yet");
  if (out.kind == Out::Kind::gate) return gated_product(w, q, out, n);
  const auto sums_to = out.kind == Out::Kind::add ? k_.add_sums : k_.scale_sums;
  const Operands operands(w);
  const Inputs inputs(q, own_);
  const uint32_t rows = operands.rows();
  const auto output = [sums_to, rows, y = data_of<float>(out.y)](const Operands& operands, uint32_t first,
                                                                 uint32_t last, const Operands::Part& part,
                                                                 uint32_t t, const int32_t* sums) {
    sums_to(sums, last - first, operands.q_sum(t), operands.factor(part, t), y + size_t{t} * rows + first);
  };
  if (n > kRowTokens) {
    const auto work = [&k = k_, all = operands, inputs, rows, n, output](uint32_t unit, CacheLine* scratch) {
      const Operands operands = all.with(inputs.take(scratch));
      const uint32_t begin = unit * kTileRows, end = std::min(rows, begin + kTileRows);
      const HalfTile halves[] = {{begin, rows - 1}, {begin + kHalfTile, rows - 1}};
      for_each_token(k, operands, halves, n, scratch, [&](uint32_t t, const int32_t* sums) {
        operands.pieces(begin, end, [&](uint32_t first, uint32_t last, const Operands::Part& part) {
          output(operands, first, last, part, t, sums + (first - begin));
        });
      });
    };
    return step(ceil_div(rows, kTileRows), work, kTileSums + operands.tile_bytes());
  }
  const uint32_t at_once = rows_a_unit(rows, operands.row_bytes(), operands.rows_together());
  const auto work = [&k = k_, all = operands, inputs, rows, at_once, n, output, done = rows_done_](
                        uint32_t unit, CacheLine* scratch) {
    const Operands operands = all.with(inputs.take(scratch));
    auto* sums = reinterpret_cast<int32_t*>(scratch);
    const uint32_t begin = unit * at_once, end = std::min(rows, begin + at_once);
    operands.pieces(begin, end, [&](uint32_t first, uint32_t last, const Operands::Part& part) {
      for (uint32_t t = 0; t < n; ++t) {  // the codes are in the second cache after the first token
        operands.multiply_rows(k, part, first, last - first, t, sums);
        output(operands, first, last, part, t, sums);
      }
    });
    if (done && done->call) done->call(begin, end);
  };
  step(ceil_div(rows, at_once), work, at_once * sizeof(int32_t));
  reads(rows, at_once, [&](uint32_t first, uint32_t end) {
    return Weights{{operands.codes(first, end), {}}};
  });
}

static void gelu_sums(const CpuKernels& k, const int32_t* gate, const int32_t* up, uint32_t n, int32_t q_sum,
                      float gate_factor, float up_factor, float* y) {
  constexpr uint32_t kSome = 64;
  float g[kSome], u[kSome];
  for (uint32_t i = 0; i < n; i += kSome) {
    const uint32_t some = std::min(kSome, n - i);
    k.scale_sums(gate + i, some, q_sum, gate_factor, g);
    k.scale_sums(up + i, some, q_sum, up_factor, u);
    k.gelu(g, u, some, y + i);
  }
}

// A unit makes some rows of the gate and the same rows of up: half a tile of each in prefill.
void CpuRecorder::gated_product(const Matrix& w, const Quantised& q, const Out& out, uint32_t n) {
  const Operands operands(w);
  const Inputs inputs(q, own_);
  const uint32_t n_out = operands.rows() / 2;
  assert(w.parts[0].rows == n_out && w.parts[1].rows == n_out);
  const auto output = [&k = k_, act = out.act, n_out, y = data_of<float>(out.y)](
                          const Operands& operands, uint32_t begin, uint32_t rows, uint32_t t,
                          const int32_t* gate, const int32_t* up) {
    const float gate_factor = operands.factor(operands.part(0), t),
                up_factor = operands.factor(operands.part(1), t);
    float* to = y + size_t{t} * n_out + begin;
    if (act == Act::gelu) return gelu_sums(k, gate, up, rows, operands.q_sum(t), gate_factor, up_factor, to);
    (act == Act::silu ? k.silu_sums : k.gate_sums)(gate, up, rows, operands.q_sum(t), gate_factor, up_factor,
                                                   to);
  };
  if (n > kRowTokens) {
    const auto work = [&k = k_, all = operands, inputs, n_out, n, output](uint32_t unit, CacheLine* scratch) {
      const Operands operands = all.with(inputs.take(scratch));
      const uint32_t begin = unit * kHalfTile, rows = std::min(n_out - begin, kHalfTile);
      const HalfTile halves[] = {{begin, n_out - 1}, {n_out + begin, 2 * n_out - 1}};
      for_each_token(k, operands, halves, n, scratch, [&](uint32_t t, const int32_t* sums) {
        output(operands, begin, rows, t, sums, sums + kHalfTile);
      });
    };
    return step(ceil_div(n_out, kHalfTile), work, kTileSums + operands.tile_bytes());
  }
  const uint32_t at_once = rows_a_unit(operands.rows(), operands.row_bytes() * 2, operands.rows_together());
  const auto work = [&k = k_, all = operands, inputs, n_out, at_once, n, output](uint32_t unit,
                                                                                 CacheLine* scratch) {
    const Operands operands = all.with(inputs.take(scratch));
    auto* sums = reinterpret_cast<int32_t*>(scratch);
    const uint32_t begin = unit * at_once, rows = std::min(n_out - begin, at_once);
    for (uint32_t t = 0; t < n; ++t) {
      operands.multiply_rows(k, operands.part(0), begin, rows, t, sums);
      operands.multiply_rows(k, operands.part(1), n_out + begin, rows, t, sums + at_once);
      output(operands, begin, rows, t, sums, sums + at_once);
    }
  };
  step(ceil_div(n_out, at_once), work, 2 * size_t{round_up(at_once, kBandRows)} * sizeof(int32_t));
  reads(n_out, at_once, [&](uint32_t first, uint32_t end) {
    return Weights{{operands.codes(first, end), operands.codes(n_out + first, n_out + end)}};
  });
}

}  // namespace bitnet::cpu
