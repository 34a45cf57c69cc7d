// quantise rounds the inputs of a projection. product multiplies those that are ternary; linear_dense.cpp has
// the others. A product is cut into units of rows. For decode a unit takes rows as they lie; for prefill it
// unpacks a tile of kTileRows rows, which it multiplies with all tokens. Both do so for each layout, and
// `Operands` (operands.h) hides which one it is.
#include "linear.h"

#include <algorithm>
#include <cassert>
#include <cmath>

#include "dense_matrix.h"
#include "engine/error.h"
#include "norms.h"
#include "operands.h"
#include "recorder.h"

namespace bitnet::cpu {
namespace {

uint32_t round_up(uint32_t n, uint32_t multiple) { return (n + multiple - 1) / multiple * multiple; }

// Units of a product of n tokens that are done at once.
uint32_t units_together(uint32_t n) { return n == 1 ? 4 : 1; }

}  // namespace

void CpuRecorder::linear(const Matrix& w, const In& in, const Out& out, uint32_t n) {
  if (w.rotation && !in.is_turned) return linear(w, turned(w, in, n), out, n);
  const std::shared_ptr<RowsDone> before = made_last_ == &in.x && in.first_row == 0 ? rows_done_ : nullptr;
  rows_done_.reset();
  if (n != 1 && !are_few(w, n)) return Recorder::linear(w, in, out, n);
  assert(&in.x != &out.y);  // which some threads write while others still read
  const auto rounding = std::make_shared<Rounding>(k_, w, in, n);
  if (n == 1 && before && before->n == w.n_in && rounding->takes_units()) {
    // The product before this one may still read its own inputs while its results are being rounded.
    std::swap(made_units_[0], made_units_[1]);
    if (!made_units_[0]) made_units_[0] = std::make_shared<MadeUnits>();
    made_units_[0]->reserve(w.n_in);
    before->call = rounding->take_from(made_units_[0]);
  }
  own_ = rounding;
  rows_done_ = std::make_shared<RowsDone>(RowsDone{out.kind == Out::Kind::gate ? w.rows() / 2 : w.rows()});
  product(w, in.q, out, n);
  made_last_ = &out.y;
  own_.reset();
}

// Whether each thread rounds several tokens for itself. It takes as long as all of them together, so they
// have to be few.
bool CpuRecorder::are_few(const Matrix& w, uint32_t n) const {
  constexpr uint64_t kFewValues = 8192;
  return !is_dense(w) && n <= Operands(w).row_tokens(k_) && uint64_t{n} * w.n_in <= kFewValues;
}

void CpuRecorder::quantise(const Matrix& w, const In& in, uint32_t n) {
  const Rounding rounding(k_, w, in);
  step(
      n,
      [rounding, inputs = Inputs(in.q, nullptr)](uint32_t t, CacheLine* scratch) {
        rounding.run(t, inputs.take(scratch), scratch);
      },
      rounding.room());
}

void CpuRecorder::product(const Matrix& w, const Quantised& q, const Out& out, uint32_t n) {
  const size_t first = program_.steps.size();
  multiply(w, q, out, n);
  if (w.in_file == kNotInFile) return;
  program_.from_file.push_back({first, program_.steps.size(), w.in_file});
  for (size_t i = first; i < program_.steps.size(); ++i) program_.steps[i].weights.clear();  // not there yet
}

void CpuRecorder::multiply(const Matrix& w, const Quantised& q, const Out& out, uint32_t n) {
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
  if (n > operands.row_tokens(k_)) {
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
  const uint32_t together = units_together(n);
  const size_t stride = round_up(at_once * together, kBandRows);
  const auto work = [&k = k_, all = operands, inputs, rows, at_once, stride, n, output, done = rows_done_](
                        UnitRange units, CacheLine* scratch) {
    const Operands operands = all.with(inputs.take(scratch));
    auto* sums = reinterpret_cast<int32_t*>(scratch);
    const uint32_t begin = units.begin * at_once, end = std::min(rows, units.end * at_once);
    operands.pieces(begin, end, [&](uint32_t first, uint32_t last, const Operands::Part& part) {
      operands.multiply_rows(k, part, first, last - first, 0, n, stride, sums);
      for (uint32_t t = 0; t < n; ++t) output(operands, first, last, part, t, sums + t * stride);
    });
    if (done && done->call) done->call(begin, end);
  };
  add_step({.units = ceil_div(rows, at_once), .work = work, .together = together},
           n * stride * sizeof(int32_t));
  reads(rows, at_once, [&](uint32_t first, uint32_t end) {
    return Weights{{operands.codes(first, end), {}}};
  });
}

namespace {

// The sums of some rows of the gate and of up.
struct GateSums {
  const int32_t *gate, *up;
};

// What a gated product gives of some rows and a token.
void finish_gates(const CpuKernels& k, Act act, const Operands& operands, uint32_t t, const GateSums& sums,
                  uint32_t n, float* y) {
  const float gate_factor = operands.factor(operands.part(0), t),
              up_factor = operands.factor(operands.part(1), t);
  const int32_t q_sum = operands.q_sum(t);
  if (act != Act::gelu)
    return (act == Act::silu ? k.silu_sums : k.gate_sums)(sums.gate, sums.up, n, q_sum, gate_factor,
                                                          up_factor, y);
  constexpr uint32_t kSome = 64;
  float g[kSome], u[kSome];
  for (uint32_t i = 0; i < n; i += kSome) {
    const uint32_t some = std::min(kSome, n - i);
    k.scale_sums(sums.gate + i, some, q_sum, gate_factor, g);
    k.scale_sums(sums.up + i, some, q_sum, up_factor, u);
    k.gelu(g, u, some, y + i);
  }
}

}  // namespace

// A unit makes some rows of the gate and the same rows of up: half a tile of each in prefill.
void CpuRecorder::gated_product(const Matrix& w, const Quantised& q, const Out& out, uint32_t n) {
  const Operands operands(w);
  const Inputs inputs(q, own_);
  const uint32_t n_out = operands.rows() / 2;
  assert(w.parts[0].rows == n_out && w.parts[1].rows == n_out);
  const auto output = [&k = k_, act = out.act, n_out, y = data_of<float>(out.y)](
                          const Operands& operands, uint32_t begin, uint32_t rows, uint32_t t,
                          const GateSums& sums) {
    finish_gates(k, act, operands, t, sums, rows, y + size_t{t} * n_out + begin);
  };
  if (n > operands.row_tokens(k_)) {
    const auto work = [&k = k_, all = operands, inputs, n_out, n, output](uint32_t unit, CacheLine* scratch) {
      const Operands operands = all.with(inputs.take(scratch));
      const uint32_t begin = unit * kHalfTile, rows = std::min(n_out - begin, kHalfTile);
      const HalfTile halves[] = {{begin, n_out - 1}, {n_out + begin, 2 * n_out - 1}};
      for_each_token(k, operands, halves, n, scratch, [&](uint32_t t, const int32_t* sums) {
        output(operands, begin, rows, t, {sums, sums + kHalfTile});
      });
    };
    return step(ceil_div(n_out, kHalfTile), work, kTileSums + operands.tile_bytes());
  }
  const uint32_t at_once = rows_a_unit(operands.rows(), operands.row_bytes() * 2, operands.rows_together());
  const uint32_t together = units_together(n);
  const size_t stride = round_up(at_once * together, kBandRows);
  const auto work = [&k = k_, all = operands, inputs, n_out, at_once, stride, n, output, done = rows_done_](
                        UnitRange units, CacheLine* scratch) {
    const Operands operands = all.with(inputs.take(scratch));
    const uint32_t begin = units.begin * at_once, rows = std::min(n_out, units.end * at_once) - begin;
    auto* sums = reinterpret_cast<int32_t*>(scratch);
    operands.multiply_rows(k, operands.part(0), begin, rows, 0, n, stride, sums);
    operands.multiply_rows(k, operands.part(1), n_out + begin, rows, 0, n, stride, sums + n * stride);
    for (uint32_t t = 0; t < n; ++t)
      output(operands, begin, rows, t, {sums + t * stride, sums + (n + t) * stride});
    if (done && done->call) done->call(begin, begin + rows);
  };
  add_step({.units = ceil_div(n_out, at_once), .work = work, .together = together},
           2 * n * stride * sizeof(int32_t));
  reads(n_out, at_once, [&](uint32_t first, uint32_t end) {
    return Weights{{operands.codes(first, end), operands.codes(n_out + first, n_out + end)}};
  });
}

}  // namespace bitnet::cpu
