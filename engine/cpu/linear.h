// What the two kinds of projections share: linear.cpp and linear_dense.cpp.
//
// Thread rule: values.
#pragma once

#include <cstdint>

namespace bitnet::cpu {

// Batches up to this size use the rows as they are; for larger ones tiles of rows are unpacked.
constexpr uint32_t kRowTokens = 3;
constexpr uint32_t kTokensAtOnce = 96;  // of a tile, so that the sums stay in the first cache

// Quantised::info
struct TokenScale {
  float s;
  int32_t sum;
};

}  // namespace bitnet::cpu
