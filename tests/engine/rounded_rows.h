// Random inputs of projections as kernels get them: rows of integers with their scales and sums
// (engine/backend.h, Quantised).
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <vector>

#include "tests/engine/kernels.h"

namespace bitnet {

struct RoundedRows {
  uint32_t n = 0;
  std::vector<int32_t> q;  // [rows][n]
  std::vector<float> s;    // [rows]
  Quantised device;
};

// Rows of n integers of int8_row or int16_row. The sums are of 64 inputs, as groups need them, or of 16, as
// blocks do.
inline RoundedRows random_rounded_rows(Backend& b, uint32_t n, uint32_t rows, Input input, uint32_t sum_every,
                                       std::mt19937& rng) {
  const bool wide = input == Input::int16_row;
  RoundedRows r{n, {}, {}, {}};
  std::vector<int8_t> planes;
  std::vector<int32_t> sums;
  std::vector<uint32_t> info;
  for (uint32_t t = 0; t < rows; ++t) {
    std::vector<int8_t> high, low;
    int32_t total = 0;
    for (uint32_t i = 0; i < n; ++i) {
      // Row 1 has the largest values of all, so that the sums come near to their bounds.
      int32_t q =
          wide ? static_cast<int32_t>(rng() % 65025) - 32512 : static_cast<int32_t>(rng() % 256) - 128;
      if (t == 1) q = (wide ? 32512 : 127) * (rng() % 8 == 0 ? -1 : 1);
      r.q.push_back(q);
      high.push_back(static_cast<int8_t>((q + 128) >> 8));
      low.push_back(static_cast<int8_t>(q - 256 * ((q + 128) >> 8)));
      total += q;
      if (i % sum_every == 0) sums.push_back(0);
      sums.back() += q;
    }
    if (wide) planes.insert(planes.end(), high.begin(), high.end());
    planes.insert(planes.end(), low.begin(), low.end());
    r.s.push_back(std::exp2(static_cast<float>(t % 5)));
    info.push_back(std::bit_cast<uint32_t>(r.s[t]));
    info.push_back(static_cast<uint32_t>(total));
  }
  r.device = {put(b, planes), put(b, info)};
  (sum_every == 64 ? r.device.sums : r.device.sums16) = put(b, sums);
  return r;
}

}  // namespace bitnet
