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
  uint32_t n = 0, unit = 0;
  std::vector<int32_t> q;     // [rows][n]; of 16 bits: with the rest
  std::vector<float> s;       // [rows]
  std::vector<float> scales;  // [rows][n / unit]
  Quantised device;
  bool fused = false;  // the device rounds a product and a sum once (fuses() in groups.h)

  // The share of a sum of products in a result, with `scale` all its scales.
  int32_t rounded(int32_t sum, float scale) const {
    const float once = static_cast<float>(sum) * scale;
    return static_cast<int32_t>(std::nearbyint(fused ? double{scale} * sum : once));
  }
  float scale(uint32_t row, uint32_t i) const { return scales[(size_t{row} * n + i) / unit]; }
};

// The input of products with `w`, which is of groups or blocks.
inline RoundedRows random_rounded_rows(Backend& b, const Matrix& w, uint32_t rows, std::mt19937& rng) {
  const bool units = w.input != Input::int8_row, has_rest = w.input == Input::int16_units;
  const uint32_t n = w.n_in, unit = unit_of_input(w), sum_every = w.layout == Layout::blocks ? 16 : unit;
  RoundedRows r{n, unit, {}, {}, {}, {}};
  std::vector<int32_t> sums;
  std::vector<uint32_t> info;
  std::vector<int8_t> int8, rest;
  for (uint32_t t = 0; t < rows; ++t) {
    int32_t total = 0;
    for (uint32_t i = 0; i < n; ++i) {
      // Row 1 has the largest values of all, so that the sums come near to their bounds.
      const auto value = [&] {
        return t == 1  ? (rng() % 8 == 0 ? -127 : 127)
               : units ? static_cast<int32_t>(rng() % 255) - 127
                       : static_cast<int32_t>(rng() % 256) - 128;
      };
      int32_t q = value();
      int8.push_back(static_cast<int8_t>(q));
      if (has_rest) {
        rest.push_back(static_cast<int8_t>(value()));
        q = q * 254 + rest.back();
      }
      r.q.push_back(q);
      total += q;
      if (i % sum_every == 0) sums.push_back(0);
      sums.back() += q;
      if (i % r.unit == 0)
        r.scales.push_back(units && t != 1 ? static_cast<float>(rng() % 0x1000000) * 0x1p-24F : 1.0F);
    }
    r.s.push_back(std::exp2(static_cast<float>(t % 5)));
    info.push_back(std::bit_cast<uint32_t>(r.s[t]));
    info.push_back(static_cast<uint32_t>(total));
  }
  r.device.q = put(b, int8);
  if (has_rest) r.device.rest_q = put(b, rest);
  r.device.info = put(b, info);
  (sum_every == 16 ? r.device.sums16 : r.device.sums) = put(b, sums);
  if (units) r.device.scales = put(b, r.scales);
  return r;
}

}  // namespace bitnet
