// The dense projections: those of blocks16, whose sums are exact integers, and those of floats, which are
// summed as the rows of a head. A product is cut into units of rows of one part (in a gated product with the
// same rows of the other part). A unit makes the values of its rows for some tokens, with the bias, and then
// does with them what Out says.
#include <algorithm>
#include <cassert>

#include "dense_matrix.h"
#include "recorder.h"

namespace bitnet::cpu {
namespace {

// The units of a product, each of up to at_once rows: of every part, or of the first alone where it is gated.
std::vector<DenseUnit> units_of(const DenseMatrix& m, bool gated, uint32_t at_once) {
  std::vector<DenseUnit> units;
  for (uint32_t p = 0; p < (gated ? 1 : m.n_parts()); ++p)
    for (uint32_t row = 0; row < m.part(p).rows; row += at_once)
      units.push_back({p, row, std::min(at_once, m.part(p).rows - row)});
  return units;
}

}  // namespace

void CpuRecorder::dense_product(const Matrix& w, const Quantised& q, const Out& out, uint32_t n) {
  const DenseMatrix m(w);
  const Inputs inputs(q, own_);
  const bool gated = out.kind == Out::Kind::gate, tiles = m.blocks() && n > kRowTokens;
  assert(!gated || (m.n_parts() == 2 && m.part(0).rows == m.part(1).rows));
  const Finish finish{out.kind, activation_of(k_, out.act), data_of<float>(out.y),
                      gated ? m.rows() / 2 : m.rows()};
  const uint32_t at_once =
      tiles ? (gated ? kBandRows : kTileRows)
            : rows_a_unit(m.rows(), m.part(0).row_bytes * (gated ? 2 : 1), m.blocks() ? kBandRows : 8);
  const std::vector<DenseUnit> units = units_of(m, gated, at_once);
  const uint32_t tokens_at_once = std::min(n, kTokensAtOnce);
  const size_t room = size_t{tokens_at_once} * (tiles ? kTileRows : 2 * size_t{at_once} + kBandRows);
  const auto work = [&k = k_, matrix = m, inputs, units, gated, tiles, finish, room, n, at_once,
                     done = rows_done_](uint32_t index, CacheLine* scratch) {
    const DenseMatrix m = matrix.with(inputs.take(scratch));
    const DenseUnit& unit = units[index];
    const DenseUnit up{1, unit.first, unit.rows};
    const size_t stride = tiles ? size_t{kTileRows} : at_once;
    auto* sums = reinterpret_cast<int32_t*>(scratch);
    auto* values = reinterpret_cast<float*>(sums + room);
    float* up_values = tiles ? values + kBandRows : values + room / 2;
    auto* rest = reinterpret_cast<std::byte*>(values + (m.has_rest() ? 2 : 1) * room);
    if (tiles) m.unpack(k, unit, gated ? &up : nullptr, rest);
    for (uint32_t first = 0; first < n; first += kTokensAtOnce) {
      const uint32_t tokens = std::min(kTokensAtOnce, n - first);
      if (tiles) {
        m.multiply_tile(k, unit, gated ? &up : nullptr, first, tokens, rest, sums, values);
      } else {
        m.multiply(k, unit, first, tokens, stride, rest, sums, values);
        if (gated) m.multiply(k, up, first, tokens, stride, rest, sums, up_values);
      }
      if (m.has_rest()) {
        const DenseMatrix of_rest = m.rest();
        float* more = values + room;
        if (tiles) {
          of_rest.multiply_tile(k, unit, gated ? &up : nullptr, first, tokens, rest, sums, more);
        } else {
          of_rest.multiply(k, unit, first, tokens, stride, rest, sums, more);
          if (gated) of_rest.multiply(k, up, first, tokens, stride, rest, sums, more + room / 2);
        }
        for (size_t i = 0; i < room; ++i) values[i] += more[i];
      }
      for (uint32_t t = 0; t < tokens; ++t)
        finish.run(first + t, m.part(unit.part).begin + unit.first, unit.rows, values + t * stride,
                   gated ? up_values + t * stride : nullptr);
    }
    const uint32_t row = m.part(unit.part).begin + unit.first;
    if (done && done->call) done->call(row, row + unit.rows);
  };
  step(static_cast<uint32_t>(units.size()), work,
       (m.has_rest() ? 3 : 2) * room * sizeof(float) + m.tile_bytes(n > kRowTokens ? at_once : kTableRows));
  if (tiles) return;
  for (unsigned thread = 0; thread < threads_; ++thread) {
    const UnitRange share = share_of(static_cast<uint32_t>(units.size()), thread, threads_);
    Weights weights;
    if (share.begin < share.end) {
      const DenseUnit& first = units[share.begin];
      weights.parts[0] = m.weights_from(first);
      if (gated) weights.parts[1] = m.weights_from({1, first.first, first.rows});
    }
    program_.steps.back().weights.push_back(weights);
  }
}

}  // namespace bitnet::cpu
