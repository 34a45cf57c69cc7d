#include "shortlist.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>
#include <numeric>

namespace bitnet::cpu {
namespace {

constexpr double kMostSum = 2147483647.0;

}  // namespace

Shortlist::Shortlist(const CpuKernels& kernels, const TableRows& table, uint32_t n_rows)
    : k_(kernels),
      table_(table),
      n_rows_(n_rows),
      n_(table.n),
      codes_(size_t{n_rows} * table.n),
      rows_(n_rows) {
  codes_.prefer_large_pages();
  builder_ = std::thread([this] { build(); });
}

Shortlist::~Shortlist() {
  stop_ = true;
  builder_.join();
}

void Shortlist::build() {
  const RowFloats floats = row_floats_of(k_, table_.type);
  std::vector<float> row(n_);
  for (uint32_t r = 0; r < n_rows_ && !stop_; ++r) {
    floats(table_.row(r), n_, row.data());
    rows_[r] = k_.int8_row(row.data(), n_, all_codes() + size_t{r} * n_);
  }
  ready_.store(!stop_, std::memory_order_release);
  ready_.notify_all();
}

// Each token waits for this, so the compiler is given several values at a time. n_ is a multiple of 64.
void Shortlist::set_vector(std::span<const float> y, ShortlistVector& to) const {
  constexpr size_t kSome = 8;
  double squares[kSome] = {}, errors[kSome] = {};
  float largest[kSome] = {};
  for (size_t i = 0; i < n_; i += kSome)
    for (size_t j = 0; j < kSome; ++j) {
      const float v = y[i + j], magnitude = v < 0 ? -v : v;
      squares[j] += double{v} * v;
      largest[j] = magnitude > largest[j] ? magnitude : largest[j];
    }
  const float most_y = *std::max_element(largest, largest + kSome);
  const double sum = std::accumulate(squares, squares + kSome, 0.0);
  const double most = std::min(32767.0, std::floor(kMostSum / (127.0 * n_)));
  constexpr float kLeast = 1e-20F;  // so that all products are normal numbers
  to.usable = std::isfinite(sum) && most_y > kLeast;
  if (!to.usable) return;
  to.t = static_cast<float>(most_y / most);
  to.norm = std::sqrt(sum) * (1 + 1e-6);
  to.p.resize(n_);
  constexpr double kRounds = 0x1.8p52;  // a sum with it is a whole number, half to even
  for (size_t i = 0; i < n_; i += kSome)
    for (size_t j = 0; j < kSome; ++j) {
      const double whole = y[i + j] / double{to.t} + kRounds - kRounds;
      const double p = whole > most ? most : whole < -most ? -most : whole;
      to.p[i + j] = static_cast<int16_t>(p);
      const double f = y[i + j] - p * to.t;
      errors[j] += f * f;
    }
  to.error = std::sqrt(std::accumulate(errors, errors + kSome, 0.0)) * (1 + 1e-6);
}

double Shortlist::bound(const ShortlistVector& y, uint32_t row, float approximation) const {
  constexpr double kUnit = 0x1p-24;
  const Int8Row& r = rows_[row];
  const double rounding = 1.01 * (n_ / 32 + 8) * kUnit;
  // The last term also covers that lower() and upper() round.
  return (r.norm * (y.error + rounding * y.norm) + r.error * (y.error + y.norm)) * (1 + 1e-6) +
         5 * kUnit * std::abs(approximation);
}

void Shortlist::approximate(std::span<const ShortlistVector> ys, uint32_t begin, uint32_t end,
                            int32_t* scratch, float* approximate, size_t stride, Bounds* bounds) const {
  assert(ys.size() <= kMostVectors);
  const int16_t* p[kMostVectors] = {};
  for (size_t i = 0; i < ys.size(); ++i) p[i] = ys[i].p.data();
  k_.int8_rows(all_codes() + size_t{begin} * n_, n_, end - begin, p, static_cast<uint32_t>(ys.size()),
               scratch);
  for (const ShortlistVector& y : ys) {
    Bounds most{-std::numeric_limits<float>::infinity(), -std::numeric_limits<float>::infinity()};
    for (uint32_t r = begin; r < end; ++r) {
      const float a = static_cast<float>(*scratch++) * (rows_[r].scale * y.t);
      approximate[r - begin] = a;
      most.lower = std::max(most.lower, lower(y, r, a));
      most.upper = std::max(most.upper, upper(y, r, a));
    }
    *bounds++ = most;
    approximate += stride;
  }
}

}  // namespace bitnet::cpu
