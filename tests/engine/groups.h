// Random matrices of groups with scales of their own, and their product by the formula of
// engine/backend.h.
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include "tests/engine/rounded_rows.h"

namespace bitnet {

struct Grouped {
  std::vector<int8_t> weights;   // [rows][n_in]
  std::vector<uint16_t> scales;  // F16 [rows][n_in / scale_every]
  Matrix matrix;
};

// Layout::groups, one element at a time.
inline std::vector<uint8_t> pack_in_groups(const std::vector<int8_t>& weights) {
  std::vector<uint8_t> codes(weights.size() / 4);
  for (size_t i = 0; i < weights.size(); ++i) {
    const size_t element = i % 64, byte = i / 64 * 16 + element % 16, shift = 6 - element / 16 * 2;
    codes[byte] = static_cast<uint8_t>(codes[byte] | (weights[i] + 1) << shift);
  }
  return codes;
}

inline Grouped random_groups(Backend& b, uint32_t n_in, std::vector<uint32_t> rows, uint32_t scale_every,
                             Input input, std::mt19937& rng) {
  Grouped g;
  Matrix& m = g.matrix;
  m.n_in = n_in;
  m.layout = Layout::groups;
  m.input = input;
  m.scale_every = scale_every;
  for (size_t i = 0; i < rows.size(); ++i) m.parts[i].rows = rows[i];
  g.weights = random_weights(size_t{m.rows()} * n_in, rng);
  const size_t a_row = n_in / scale_every;
  for (size_t i = 0; i < m.rows() * a_row; ++i)  // 0.0078 to 0.12 of both signs, and some zeros
    g.scales.push_back(rng() % 16 == 0 ? uint16_t{0}
                                       : static_cast<uint16_t>((rng() & 0x8000) | (0x2000 + rng() % 0x1000)));
  double most = 0;
  for (uint32_t row = 0; row < m.rows(); ++row) {
    double sum = 0, largest = 0;
    for (size_t i = 0; i < a_row; ++i) {
      const double scale = std::abs(from_half(g.scales[row * a_row + i]));
      sum += scale;
      largest = std::max(largest, scale);
    }
    most = std::max(most, std::max(sum * scale_every, largest * unit_of_input(m) * 256) * 128);
  }
  if (input == Input::int16_units) most *= 256;
  m.fixed = std::exp2(std::floor(std::log2(std::exp2(30.0F) / static_cast<float>(most)) - 1e-4F));
  for (size_t i = 0; i < rows.size(); ++i) m.parts[i].scale = std::exp2(static_cast<float>(i)) / m.fixed;
  m.codes = put(b, pack_in_groups(g.weights));
  m.scales = put(b, g.scales);
  return g;
}

// Of blocks of 256 inputs. A chain hands over what is rotated otherwise than what is not.
inline Rotation random_rotation(Backend& b, uint32_t n_in, std::mt19937& rng) {
  std::vector<float> signs(n_in);
  for (float& sign : signs) sign = rng() % 2 == 0 ? 1.0F : -1.0F;
  return {256, put(b, signs)};
}

// Room for rows of inputs of every kind of matrix of groups.
inline Quantised quantised_for(Backend& b, uint32_t n_in, uint32_t rows = 1) {
  const auto floats = [&](uint32_t n) { return put(b, std::vector<float>(n)); };
  Quantised q;
  q.q = b.allocate(rows * n_in, BufferUse::device);
  q.info = floats(2 * rows);
  q.sums = floats(rows * n_in / 64);
  q.scales = floats(rows * n_in / 64);
  q.rest_q = b.allocate(rows * n_in, BufferUse::device);
  q.turned = floats(rows * n_in);
  return q;
}

// The integer that row `row` of the matrix gives for row `t` of the input.
inline int32_t grouped_sum(const Grouped& g, uint32_t row, const RoundedRows& r, uint32_t t) {
  const Matrix& m = g.matrix;
  int32_t sum = 0;
  for (uint32_t first = 0; first < m.n_in; first += r.unit) {
    int32_t dot = 0;
    for (uint32_t i = first; i < first + r.unit; ++i)
      dot += g.weights[size_t{row} * m.n_in + i] * r.q[size_t{t} * m.n_in + i];
    const uint16_t half = g.scales[(size_t{row} * m.n_in + first) / m.scale_every];
    sum += r.rounded(dot, from_half(half) * m.fixed * r.scale(t, first));
  }
  return sum;
}

inline float grouped_result(const Grouped& g, uint32_t row, const RoundedRows& r, uint32_t t) {
  uint32_t part = 0, first = 0;
  while (row >= first + g.matrix.parts[part].rows) first += g.matrix.parts[part++].rows;
  return static_cast<float>(grouped_sum(g, row, r, t)) * (g.matrix.parts[part].scale / r.s[t]);
}

// Whether fma() rounds once on this device.
inline bool fuses(Backend& b) {
  std::mt19937 rng(3);
  const Grouped g = random_groups(b, 2048, {64}, 64, Input::int8_units, rng);
  const RoundedRows q = random_rounded_rows(b, g.matrix, 1, rng);
  const BufferPtr y = b.allocate(64 * sizeof(float), BufferUse::device);
  run(b, [&](Recorder& r) { r.product(g.matrix, q.device, store(*y), 1); });
  const auto found = get<float>(b, *y, 64);
  for (uint32_t row = 0; row < 64; ++row)
    if (found[row] != grouped_result(g, row, q, 0)) return true;
  return false;
}

}  // namespace bitnet
