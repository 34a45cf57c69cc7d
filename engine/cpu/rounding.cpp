// How the inputs of projections are rounded (linear.h).
#include <algorithm>
#include <cmath>

#include "linear.h"

namespace bitnet::cpu {
namespace {

size_t lines_of(size_t bytes) { return ceil_div(bytes, sizeof(CacheLine)); }

// The least of what a unit, or the sum of some inputs, may have.
constexpr uint32_t kLeastUnit = 32, kLeastSum = 16;

void sum_up(const CpuKernels& k, const int8_t* q, uint32_t n, uint32_t every, int32_t* sums) {
  (every == 16 ? k.sums_of_16 : k.sums_of_64)(q, n, sums);
}

}  // namespace

void MadeUnits::reserve(uint32_t n_in) {
  const auto grow = [](std::vector<CacheLine>& to, size_t bytes) {
    to.resize(std::max(to.size(), lines_of(bytes)));
  };
  grow(q_, n_in);
  grow(sums_, n_in / kLeastSum * sizeof(int32_t));
  grow(largest_, n_in / kLeastUnit * sizeof(float));
  grow(squares_, n_in / kLeastUnit * sizeof(float));
  while (there_.size() < n_in / kLeastUnit) there_.emplace_back();
}

void MadeUnits::made(const CpuKernels& k, const Of& of, uint32_t first, uint32_t end) {
  for (uint32_t u = first / of.unit; u * of.unit < end; ++u) {
    const uint32_t begin = u * of.unit;
    const uint32_t more = std::min(end, begin + of.unit) - std::max(first, begin);
    std::atomic<uint32_t>& values = there_[u].values;
    if (more != of.unit) {
      if (values.fetch_add(more, std::memory_order_acq_rel) + more != of.unit) continue;
      values.store(0, std::memory_order_relaxed);  // for the next token
    }
    k.quantise_units(of.x + begin, of.weight ? of.weight + begin : nullptr, of.unit, of.unit, q() + begin,
                     largest() + u, squares() + u);
    sum_up(k, q() + begin, of.unit, of.sum_every, sums() + begin / of.sum_every);
  }
}

Rounding::Rounding(const CpuKernels& k, const Matrix& w, const In& in)
    : k_(k),
      n_in_(w.n_in),
      unit_(unit_of_input(w.layout)),
      units_(w.input == Input::int8_units),
      groups_(has_bands(w.layout)),
      blocks_(w.layout == Layout::blocks16),
      floats_(w.layout == Layout::floats),
      norm_(in.norm),
      x_(data_of<const float>(in.x) + size_t{in.first_row} * w.n_in) {}

// A normed row, and behind it the squares of units
size_t Rounding::room() const {
  const size_t normed = norm_.kind == Norm::Kind::layer ? n_in_ : 0;
  return floats_ ? 0 : (normed + (units_ ? n_in_ / unit_ : 0)) * sizeof(float);
}

void Rounding::run(uint32_t token, const Rounded& to, CacheLine* room) const {
  const float* row = x_ + size_t{token} * n_in_;
  if (floats_) return norm_.run(k_, row, n_in_, to.y + size_t{token} * n_in_);
  auto* floats = reinterpret_cast<float*>(room);
  if (norm_.kind != Norm::Kind::layer) return round_row(row, norm_.weight, token, to, floats);
  norm_.run(k_, row, n_in_, floats);
  round_row(floats, nullptr, token, to, floats + n_in_);
}

void Rounding::round_row(const float* row, const float* weight, uint32_t token, const Rounded& to,
                         float* squares) const {
  int8_t* q = to.q + size_t{token} * n_in_;
  const uint32_t units = n_in_ / unit_;
  if (units_) {
    float* factors = to.factors + size_t{token} * units;
    k_.quantise_units(row, weight, n_in_, unit_, q, factors, squares);
    to.info[token] = scale_of(k_.unit_factors(factors, squares, units, factors));
  } else {
    const float inverse = norm_.kind == Norm::Kind::rms ? norm_.inverse(k_, row, n_in_) : 1;
    const float s = 127 / std::max(1e-5F, k_.largest_normalised(row, weight, n_in_, inverse));
    to.info[token] = {s, k_.quantise(row, weight, n_in_, inverse, s, q)};
    if (groups_) std::fill_n(to.factors + size_t{token} * units, units, 1.0F);
  }
  if (groups_) sum_up(k_, q, n_in_, 64, to.sums + size_t{token} * (n_in_ / 64));
  if (blocks_) sum_up(k_, q, n_in_, 16, to.sums16 + size_t{token} * (n_in_ / 16));
}

void Rounding::copy(const Rounded& rows, uint32_t token, uint32_t row) const {
  const auto copy = [&](auto* of, size_t n) { std::copy_n(of + token * n, n, of + row * n); };
  if (floats_) return copy(rows.y, n_in_);
  copy(rows.q, n_in_);
  copy(rows.info, 1);
  if (groups_) copy(rows.sums, n_in_ / 64);
  if (blocks_) copy(rows.sums16, n_in_ / 16);
  if (units_ || groups_) copy(rows.factors, n_in_ / unit_);
}

TokenScale Rounding::scale_of(const UnitTotals& row) const {
  const float inverse = norm_.kind == Norm::Kind::rms ? norm_.inverse(row.squares, n_in_) : 1;
  return {127 / std::max(kLeastMagnitude, row.largest * inverse), 0};
}

std::function<void(uint32_t, uint32_t)> Rounding::take_from(const std::shared_ptr<MadeUnits>& made) {
  made_ = made;
  return [&k = k_, made, of = MadeUnits::Of{x_, norm_.weight, unit_, blocks_ ? 16U : 64U}](
             uint32_t first, uint32_t end) { made->made(k, of, first, end); };
}

// What is left of made units; else all of it, and the room that run needs is behind.
size_t Rounding::own_lines() const {
  if (floats_) return lines_of(n_in_ * sizeof(float));
  const size_t of_row = lines_of(sizeof(TokenScale)) + lines_of(n_in_ / unit_ * sizeof(float));
  if (made_) return of_row;
  return of_row + lines_of(n_in_) + lines_of(n_in_ / (blocks_ ? 16 : 64) * sizeof(int32_t)) +
         lines_of(room());
}

Rounded Rounding::own(CacheLine* memory) const {
  if (floats_) return {nullptr, nullptr, nullptr, nullptr, nullptr, reinterpret_cast<float*>(memory)};
  auto* info = reinterpret_cast<TokenScale*>(memory);
  CacheLine* factors = memory + lines_of(sizeof(TokenScale));
  CacheLine* q = factors + lines_of(n_in_ / unit_ * sizeof(float));
  auto* e = reinterpret_cast<float*>(factors);
  if (made_) return {made_->q(), info, made_->sums(), made_->sums(), e, nullptr};
  CacheLine* sums = q + lines_of(n_in_);
  CacheLine* rest = sums + lines_of(n_in_ / (blocks_ ? 16 : 64) * sizeof(int32_t));
  return {reinterpret_cast<int8_t*>(q),     info, reinterpret_cast<int32_t*>(sums),
          reinterpret_cast<int32_t*>(sums), e,    reinterpret_cast<float*>(rest)};
}

void Rounding::run_own(CacheLine* memory) const {
  const Rounded to = own(memory);
  if (!made_) return run(0, to, reinterpret_cast<CacheLine*>(to.y));
  for (uint32_t i = 0; i < n_in_; i += sizeof(CacheLine)) __builtin_prefetch(to.q + i);
  *to.info = scale_of(k_.unit_factors(made_->largest(), made_->squares(), n_in_ / unit_, to.factors));
}

Inputs::Inputs(const Quantised& q, const std::shared_ptr<const Rounding>& own) : own_(own) {
  const auto data = [](const BufferPtr& buffer) { return buffer ? data_of<std::byte>(*buffer) : nullptr; };
  buffers_ = {reinterpret_cast<int8_t*>(data(q.q)),     reinterpret_cast<TokenScale*>(data(q.info)),
              reinterpret_cast<int32_t*>(data(q.sums)), reinterpret_cast<int32_t*>(data(q.sums16)),
              reinterpret_cast<float*>(data(q.scales)), reinterpret_cast<float*>(data(q.y))};
}

}  // namespace bitnet::cpu
