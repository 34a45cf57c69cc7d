// Turns weights into I2_S codes and back, one element at a time. The tests of the engine compare everything
// else with this.
#pragma once

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <random>
#include <span>
#include <vector>

#include "engine/engine.h"
#include "engine/layouts/i2s.h"

namespace bitnet {

inline std::vector<int8_t> random_weights(size_t n, std::mt19937& rng) {
  std::vector<int8_t> weights(n);
  for (int8_t& w : weights) w = static_cast<int8_t>(static_cast<int>(rng() % 3) - 1);
  return weights;
}

// The weights are -1, 0 or +1, and as many as whole blocks of the layout hold.
inline std::vector<std::byte> i2s_pack(std::span<const int8_t> weights, I2sLayout layout) {
  assert(weights.size() % (layout == I2sLayout::block128 ? 128 : 64) == 0);
  std::vector<std::byte> codes(weights.size() / 4);
  for (size_t e = 0; e < weights.size(); ++e) {
    const auto [byte, shift] = i2s_position(e, layout == I2sLayout::block128 ? 128 : 64);
    codes[byte] |= static_cast<std::byte>((weights[e] + 1) << shift);
  }
  return codes;
}

inline std::vector<int8_t> i2s_unpack(std::span<const std::byte> codes, I2sLayout layout) {
  std::vector<int8_t> weights(codes.size() * 4);
  for (size_t e = 0; e < weights.size(); ++e) {
    const auto [byte, shift] = i2s_position(e, layout == I2sLayout::block128 ? 128 : 64);
    weights[e] = static_cast<int8_t>(static_cast<int>(codes[byte] >> shift & std::byte{3}) - 1);
  }
  return weights;
}

}  // namespace bitnet
