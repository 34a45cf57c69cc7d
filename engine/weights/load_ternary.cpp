// How ternary matrices get onto a device.
#include <fmt/format.h>

#include <cmath>

#include "engine/layouts/i2s.h"
#include "engine/layouts/pack.h"
#include "tensor_loader.h"

namespace bitnet {

static bool has_bands(const RowsToPack& rows) {
  return std::ranges::all_of(rows.parts, [](const auto& p) { return p.rows % kRowsTogether == 0; });
}

bool TensorLoader::in_fives(const RowsToPack& rows) const {
  return homes_.placement.home_of(*piece_) == Home::host && backend_.host_has_fives() && has_bands(rows);
}

void TensorLoader::count_fives(const Matrix& m) {
  if (homes_.placement.fives) return;  // it knows
  const uint64_t saved = m.rows() * (code_bytes(m.layout, m.n_in) - code_bytes(Layout::fives16, m.n_in));
  Placement& p = homes_.placement;
  p.in_host -= saved;
  p.read_in_host -= saved;
  for (WeightPiece& piece : p.pieces)
    if (piece.tensor == piece_) piece.bytes -= saved, piece.read -= saved;
}

void TensorLoader::load_trits_in_fives(const RowsToPack::Part& part, uint32_t first_row, Matrix& m) {
  GgufTensor tensor = *part.tensor;
  const auto in_file = tensor.data.first(tensor.data.size() - kI2sTail);
  tensor.data = block128_in_order({&tensor, part.rows}, in_file, m.n_in / 4);
  RowsToPack rows{{part}, m.n_in};
  rows.parts[0].tensor = &tensor;
  Repacker repacker(file_.path, Layout::fives16, Layout::fives16, rows, m.n_in);
  const uint64_t row_bytes = code_bytes(Layout::fives16, m.n_in);
  const uint32_t step = rows_a_step(row_bytes);
  for (uint32_t row = 0; row < part.rows; row += step) {
    const uint32_t last = std::min(part.rows, row + step);
    backend_.upload(*m.codes, (first_row + row) * row_bytes, repacker.pack(row, last).codes);
    count((last - row) * uint64_t{m.n_in / 4});
  }
}

void TensorLoader::load_trits(const RowsToPack& rows, Matrix& m) {
  const bool everywhere = backend_.group_layout() == Layout::fives16 && has_bands(rows) && !homes_.read_again;
  m.in_fives = m.n_expert == 0 && (everywhere || in_fives(rows));
  if (m.in_fives) m.codes = allocate(m.rows() * code_bytes(Layout::fives16, m.n_in));
  if (m.in_fives && !everywhere) count_fives(m);
  uint32_t first_row = 0;
  const uint64_t row_bytes = m.n_in / 4;
  uint64_t at = 0;
  for (size_t i = 0; i < rows.parts.size(); ++i) {
    const RowsToPack::Part& part = rows.parts[i];
    m.parts[i].scale *= i2s_scale(part.tensor->data);
    const auto in_file = part.tensor->data.first(part.tensor->data.size() - kI2sTail);
    if (i2s_rows_have_code_3(in_file, part.rows))
      throw Error(
          ErrorKind::model,
          fmt::format(
              "{}: tensor {} holds a code of 3, wanted ternary weights: the file is damaged or not I2_S",
              printable(file_.path), printable(part.tensor->name)));
    if (m.in_fives) {
      load_trits_in_fives(part, first_row, m);
      let_go(in_file);
      first_row += part.rows;
      continue;
    }
    const bool as_it_lies = layout_ == I2sLayout::block128 && part.head_dim == 0;
    if (as_it_lies && (m.part_codes[i] = adopt(part, in_file))) {
      count(in_file.size());
    } else {
      if (!m.codes) m.codes = allocate(row_bytes * m.rows());
      put(*m.codes, at, as_it_lies ? in_file : block128_in_order(part, in_file, row_bytes));
      let_go(in_file);
    }
    at += in_file.size();
  }
}

std::span<const std::byte> TensorLoader::block128_in_order(const RowsToPack::Part& part,
                                                           std::span<const std::byte> codes,
                                                           uint64_t row_bytes) {
  if (layout_ != I2sLayout::block128) {
    if (layout_ == I2sLayout::rows1x4 && part.rows % 4 != 0)
      throw Error(ErrorKind::model, fmt::format("{}: tensor {} has {} rows, wanted a multiple of 4 for 1x4",
                                                printable(file_.path), part.tensor->name, part.rows));
    repacked_.resize(codes.size());
    if (layout_ == I2sLayout::block64)
      i2s_block64_to_block128(codes, repacked_);
    else
      i2s_1x4_to_block128(codes, row_bytes * 4, repacked_);
    codes = repacked_;
  }
  return part.head_dim == 0 ? codes : rows_in_order(part, codes, row_bytes);
}

RowsByExpert TensorLoader::by_expert(const RowsToPack& stacked, Matrix& m) {
  Matrix::Part* to = m.parts.data();
  return rows_by_expert(stacked, m.n_expert, [&](const RowsToPack::Part& part) {
    const auto data = part.tensor->data;
    if (part.tensor->type != TensorType::i2_s) return data;
    (to++)->scale *= i2s_scale(data);
    return block128_in_order(part, data.first(data.size() - kI2sTail), stacked.n_in / 4);
  });
}

void TensorLoader::load_groups(const RowsToPack& stacked, Matrix& m) {
  m.layout = backend_.group_layout();
  const auto experts = is_by_expert(m) ? by_expert(stacked, m) : RowsByExpert();
  const RowsToPack& rows = is_by_expert(m) ? experts.rows : stacked;
  const bool i2_s = rows.parts[0].tensor->type == TensorType::i2_s;
  const uint32_t of_file = i2_s ? rows.n_in : find_file_type(rows.parts[0].tensor->type)->scale_every;
  m.in_fives = m.n_expert == 0 && in_fives(rows);
  const Layout layout = m.in_fives ? Layout::fives16 : m.layout;
  if (m.in_fives) count_fives(m);
  Repacker repacker(file_.path, layout, m.layout, rows, of_file);
  const Packed packed = load_packed(repacker, layout, rows, 0, m.rows(), of_file);
  m.codes = packed.codes, m.scales = packed.scales;
  m.scale_every = packed.scale_every;
  m.fixed = fixed_for(repacker.largest_bound() * steps_of(m.input) * unit_of_input(m) / 64);
  for (Matrix::Part& part : m.parts) part.scale /= m.fixed;
  m.fixed = std::ldexp(m.fixed, -packed.lifted);  // kernels multiply each scale by it
}

TensorLoader::Packed TensorLoader::load_packed(Repacker& repacker, Layout layout, const RowsToPack& rows,
                                               uint32_t begin, uint32_t end, uint32_t scale_every) {
  const uint64_t row_bytes = code_bytes(layout, rows.n_in);
  const uint64_t scale_bytes = rows.n_in / scale_every * sizeof(uint16_t);
  const uint64_t n = in_whole_sets(end - begin);
  const bool whole = begin == 0 && end == rows.rows(), in_bands = has_bands(backend_.group_layout());
  const bool merges = in_bands && whole;
  Packed packed{allocate(n * row_bytes), merges ? nullptr : allocate(n * scale_bytes), scale_every};
  std::vector<uint16_t> all_scales;
  all_scales.reserve(n * scale_bytes / sizeof(uint16_t));
  const uint32_t step = rows_a_step(row_bytes);
  for (uint32_t row = begin; row < end; row += step) {
    const uint32_t last = std::min(end, row + step);
    const PackedRows& some = repacker.pack(row, last);
    backend_.upload(*packed.codes, (row - begin) * row_bytes, some.codes);
    all_scales.insert(all_scales.end(), some.scales.begin(), some.scales.end());
    const GgufTensor* tensor = nullptr;
    rows.row(row, tensor);
    count((last - row) * find_file_type(tensor->type)->row_bytes(rows.n_in));
  }
  if (end == rows.rows())
    for (const RowsToPack::Part& part : rows.parts) let_go(part.tensor->data);
  if (merges) {
    packed.scale_every *= merge_scales16(all_scales, rows.n_in / scale_every);
    packed.scales = allocate(all_scales.size() * sizeof(uint16_t));
  } else if (whole && !in_bands) {
    packed.lifted = lift_subnormals(all_scales);
  }
  backend_.upload(*packed.scales, 0, std::as_bytes(std::span(all_scales)));
  return packed;
}

}  // namespace bitnet
