// Feed-forwards of experts. `route` chooses the experts of each token and lists the pairs (kernel_operands.h,
// Picked) by expert. For one token a unit makes some rows of one of its experts; for a batch it makes a tile
// of rows of one expert for all pairs that the expert has. The inputs of a batch are rounded once a token and
// copied to where they lie in the order of that list, so that those of an expert are neighbours. What is
// between the two products stays in that order.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>

#include "dense_matrix.h"
#include "operands.h"
#include "recorder.h"

namespace bitnet::cpu {
namespace {

// Picked::groups of a batch.
struct Groups {
  struct Group {
    uint32_t expert, begin, end;  // of `order`
  };
  uint32_t* n_groups;
  Group* groups;    // [n_groups], of the experts that have pairs, in ascending order
  uint32_t* order;  // [pairs]: the pairs of an expert behind those of the expert before
  uint32_t* place;  // [pairs]: where in `order` a pair is

  Groups(const Picked& p, uint32_t n)
      : n_groups(data_of<uint32_t>(*p.groups)),
        groups(reinterpret_cast<Group*>(n_groups + 1)),
        order(n_groups + 1 + size_t{3} * p.n_expert),
        place(order + size_t{n} * p.used) {}
};

void choose(const Routing& routing, const float* logits, uint32_t n_expert, uint32_t used, float* room,
            uint32_t* ids, float* weights) {
  float largest = logits[0];
  for (uint32_t e = 1; e < n_expert; ++e) largest = std::max(largest, logits[e]);
  float all = 0;
  for (uint32_t e = 0; e < n_expert; ++e) {
    room[e] = routing.sigmoid ? 1 / (1 + std::exp(-logits[e])) : std::exp(logits[e] - largest);
    all += room[e];
  }
  for (uint32_t i = 0; i < used; ++i) {  // a NaN is never larger, so ids are in range whatever the logits
    uint32_t best = n_expert;
    for (uint32_t e = 0; e < n_expert; ++e)
      if (std::find(ids, ids + i, e) == ids + i && (best == n_expert || logits[e] > logits[best])) best = e;
    ids[i] = best;
  }
  std::sort(ids, ids + used);
  float chosen = 0;
  for (uint32_t i = 0; i < used; ++i) chosen += room[ids[i]];
  const float by = routing.normed ? chosen + 1e-20F : routing.sigmoid ? 1 : all;
  for (uint32_t i = 0; i < used; ++i) weights[i] = room[ids[i]] / by * routing.scale;
}

void group(const Picked& p, uint32_t n) {
  const Groups g(p, n);
  const auto* ids = data_of<const uint32_t>(*p.ids);
  const uint32_t pairs = n * p.used;
  std::vector<uint32_t> begin(p.n_expert + 1);
  for (uint32_t i = 0; i < pairs; ++i) ++begin[ids[i] + 1];
  *g.n_groups = 0;
  for (uint32_t e = 0; e < p.n_expert; ++e) {
    begin[e + 1] += begin[e];
    if (begin[e + 1] != begin[e]) g.groups[(*g.n_groups)++] = {e, begin[e], begin[e + 1]};
  }
  for (uint32_t i = 0; i < pairs; ++i) {
    g.place[i] = begin[ids[i]]++;
    g.order[g.place[i]] = i;
  }
}

// x += the sum of weights * results of a token's experts, of n features from the first on.
void add_weighted(const float* results, size_t stride, const float* weights, uint32_t used, uint32_t n,
                  float* x) {
  for (uint32_t i = 0; i < n; ++i) {
    float sum = 0;
    for (uint32_t e = 0; e < used; ++e) sum += weights[e] * results[e * stride + i];
    x[i] += sum;
  }
}

// A matrix of experts, of which a unit multiplies some rows of one expert.
class ExpertMatrix {
 public:
  explicit ExpertMatrix(const Matrix& w) : n_expert_(w.n_expert) {
    if (is_dense(w))
      dense_.emplace(w);
    else
      ternary_.emplace(w);
    for (size_t i = 0; i < 2; ++i) rows_[i] = w.parts[i].rows / n_expert_;
  }

  uint32_t rows() const { return rows_[0]; }  // of the first part, of one expert
  uint64_t row_bytes() const { return dense_ ? dense_->part(0).row_bytes : ternary_->row_bytes(); }
  uint32_t rows_together() const { return dense_ && !dense_->blocks() ? 8 : kBandRows; }
  ExpertMatrix with(const Rounded& inputs) const {
    ExpertMatrix m = *this;
    if (dense_)
      m.dense_ = dense_->with(inputs);
    else
      m.ternary_ = ternary_->with(inputs);
    return m;
  }
  // Scratch of run() for units of so many rows
  size_t scratch_bytes(uint32_t rows) const {
    return 2 * size_t{room(rows)} * sizeof(float) +
           (dense_ ? dense_->tile_bytes(std::max(rows, kTileRows)) : ternary_->tile_bytes());
  }

  // Calls each(i, values, up) for inputs first + i, i < n: what `n_rows` rows of an expert from `row` on
  // give, and with `gated` the same rows of the second part.
  template <typename Each>
  void run(const CpuKernels& k, uint32_t expert, uint32_t row, uint32_t n_rows, bool gated, uint32_t first,
           uint32_t n, CacheLine* scratch, Each each) const {
    const DenseUnit unit{0, expert * rows_[0] + row, n_rows}, up{1, expert * rows_[1] + row, n_rows};
    const DenseUnit* other = gated ? &up : nullptr;
    auto* sums = reinterpret_cast<int32_t*>(scratch);
    auto* values = reinterpret_cast<float*>(sums + room(n_rows));
    auto* rest = reinterpret_cast<std::byte*>(values + room(n_rows));
    const bool tile = n > kRowTokens && !(dense_ && !dense_->blocks());
    const size_t stride = tile ? size_t{kTileRows} : size_t{2} * rounded_up(n_rows), up_at = stride / 2;
    if (tile) unpack(k, unit, other, rest);
    for (uint32_t at = 0; at < n; at += kTokensAtOnce) {
      const uint32_t some = std::min(kTokensAtOnce, n - at);
      if (tile) {
        multiply_tile(k, unit, other, first + at, some, rest, sums, values);
      } else {
        multiply(k, unit, first + at, some, stride, rest, sums, values);
        if (gated) multiply(k, up, first + at, some, stride, rest, sums, values + up_at);
      }
      for (uint32_t i = 0; i < some; ++i) each(at + i, values + i * stride, values + i * stride + up_at);
    }
  }

 private:
  static uint32_t rounded_up(uint32_t rows) { return ceil_div(rows, kBandRows) * kBandRows; }
  // Of sums and values: tokens of a tile, or of rows
  uint32_t room(uint32_t rows) const {
    const uint32_t tokens = dense_ && !dense_->blocks() ? kTokensAtOnce : kRowTokens;
    return std::max(kTokensAtOnce * kTileRows, tokens * 2 * rounded_up(rows));
  }
  uint32_t stacked(const DenseUnit& unit) const { return ternary_->part(unit.part).begin + unit.first; }

  void multiply(const CpuKernels& k, const DenseUnit& unit, uint32_t token, uint32_t n, size_t stride,
                std::byte* scratch, int32_t* sums, float* values) const {
    if (dense_) return dense_->multiply(k, unit, token, n, stride, scratch, sums, values);
    const Operands::Part& part = ternary_->part(unit.part);
    ternary_->multiply_rows(k, part, stacked(unit), unit.rows, token, n, stride, sums);
    for (uint32_t t = 0; t < n; ++t)
      k.scale_sums(sums + t * stride, unit.rows, ternary_->q_sum(token + t),
                   ternary_->factor(part, token + t), values + t * stride);
  }
  void unpack(const CpuKernels& k, const DenseUnit& unit, const DenseUnit* other, std::byte* tile) const {
    if (dense_) return dense_->unpack(k, unit, other, tile);
    const uint32_t row = stacked(unit), last = row + unit.rows - 1;
    const HalfTile second = other ? HalfTile{stacked(*other), stacked(*other) + other->rows - 1}
                                  : HalfTile{row + kHalfTile, last};
    const HalfTile halves[] = {{row, last}, second};
    ternary_->unpack(k, halves, reinterpret_cast<uint8_t*>(tile));
  }
  void multiply_tile(const CpuKernels& k, const DenseUnit& unit, const DenseUnit* other, uint32_t token,
                     uint32_t n, std::byte* tile, int32_t* sums, float* values) const {
    if (dense_) return dense_->multiply_tile(k, unit, other, token, n, tile, sums, values);
    ternary_->multiply_tile(k, reinterpret_cast<uint8_t*>(tile), token, n, sums);
    for (uint32_t t = 0; t < n; ++t) {
      const int32_t* from = sums + t * kTileRows;
      float* to = values + t * kTileRows;
      const int32_t q_sum = ternary_->q_sum(token + t);
      k.scale_sums(from, unit.rows, q_sum, ternary_->factor(ternary_->part(0), token + t), to);
      if (other)
        k.scale_sums(from + kHalfTile, other->rows, q_sum,
                     ternary_->factor(ternary_->part(other->part), token + t), to + kHalfTile);
    }
  }

  uint32_t n_expert_;
  uint32_t rows_[2];  // of an expert in each part
  std::optional<Operands> ternary_;
  std::optional<DenseMatrix> dense_;
};

// What becomes of the values of some rows of a pair.
struct Gate {
  Activate activate;
  float clamp;

  void run(float* gate, float* up, uint32_t n, float* to) const {
    for (uint32_t i = 0; clamp != 0 && i < n; ++i) {
      gate[i] = std::min(gate[i], clamp);
      up[i] = std::clamp(up[i], -clamp, clamp);
    }
    activate(gate, up, n, to);
  }
};

}  // namespace

void CpuRecorder::route(const Routing& routing, const Picked& p, uint32_t n) {
  step(
      n,
      [routing, n_expert = p.n_expert, used = p.used, logits = data_of<const float>(*p.logits),
       ids = data_of<uint32_t>(*p.ids),
       weights = data_of<float>(*p.weights)](uint32_t t, CacheLine* scratch) {
        choose(routing, logits + size_t{t} * n_expert, n_expert, used, reinterpret_cast<float*>(scratch),
               ids + size_t{t} * used, weights + size_t{t} * used);
      },
      p.n_expert * sizeof(float));
  if (n != 1) step(1, [p, n](uint32_t, CacheLine*) { group(p, n); });
}

// A token is rounded to its own row first. Those of pairs, by expert, come behind the rows of all tokens.
void CpuRecorder::quantise_by_expert(const Matrix& w, const In& in, const Picked& p, uint32_t n) {
  const Rounding rounding(k_, w, in);
  const auto work = [rounding, inputs = Inputs(in.q, nullptr), p, n](uint32_t t, CacheLine* scratch) {
    const Rounded all = inputs.take(scratch);
    const uint32_t* place = Groups(p, n).place + size_t{t} * p.used;
    rounding.run(t, all, scratch);
    for (uint32_t i = 0; i < p.used; ++i) rounding.copy(all, t, n + place[i]);
  };
  step(n, work, rounding.room());
}

void CpuRecorder::sum_of_experts(const Buffer& x, uint32_t n_features, const Picked& p, uint32_t n) {
  step(n, [x = data_of<float>(x), results = data_of<const float>(*p.results),
           weights = data_of<const float>(*p.weights), n_features, used = p.used](uint32_t t, CacheLine*) {
    add_weighted(results + size_t{t} * used * n_features, n_features, weights + size_t{t} * used, used,
                 n_features, x + size_t{t} * n_features);
  });
}

void CpuRecorder::linear_of_experts(const Matrix& w, const In& in, const Out& out, const Picked& p,
                                    uint32_t n) {
  const bool gated = out.kind == Out::Kind::gate;
  const ExpertMatrix m(w);
  const uint32_t rows = m.rows();
  const Gate finish{activation_of(k_, out.act), out.clamp};
  float* to = data_of<float>(gated ? out.y : *p.results);
  const auto* ids = data_of<const uint32_t>(*p.ids);
  if (n == 1) {
    if (gated)
      own_ = std::make_shared<Rounding>(k_, w, in);
    else
      quantise(w, in, p.used);
    const Inputs inputs(in.q, own_);
    const uint32_t at_once = rows_a_unit(rows * p.used, m.row_bytes() * (gated ? 2 : 1), m.rows_together());
    const uint32_t of_expert = ceil_div(rows, at_once);
    const auto work = [&k = k_, matrix = m, inputs, gated, finish, to, ids, rows, at_once, of_expert](
                          uint32_t unit, CacheLine* scratch) {
      const ExpertMatrix m = matrix.with(inputs.take(scratch));
      const uint32_t pair = unit / of_expert, row = unit % of_expert * at_once,
                     n_rows = std::min(rows - row, at_once);
      float* y = to + size_t{pair} * rows + row;
      m.run(k, ids[pair], row, n_rows, gated, gated ? 0 : pair, 1, scratch,
            [&](uint32_t, float* values, float* up) {
              if (gated) return finish.run(values, up, n_rows, y);
              std::copy_n(values, n_rows, y);
            });
    };
    step(p.used * of_expert, work, m.scratch_bytes(at_once));
    own_.reset();
  } else {
    if (gated)
      quantise_by_expert(w, in, p, n);
    else
      quantise(w, in, n * p.used);
    const uint32_t at_once = gated ? kBandRows : kTileRows, of_expert = ceil_div(rows, at_once);
    const auto work = [&k = k_, matrix = m, inputs = Inputs(in.q, nullptr), gated, finish, to, rows, at_once,
                       of_expert, p, n](uint32_t unit, CacheLine* scratch) {
      const Groups groups(p, n);
      if (unit / of_expert >= *groups.n_groups) return;
      const auto [expert, begin, end] = groups.groups[unit / of_expert];
      const ExpertMatrix m = matrix.with(inputs.take(scratch));
      const uint32_t row = unit % of_expert * at_once, n_rows = std::min(rows - row, at_once);
      m.run(k, expert, row, n_rows, gated, begin + (gated ? n : 0), end - begin, scratch,
            [&, first = begin](uint32_t i, float* values, float* up) {
              if (gated) return finish.run(values, up, n_rows, to + size_t{first + i} * rows + row);
              std::copy_n(values, n_rows, to + size_t{groups.order[first + i]} * rows + row);
            });
    };
    step(std::min(p.n_expert, n * p.used) * of_expert, work, m.scratch_bytes(at_once));
  }
  if (!gated) sum_of_experts(out.y, rows, p, n);
}

}  // namespace bitnet::cpu
