// Random matrices of blocks and of floats, and their product by the formulas of
// engine/layouts/blocks.h and engine/backend.h.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include "engine/gguf.h"
#include "engine/layouts/blocks.h"
#include "engine/layouts/pack_blocks.h"
#include "tests/engine/rounded_rows.h"

namespace bitnet {

// Rows as in a file. Their F16 scales are of both signs, some subnormal and none above 1/16; floats are as
// small.
inline std::vector<std::byte> random_file_rows(TensorType type, size_t rows, size_t n, std::mt19937& rng) {
  const FileType& t = *find_file_type(type);
  std::vector<std::byte> bytes(rows * t.row_bytes(n));
  for (std::byte& b : bytes) b = static_cast<std::byte>(rng());
  std::vector<size_t> halves{0};
  if (has_min(type)) halves = {0, 2};
  if (type == TensorType::q6_k) halves = {208};
  for (size_t at = 0; at < bytes.size(); at += t.block_bytes)
    for (const size_t half : halves) {
      const auto bits = static_cast<uint16_t>((rng() & 0x8000) | rng() % 0x2C00);
      std::memcpy(&bytes[at + half], &bits, sizeof bits);
    }
  return bytes;
}

// A matrix of blocks for Vulkan, and what its tensors hold.
struct Blocks {
  struct Part {
    uint32_t unit = 32;
    std::vector<int8_t> codes;  // [rows][n_in]
    std::vector<float> d, m;    // [rows][n_in / unit]; m may be empty
  };
  std::vector<Part> parts;
  Matrix matrix;
};

inline Blocks random_blocks(Backend& b, uint32_t n_in, const std::vector<std::pair<TensorType, uint32_t>>& of,
                            std::mt19937& rng) {
  Blocks result;
  Matrix& w = result.matrix;
  w.n_in = n_in;
  w.layout = Layout::blocks;
  w.input = Input::int8_units;
  for (size_t i = 0; i < of.size(); ++i) {
    const auto [type, rows] = of[i];
    const uint32_t unit = find_block_type(type)->unit, units = n_in / unit;
    const std::vector<std::byte> file = random_file_rows(type, rows, n_in, rng);
    const BlockRowBytes bytes = block_row_bytes(type, n_in);
    std::vector<std::byte> codes(rows * bytes.codes), scales((rows * bytes.scales + 3) / 4 * 4);
    Blocks::Part part{unit, std::vector<int8_t>(size_t{rows} * n_in), std::vector<float>(rows * units), {}};
    if (has_min(type)) part.m.resize(part.d.size());
    BlockBound bound;
    for (size_t r = 0; r < rows; ++r) {
      const std::byte* row = &file[r * find_file_type(type)->row_bytes(n_in)];
      float* m = has_min(type) ? &part.m[r * units] : nullptr;
      unpack_blocks(type, row, n_in, &part.codes[r * n_in], &part.d[r * units], m);
      bound.add(bound_of_blocks(&part.codes[r * n_in], &part.d[r * units], m, n_in, unit));
      pack_blocks(type, row, n_in, &codes[r * bytes.codes], &scales[r * bytes.scales]);
    }
    const float fixed = fixed_for(bound);
    w.parts[i] = {rows, std::exp2(static_cast<float>(i)) / fixed, type, fixed, put(b, codes), put(b, scales)};
    result.parts.push_back(std::move(part));
  }
  return result;
}

// The integer that row `row` of a part gives for row `t` of the input.
inline int32_t blocks_sum(const Blocks& w, size_t part, uint32_t row, const RoundedRows& r, uint32_t t) {
  const Blocks::Part& p = w.parts[part];
  const float fixed = w.matrix.parts[part].fixed;
  int32_t all = 0;
  for (uint32_t u = 0; u < r.n / p.unit; ++u) {
    int32_t dot = 0, sum = 0;
    for (uint32_t i = u * p.unit; i < (u + 1) * p.unit; ++i) {
      dot += p.codes[size_t{row} * r.n + i] * r.q[size_t{t} * r.n + i];
      sum += r.q[size_t{t} * r.n + i];
    }
    const size_t unit = size_t{row} * (r.n / p.unit) + u;
    const float share = r.scale(t, u * p.unit);
    all += r.rounded(dot, p.d[unit] * fixed * share);
    if (!p.m.empty()) all -= r.rounded(sum, p.m[unit] * fixed * share);
  }
  return all;
}

// Row `row` of the whole matrix, without its bias.
inline float blocks_result(const Blocks& w, uint32_t row, const RoundedRows& r, uint32_t t) {
  size_t part = 0;
  while (row >= w.matrix.parts[part].rows) row -= w.matrix.parts[part++].rows;
  return static_cast<float>(blocks_sum(w, part, row, r, t)) * (w.matrix.parts[part].scale / r.s[t]);
}

inline double activated_value(double x, Act act) {
  if (act == Act::silu) return x / (1 + std::exp(-x));
  if (act == Act::gelu)
    return 0.5 * x * (1 + std::tanh(std::sqrt(2 / 3.14159265358979323846) * (x + 0.044715 * x * x * x)));
  return x > 0 ? x * x : 0;
}

}  // namespace bitnet
