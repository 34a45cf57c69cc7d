// How the inputs of projections are rounded (linear.h).
#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "linear.h"

namespace bitnet::cpu {
namespace {

size_t lines_of(size_t bytes) { return ceil_div(bytes, sizeof(CacheLine)); }

// The least of what a unit, or the sum of some inputs, may have.
constexpr uint32_t kLeastUnit = 32, kLeastSum = 16;

// The scale s of a row, of which `squares` is the sum. Where something in it is not finite, or its squares
// are not, the scale is NaN, and so are its products: neither the largest magnitude nor what is rounded would
// show it.
float or_no_number(float s, float squares) {
  return std::isfinite(squares) ? s : std::numeric_limits<float>::quiet_NaN();
}

// Of each 64 inputs; `rest` may be null.
void sum_groups(const CpuKernels& k, const int8_t* q, const int8_t* rest, uint32_t n, int32_t* sums) {
  k.sums_of_64(q, n, sums);
  constexpr uint32_t kSome = 1024;
  int32_t of_rest[kSome / 64];
  for (uint32_t i = 0; rest && i < n; i += kSome) {
    const uint32_t some = std::min(kSome, n - i);
    k.sums_of_64(rest + i, some, of_rest);
    for (uint32_t g = 0; g < some / 64; ++g)
      sums[i / 64 + g] = sums[i / 64 + g] * static_cast<int32_t>(kRestSteps) + of_rest[g];
  }
}

// What the rounding of units leaves, times 254. A value that is added to 1.5 * 2^23 is rounded half to even,
// and has the integer in its last bits.
void round_rest(const float* row, const float* weight, uint32_t n, uint32_t unit, const float* largest,
                const int8_t* q, int8_t* rest) {
  constexpr float kHalfway = 12582912;
  for (uint32_t u = 0; u < n / unit; ++u) {
    const float factor = 127 / std::max(kLeastMagnitude, largest[u]);
    for (uint32_t i = u * unit; i < (u + 1) * unit; ++i) {
      const float left = (weight ? row[i] * weight[i] : row[i]) * factor - q[i];
      const float scaled = std::clamp(left * kRestSteps, -127.0F, 127.0F) + kHalfway;
      rest[i] = static_cast<int8_t>(std::bit_cast<int32_t>(scaled) - std::bit_cast<int32_t>(kHalfway));
    }
  }
}

}  // namespace

void MadeUnits::reserve(uint32_t n_in) {
  const auto grow = [](std::vector<CacheLine>& to, size_t bytes) {
    to.resize(std::max(to.size(), lines_of(bytes)));
  };
  grow(q_, n_in);
  grow(sums_, n_in / kLeastSum * sizeof(int32_t));
  grow(rest_q_, n_in);
  grow(rest_sums16_, n_in / kLeastSum * sizeof(int32_t));
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
    const int8_t* rest = of.rest ? rest_q() + begin : nullptr;
    if (rest)
      round_rest(of.x + begin, of.weight ? of.weight + begin : nullptr, of.unit, of.unit, largest() + u,
                 q() + begin, rest_q() + begin);
    if (of.sum_every == 64) {
      sum_groups(k, q() + begin, rest, of.unit, sums() + begin / 64);
      continue;
    }
    k.sums_of_16(q() + begin, of.unit, sums() + begin / 16);
    if (rest) k.sums_of_16(rest, of.unit, rest_sums16() + begin / 16);
  }
}

Rounding::Rounding(const CpuKernels& k, const Matrix& w, const In& in, uint32_t own_tokens)
    : k_(k),
      n_in_(w.n_in),
      unit_(unit_of_input(w)),
      own_tokens_(own_tokens),
      units_(w.input == Input::int8_units || w.input == Input::int16_units),
      rest_(w.input == Input::int16_units),
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
    if (rest_) round_rest(row, weight, n_in_, unit_, factors, q, to.rest_q + size_t{token} * n_in_);
    to.info[token] = scale_of(k_.unit_factors(factors, squares, units, factors));
  } else {
    const float of_row = k_.sum_of_squares(row, n_in_);
    const float inverse = norm_.kind == Norm::Kind::rms ? norm_.inverse(of_row, n_in_) : 1;
    const float least = norm_.kind == Norm::Kind::rms ? kLeastMagnitude : 1e-5F;
    const float s = 127 / std::max(least, k_.largest_normalised(row, weight, n_in_, inverse));
    to.info[token] = {or_no_number(s, of_row), k_.quantise(row, weight, n_in_, inverse, s, q)};
    if (groups_) std::fill_n(to.factors + size_t{token} * units, units, 1.0F);
  }
  const int8_t* rest = rest_ ? to.rest_q + size_t{token} * n_in_ : nullptr;
  if (groups_) sum_groups(k_, q, rest, n_in_, to.sums + size_t{token} * (n_in_ / 64));
  if (!blocks_) return;
  k_.sums_of_16(q, n_in_, to.sums16 + size_t{token} * (n_in_ / 16));
  if (!rest) return;
  k_.sums_of_16(rest, n_in_, to.rest_sums16 + size_t{token} * (n_in_ / 16));
  to.rest_info[token] = scale_of_rest(to.info[token]);
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
  const float s = or_no_number(127 / std::max(kLeastMagnitude, row.largest * inverse), row.squares);
  return {rest_ && groups_ ? s * kRestSteps : s, 0};
}

TokenScale Rounding::scale_of_rest(const TokenScale& row) { return {row.s * kRestSteps, 0}; }

std::function<void(uint32_t, uint32_t)> Rounding::take_from(const std::shared_ptr<MadeUnits>& made) {
  made_ = made;
  return [&k = k_, made, of = MadeUnits::Of{x_, norm_.weight, unit_, sum_every(), rest_}](
             uint32_t first, uint32_t end) { made->made(k, of, first, end); };
}

Results Rounding::reads() const {
  const auto bytes = [](const auto* of, size_t n) { return std::as_bytes(std::span(of, n)); };
  if (!made_) return {bytes(x_, size_t{own_tokens_} * n_in_)};
  const uint32_t units = n_in_ / unit_;
  return {bytes(made_->q(), n_in_), bytes(made_->sums(), n_in_ / sum_every()), bytes(made_->largest(), units),
          bytes(made_->squares(), units)};
}

// What is left of made units; else all of it, and the room that run needs is behind.
size_t Rounding::own_lines() const {
  if (floats_) return lines_of(own_tokens_ * n_in_ * sizeof(float));
  const size_t of_rows = own_info_lines() + own_factor_lines();
  if (made_) return of_rows;
  return of_rows + (rest_ ? 2 : 1) * own_row_lines() + lines_of(room());
}

size_t Rounding::own_info_lines() const { return lines_of(2 * own_tokens_ * sizeof(TokenScale)); }
size_t Rounding::own_factor_lines() const { return lines_of(own_tokens_ * (n_in_ / unit_) * sizeof(float)); }

// Of int8 and their sums
size_t Rounding::own_row_lines() const {
  return lines_of(own_tokens_ * n_in_) + lines_of(own_tokens_ * (n_in_ / sum_every()) * sizeof(int32_t));
}

Rounded Rounding::own(CacheLine* memory) const {
  if (floats_) return {nullptr, nullptr, nullptr, nullptr, nullptr, reinterpret_cast<float*>(memory)};
  auto* info = reinterpret_cast<TokenScale*>(memory);
  CacheLine* factors = memory + own_info_lines();
  auto* e = reinterpret_cast<float*>(factors);
  TokenScale* rest_info = rest_ ? info + own_tokens_ : nullptr;
  if (made_)
    return {made_->q(),      info,      made_->sums(),       made_->sums(), e, nullptr,
            made_->rest_q(), rest_info, made_->rest_sums16()};
  CacheLine* q = factors + own_factor_lines();
  const auto sums_of = [&](CacheLine* rows) {
    return reinterpret_cast<int32_t*>(rows + lines_of(own_tokens_ * n_in_));
  };
  CacheLine* end = q + own_row_lines();
  Rounded to{reinterpret_cast<int8_t*>(q), info, sums_of(q), sums_of(q), e, reinterpret_cast<float*>(end)};
  if (!rest_) return to;
  to.y = reinterpret_cast<float*>(end + own_row_lines());
  to.rest_q = reinterpret_cast<int8_t*>(end);
  to.rest_info = rest_info;
  to.rest_sums16 = sums_of(end);
  return to;
}

void Rounding::run_own(CacheLine* memory) const {
  const Rounded to = own(memory);
  if (!made_) {
    for (uint32_t t = 0; t < own_tokens_; ++t) run(t, to, reinterpret_cast<CacheLine*>(to.y));
    return;
  }
  for (uint32_t i = 0; i < n_in_; i += sizeof(CacheLine)) __builtin_prefetch(to.q + i);
  *to.info = scale_of(k_.unit_factors(made_->largest(), made_->squares(), n_in_ / unit_, to.factors));
  if (!rest_) return;
  for (uint32_t i = 0; i < n_in_; i += sizeof(CacheLine)) __builtin_prefetch(to.rest_q + i);
  if (blocks_) *to.rest_info = scale_of_rest(*to.info);
}

Inputs::Inputs(const Quantised& q, const std::shared_ptr<const Rounding>& own) : own_(own) {
  const auto data = [](const BufferPtr& buffer) { return buffer ? data_of<std::byte>(*buffer) : nullptr; };
  buffers_ = {
      reinterpret_cast<int8_t*>(data(q.q)),           reinterpret_cast<TokenScale*>(data(q.info)),
      reinterpret_cast<int32_t*>(data(q.sums)),       reinterpret_cast<int32_t*>(data(q.sums16)),
      reinterpret_cast<float*>(data(q.scales)),       reinterpret_cast<float*>(data(q.y)),
      reinterpret_cast<int8_t*>(data(q.rest_q)),      reinterpret_cast<TokenScale*>(data(q.rest_info)),
      reinterpret_cast<int32_t*>(data(q.rest_sums16))};
}

}  // namespace bitnet::cpu
