// Random matrices of the types of layouts/blocks.h, their inputs, and the product by the formula of
// engine/layouts/blocks.h, one element at a time.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

#include "engine/gguf.h"
#include "engine/layouts/blocks.h"
#include "engine/layouts/pack.h"
#include "engine/layouts/pack_blocks16.h"

namespace bitnet {

// Inputs of some tokens, rounded in units of 32.
struct RoundedInput {
  uint32_t n = 0;
  std::vector<int8_t> q;       // [tokens][n]
  std::vector<float> factors;  // [tokens][n / 32]
  std::vector<int32_t> sums;   // [tokens][n / 16]

  const int8_t* q_of(uint32_t token) const { return &q[size_t{token} * n]; }
  float factor(uint32_t token, uint32_t i) const { return factors[(size_t{token} * n + i) / 32]; }
};

// The first token has the largest values, so that the sums come near to their bounds.
inline RoundedInput random_input(uint32_t n, uint32_t tokens, std::mt19937& rng) {
  RoundedInput in{n, {}, {}, {}};
  for (uint32_t t = 0; t < tokens; ++t)
    for (uint32_t i = 0; i < n; ++i) {
      if (i % 32 == 0) in.factors.push_back(t == 0 ? 1 : static_cast<float>(rng() % 1001) / 1000);
      if (i % 16 == 0) in.sums.push_back(0);
      in.q.push_back(t == 0 ? int8_t{127} : static_cast<int8_t>(static_cast<int>(rng() % 255) - 127));
      in.sums.back() += in.q.back();
    }
  return in;
}

struct BlockWeights {
  TensorType type{};
  uint32_t rows = 0, n = 0;
  std::vector<std::byte> bytes;  // as in a file
  std::vector<int8_t> codes;     // [rows][n]
  std::vector<float> d, m;       // [rows][n / unit]; m is empty where there is none
  float fixed = 0;

  const std::byte* row(uint32_t r) const { return &bytes[r * find_file_type(type)->row_bytes(n)]; }

  // The integer of a row and a token.
  int32_t sum(uint32_t r, const RoundedInput& in, uint32_t token) const {
    const auto rounded = [](int32_t t, float f) {
      return static_cast<int32_t>(std::nearbyint(static_cast<float>(t) * f));
    };
    const uint32_t unit = find_block_type(type)->unit;
    int32_t total = 0;
    for (uint32_t u = 0; u < n / unit; ++u) {
      int32_t product = 0, inputs = 0;
      for (uint32_t i = u * unit; i < (u + 1) * unit; ++i) {
        product += codes[size_t{r} * n + i] * in.q_of(token)[i];
        inputs += in.q_of(token)[i];
      }
      const size_t at = size_t{r} * (n / unit) + u;
      const float factor = in.factor(token, u * unit);
      total += rounded(product, d[at] * fixed * factor);
      if (!m.empty()) total -= rounded(inputs, m[at] * fixed * factor);
    }
    return total;
  }
};

// Any codes; scales are from 2^-13 to 2^-9 of both signs. The first row has the largest codes.
inline BlockWeights random_blocks(TensorType type, uint32_t rows, uint32_t n, std::mt19937& rng) {
  const FileType& file = *find_file_type(type);
  const BlockType& block = *find_block_type(type);
  BlockWeights w{type, rows, n, std::vector<std::byte>(rows * file.row_bytes(n)), {}, {}, {}, 0};
  for (std::byte& b : w.bytes) b = static_cast<std::byte>(rng());
  std::fill_n(w.bytes.begin(), file.row_bytes(n),
              type == TensorType::q8_0 ? std::byte{0x7F} : std::byte{0xFF});
  const auto put_half = [&](size_t at) {
    const auto half = static_cast<uint16_t>((rng() & 0x8000) | (0x0800 + rng() % 0x1000));
    w.bytes[at] = static_cast<std::byte>(half);
    w.bytes[at + 1] = static_cast<std::byte>(half >> 8);
  };
  for (size_t at = 0; at < w.bytes.size(); at += file.block_bytes) {
    put_half(type == TensorType::q6_k ? at + 208 : at);
    if (block.has_min) put_half(at + 2);
  }
  const size_t units = n / block.unit;
  w.codes.resize(size_t{rows} * n);
  w.d.resize(rows * units);
  if (block.has_min) w.m.resize(rows * units);
  BlockBound bound;
  for (uint32_t r = 0; r < rows; ++r) {
    float* m = block.has_min ? &w.m[r * units] : nullptr;
    unpack_blocks(type, w.row(r), n, &w.codes[size_t{r} * n], &w.d[r * units], m);
    bound.add(bound_of_blocks(&w.codes[size_t{r} * n], &w.d[r * units], m, n, block.unit));
  }
  w.fixed = fixed_for(bound);
  return w;
}

struct PackedWeights {
  std::vector<uint8_t> codes, scales;
};

// Layout::blocks16.
inline PackedWeights pack_sixteens(const BlockWeights& w) {
  const BlockRowBytes bytes = block16_row_bytes(w.type, w.n);
  const size_t units = w.n / find_block_type(w.type)->unit, blocks = w.n / find_file_type(w.type)->block;
  const size_t whole = (w.rows + kRowsTogether - 1) / kRowsTogether * kRowsTogether;
  PackedWeights packed{std::vector<uint8_t>(whole * bytes.codes), std::vector<uint8_t>(whole * bytes.scales)};
  for (uint32_t first = 0; first < w.rows; first += kRowsTogether) {
    std::vector<int8_t> codes(kRowsTogether * w.n), steps(kRowsTogether * units), min_steps(steps.size());
    std::vector<uint16_t> d(kRowsTogether * blocks), dmin(d.size());
    for (uint32_t i = 0; i < kRowsTogether && first + i < w.rows; ++i) {
      std::copy_n(&w.codes[size_t{first + i} * w.n], w.n, &codes[i * size_t{w.n}]);
      unpack_block_scales(w.type, w.row(first + i), w.n, &d[i * blocks], &steps[i * units], &dmin[i * blocks],
                          &min_steps[i * units]);
    }
    pack_blocks16(w.type, {codes.data(), d.data(), steps.data(), dmin.data(), min_steps.data()}, w.n,
                  reinterpret_cast<std::byte*>(&packed.codes[first * bytes.codes]),
                  reinterpret_cast<std::byte*>(&packed.scales[first * bytes.scales]));
  }
  return packed;
}

}  // namespace bitnet
