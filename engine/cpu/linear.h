// What the two kinds of projections share: linear.cpp and linear_dense.cpp. rounding.cpp rounds their inputs.
//
// Thread rule: values.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <vector>

#include "norms.h"
#include "recorder.h"

namespace bitnet::cpu {

// Batches up to these sizes use the rows as they are; for larger ones tiles of rows are unpacked. Some tokens
// share what is decoded of ternary rows. Those in Layout::fives16 have CpuKernels::fives_row_tokens.
constexpr uint32_t kRowTokens = 3, kTernaryRowTokens = 16;
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
  int8_t* rest_q = nullptr;         // Input::int16_units
  TokenScale* rest_info = nullptr;  // and blocks
  int32_t* rest_sums16 = nullptr;

  // Of blocks
  Rounded rest() const { return {rest_q, rest_info, nullptr, rest_sums16, factors, nullptr}; }
  // A token for the kernels of rows with scales.
  UnitInputs groups(uint32_t token, uint32_t n, bool has_rest) const {
    return inputs_from({q, sums, factors, has_rest ? rest_q : nullptr}, token, n, 64, 64);
  }
  UnitInputs blocks(uint32_t token, uint32_t n) const {
    return inputs_from({q, sums16, factors}, token, n, 16, 32);
  }
};

// The inputs of one token in units (Input::int8_units or int16_units), each rounded by whoever made the last
// of its values. So the others fetch a byte a value, and find only what a row has in all.
class MadeUnits {
 public:
  // Before a run; for what is recorded next, so that room is there for all.
  void reserve(uint32_t n_in);

  // Values [first, end) of x are there, for inputs of a projection that has `sum_every` and `unit` of them.
  struct Of {
    const float* x;
    const float* weight;  // of the norm, or null
    uint32_t unit, sum_every;
    bool rest;  // Input::int16_units
  };
  void made(const CpuKernels& k, const Of& of, uint32_t first, uint32_t end);

  int8_t* q() { return reinterpret_cast<int8_t*>(q_.data()); }
  int32_t* sums() { return reinterpret_cast<int32_t*>(sums_.data()); }
  int8_t* rest_q() { return reinterpret_cast<int8_t*>(rest_q_.data()); }
  int32_t* rest_sums16() { return reinterpret_cast<int32_t*>(rest_sums16_.data()); }
  float* largest() { return reinterpret_cast<float*>(largest_.data()); }
  float* squares() { return reinterpret_cast<float*>(squares_.data()); }

 private:
  struct alignas(64) Count {
    std::atomic<uint32_t> values = 0;
  };
  std::vector<CacheLine> q_, sums_, rest_q_, rest_sums16_, largest_, squares_;
  std::deque<Count> there_;  // values of each unit that are there
};

// How the inputs of a projection are rounded.
class Rounding {
 public:
  // Of `own_tokens` for run_own.
  Rounding(const CpuKernels& k, const Matrix& w, const In& in, uint32_t own_tokens = 1);

  // Rounds a token. `room` is for room() bytes.
  void run(uint32_t token, const Rounded& to, CacheLine* room) const;
  size_t room() const;
  // Copies what run() made of a token to another row.
  void copy(const Rounded& rows, uint32_t token, uint32_t row) const;
  uint32_t n_in() const { return n_in_; }

  // Whether who makes the values of one token may round them: RowsDone then calls made(). From now on own()
  // takes them from there.
  bool takes_units() const { return units_ && norm_.kind != Norm::Kind::layer; }
  std::function<void(uint32_t first, uint32_t end)> take_from(const std::shared_ptr<MadeUnits>& made);

  // The tokens, in the memory of a thread: own_lines() from `memory` on.
  void run_own(CacheLine* memory) const;
  Rounded own(CacheLine* memory) const;
  size_t own_lines() const;
  Results reads() const;  // by run_own

 private:
  void round_row(const float* row, const float* weight, uint32_t token, const Rounded& to,
                 float* squares) const;
  TokenScale scale_of(const UnitTotals& row) const;
  static TokenScale scale_of_rest(const TokenScale& row);
  uint32_t sum_every() const { return blocks_ ? 16 : 64; }
  size_t own_info_lines() const;
  size_t own_factor_lines() const;
  size_t own_row_lines() const;

  const CpuKernels& k_;
  uint32_t n_in_, unit_, own_tokens_;
  bool units_, rest_, groups_, blocks_, floats_;
  RowNorm norm_;
  const float* x_;
  std::shared_ptr<MadeUnits> made_;
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

// What a product of one token or few, or its attention, does with values [first, end) of its `n` when they
// are there; nothing where `call` is empty.
struct RowsDone {
  uint32_t n = 0;
  std::function<void(uint32_t first, uint32_t end)> call = {};
};

}  // namespace bitnet::cpu
