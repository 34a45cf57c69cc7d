// The shortlist of a dense LM head: a copy in 8 bits tells which rows of the vocabulary cannot have the
// largest logit, so that decode reads the copy and the rows of a few candidates. Some tokens read it
// together. It gives bounds for every row, which are proved here, so the winner and its logit are those of
// the full head.
//
// A row w, the floats that the full head multiplies, is written as s c + e with int8 c and a scale s, and the
// vector y as t p + f with whole numbers p.
//   w . y = s t (c . p) + s c . f + e . y,   so by Cauchy and Schwarz
//   |w . y - s t (c . p)| <= |s c| |f| + |e| |y| <= (|w| + |e|) |f| + |e| |y|
// c . p is exact in 32 bits, since |p| <= kMostSum / (127 n). A sum of the full head is rounded at most n /
// 32 + 8 times in f32, each time by at most 2^-24 of what is summed, so it is within (n / 32 + 8) 2^-24 |w|
// |y| of w . y (a factor of 1.01 covers the higher powers). Computing s t (c . p) itself rounds three times.
// The norms are computed in f32 or double and enlarged by more than their own rounding.
//
// Thread rule: a Shortlist builds itself on a thread of its own. ready() and wait() may be called from any
// thread; everything else requires that it is ready. The table must outlive it.
#pragma once

#include <atomic>
#include <span>
#include <thread>
#include <vector>

#include "kernels.h"
#include "memory.h"
#include "table_rows.h"

namespace bitnet::cpu {

// The vector in the form that a shortlist needs.
struct ShortlistVector {
  std::vector<int16_t> p;  // [n]
  float t = 0;
  double norm = 0;      // |y|, from above
  double error = 0;     // |f|, from above
  bool usable = false;  // false where y is not finite or next to nothing: there is no bound
};

class Shortlist {
 public:
  // Throws where there is no memory for it (Error, std::bad_alloc) or no thread (std::system_error).
  Shortlist(const CpuKernels& kernels, const TableRows& table, uint32_t n_rows);
  ~Shortlist();
  Shortlist(const Shortlist&) = delete;
  Shortlist& operator=(const Shortlist&) = delete;

  bool ready() const { return ready_.load(std::memory_order_acquire); }
  void wait() const { ready_.wait(false, std::memory_order_acquire); }
  // What `approximate` reads of rows [begin, end)
  std::span<const std::byte> codes(uint32_t begin, uint32_t end) const {
    return codes_.bytes().subspan(size_t{begin} * n_, size_t{end - begin} * n_);
  }
  static uint64_t bytes(uint64_t n_rows, uint64_t n) { return n_rows * (n + sizeof(Int8Row)); }

  void set_vector(std::span<const float> y, ShortlistVector& to) const;
  // Approximates the logits of rows [begin, end) for up to kMostVectors vectors, the first at `approximate`
  // and those of the next `stride` floats on, and gives the largest of their lower and of their upper bounds.
  // `scratch` has room for as many sums.
  struct Bounds {
    float lower, upper;
  };
  void approximate(std::span<const ShortlistVector> ys, uint32_t begin, uint32_t end, int32_t* scratch,
                   float* approximate, size_t stride, Bounds* bounds) const;
  static constexpr uint32_t kMostVectors = 8;
  // The full head's logit of a row with this approximation lies between these.
  float lower(const ShortlistVector& y, uint32_t row, float approximation) const {
    return static_cast<float>(approximation - bound(y, row, approximation));
  }
  float upper(const ShortlistVector& y, uint32_t row, float approximation) const {
    return static_cast<float>(approximation + bound(y, row, approximation));
  }

 private:
  void build();
  int8_t* all_codes() const { return reinterpret_cast<int8_t*>(codes_.bytes().data()); }
  double bound(const ShortlistVector& y, uint32_t row, float approximation) const;

  const CpuKernels& k_;
  const TableRows table_;
  const uint32_t n_rows_;
  const uint32_t n_;
  Memory codes_;  // [n_rows][n]
  std::vector<Int8Row> rows_;
  std::atomic<bool> ready_ = false;
  std::atomic<bool> stop_ = false;
  std::thread builder_;
};

}  // namespace bitnet::cpu
