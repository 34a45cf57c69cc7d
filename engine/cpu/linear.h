// What the two kinds of projections share: linear.cpp and linear_dense.cpp.
//
// Thread rule: values.
#pragma once

#include <cstdint>
#include <memory>

#include "norms.h"
#include "recorder.h"

namespace bitnet::cpu {

// Batches up to this size use the rows as they are; for larger ones tiles of rows are unpacked.
constexpr uint32_t kRowTokens = 3;
constexpr uint32_t kTokensAtOnce = 96;  // of a tile, so that the sums stay in the first cache

// Quantised::info
struct TokenScale {
  float s;
  int32_t sum;
};

inline bool is_dense(const Matrix& w) { return w.layout == Layout::blocks16 || w.layout == Layout::floats; }

// The rounded inputs of a projection, as Quantised has them; what it does not need is null.
struct Rounded {
  int8_t* q;
  TokenScale* info;
  int32_t* sums;
  int32_t* sums16;
  float* factors;  // Quantised::scales
  float* y;

  // A token for the kernels of rows with scales.
  UnitInputs groups(uint32_t token, uint32_t n) const {
    return inputs_from({q, sums, factors}, token, n, 64, 64);
  }
  UnitInputs blocks(uint32_t token, uint32_t n) const {
    return inputs_from({q, sums16, factors}, token, n, 16, 32);
  }
};

// How the inputs of a projection are rounded.
class Rounding {
 public:
  Rounding(const CpuKernels& k, const Matrix& w, const In& in);

  // Rounds a token. `normed` has room for n_in floats where needs_room().
  void run(uint32_t token, const Rounded& to, float* normed) const;
  bool needs_room() const { return norm_.kind == Norm::Kind::layer; }
  uint32_t n_in() const { return n_in_; }

  // One token, in the memory of a thread: own_lines() from `memory` on.
  void run_own(CacheLine* memory) const;
  Rounded own(CacheLine* memory) const;
  size_t own_lines() const;

 private:
  const CpuKernels& k_;
  void round_row(const float* row, const float* weight, uint32_t token, const Rounded& to) const;

  uint32_t n_in_, unit_;
  bool units_, groups_, blocks_, floats_;
  RowNorm norm_;
  const float* x_;
};

// Where the units of a product find their inputs: in buffers, or in front of their scratch.
class Inputs {
 public:
  Inputs(const Quantised& q, const std::shared_ptr<const Rounding>& own);
  Rounded take(CacheLine*& scratch) const {
    if (!own_) return buffers_;
    CacheLine* memory = scratch;
    scratch += own_->own_lines();
    return own_->own(memory);
  }

 private:
  Rounded buffers_{};
  std::shared_ptr<const Rounding> own_;
};

// What a product of one token does with rows [first, end) when they are there; nothing where `call` is empty.
struct RowsDone {
  std::function<void(uint32_t first, uint32_t end)> call;
};

}  // namespace bitnet::cpu
