// A copy of the LM head in 8 bits that tells which rows cannot have the largest logit, so that decode reads
// half of the bytes and the F16 rows of a few candidates only. What it says of a row is a bound that is
// proved here, so the winner and its logit are those of the full head.
//
// Row w (F16) is kept as s c + e with int8 c and a scale s; the vector y is taken as t p + f with whole p.
//   w . y = s t (c . p) + s c . f + e . y,   so by Cauchy and Schwarz
//   |w . y - s t (c . p)| <= |s c| |f| + |e| |y| <= (|w| + |e|) |f| + |e| |y|
// c . p is exact in 32 bits, since |p| <= kMostSum / (127 n). The full head sums in f32 along at most n / 32
// + 8 roundings, each of at most 2^-24 of what is summed, so it is within (n / 32 + 8) 2^-24 |w| |y| of w . y
// (the higher powers are taken care of by a factor of 1.01). Computing s t (c . p) itself rounds three times.
// The norms are computed in f32 or double and made larger by more than their own rounding.
//
// Thread rule: a Shortlist is built by a thread of its own from when it is made; ready() may be asked
// anywhere, the rest needs a ready shortlist. The table must outlive it.
#pragma once

#include <atomic>
#include <span>
#include <thread>
#include <vector>

#include "kernels.h"

namespace bitnet::cpu {

// The vector as a shortlist takes it.
struct ShortlistVector {
  std::vector<int16_t> p;  // [n]
  float t = 0;
  double norm = 0;      // |y|, from above
  double error = 0;     // |f|, from above
  bool usable = false;  // false where y is not finite or next to nothing: there is no bound
};

class Shortlist {
 public:
  Shortlist(const CpuKernels& kernels, const uint16_t* table, uint32_t n_rows, uint32_t n);
  ~Shortlist();
  Shortlist(const Shortlist&) = delete;
  Shortlist& operator=(const Shortlist&) = delete;

  bool ready() const { return ready_.load(std::memory_order_acquire); }
  void wait() const { ready_.wait(false, std::memory_order_acquire); }
  static uint64_t bytes(uint64_t n_rows, uint64_t n) { return n_rows * (n + sizeof(Int8Row)); }

  void set_vector(std::span<const float> y, ShortlistVector& to) const;
  // approximate[i] of rows [begin, end), and the largest of their lower bounds and of their upper ones.
  // `scratch` holds as many sums.
  void approximate(const ShortlistVector& y, uint32_t begin, uint32_t end, int32_t* scratch,
                   float* approximate, float& lower_bound, float& upper_bound) const;
  // Between these lies the full head's logit of a row with this approximation.
  float lower(const ShortlistVector& y, uint32_t row, float approximation) const {
    return static_cast<float>(approximation - bound(y, row, approximation));
  }
  float upper(const ShortlistVector& y, uint32_t row, float approximation) const {
    return static_cast<float>(approximation + bound(y, row, approximation));
  }

 private:
  void build();
  double bound(const ShortlistVector& y, uint32_t row, float approximation) const;

  const CpuKernels& k_;
  const uint16_t* const table_;
  const uint32_t n_rows_;
  const uint32_t n_;
  const std::span<int8_t> codes_;  // [n_rows][n]
  std::vector<Int8Row> rows_;
  std::atomic<bool> ready_ = false;
  std::atomic<bool> stop_ = false;
  std::thread builder_;
};

}  // namespace bitnet::cpu
