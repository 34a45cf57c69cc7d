// Compares the kernels of each instruction set that runs here with the scalar reference, bit for bit.
#include "engine/cpu/kernels.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <random>
#include <vector>

namespace bitnet::cpu {
namespace {

template <typename Check>
void for_each_simd(Check check) {
  for (const KernelChoice& choice : kernel_choices()) {
    if (!choice.supported || choice.kernels == &kScalarKernels) continue;
    SCOPED_TRACE(choice.kernels->name);
    check(*choice.kernels);
  }
}

TEST(CpuKernels, EveryHalfAndItsNeighboursConvertAlike) {
  std::vector<uint16_t> halves(1 << 16);
  for (size_t i = 0; i < halves.size(); ++i) halves[i] = static_cast<uint16_t>(i);
  const auto n = static_cast<uint32_t>(halves.size());
  std::vector<float> wanted(n), floats;
  kScalarKernels.to_floats(halves.data(), n, wanted.data());
  for (const float f : wanted) {  // and the values a third, half and two thirds of the way to the next
    const uint32_t bits = std::bit_cast<uint32_t>(f);
    for (const uint32_t more : {0U, 0xAAAU, 0xFFFU, 0x1000U, 0x1001U, 0x1555U})
      floats.push_back(std::bit_cast<float>(bits + more));
  }
  const auto n_floats = static_cast<uint32_t>(floats.size());
  std::vector<uint16_t> wanted_halves(n_floats);
  kScalarKernels.to_halves(floats.data(), n_floats, wanted_halves.data());
  for_each_simd([&](const CpuKernels& k) {
    std::vector<float> got(n);
    k.to_floats(halves.data(), n, got.data());
    std::vector<uint16_t> got_halves(n_floats);
    k.to_halves(floats.data(), n_floats, got_halves.data());
    for (uint32_t i = 0; i < n; ++i) {
      if (std::isnan(wanted[i])) {
        ASSERT_TRUE(std::isnan(got[i])) << i;
      } else {
        ASSERT_EQ(std::bit_cast<uint32_t>(got[i]), std::bit_cast<uint32_t>(wanted[i])) << i;
      }
    }
    for (uint32_t i = 0; i < n_floats; ++i) {
      if (std::isnan(floats[i])) continue;
      ASSERT_EQ(got_halves[i], wanted_halves[i]) << floats[i];
    }
  });
}

// Among the inputs are the codes and activations that make the largest sums. The fourth code does not occur,
// because files that have it are refused.
TEST(CpuKernels, IntegerSumsAreThoseOfTheReference) {
  std::mt19937 rng(3);
  for (const uint32_t n_in : {128U, 384U, 2560U, 6912U}) {
    constexpr uint32_t kRows = kTileRows, kTokens = 29;
    std::vector<uint8_t> codes(size_t{kRows} * n_in / 4);
    for (uint8_t& c : codes) {
      const auto bits = static_cast<uint8_t>(rng());
      c = static_cast<uint8_t>(bits & ~(bits >> 1 & bits & 0x55));  // 3 becomes 2
    }
    std::fill_n(codes.begin(), n_in / 4, uint8_t{0xAA});
    std::vector<int8_t> q(size_t{kTokens} * n_in), shortlist(size_t{kRows} * n_in);
    for (int8_t& v : q) v = static_cast<int8_t>(rng());
    std::fill_n(q.begin(), n_in, int8_t{-128});
    for (int8_t& v : shortlist) v = static_cast<int8_t>(static_cast<int>(rng() % 255) - 127);
    std::fill_n(shortlist.begin(), n_in, int8_t{127});
    std::vector<int16_t> p(n_in, static_cast<int16_t>(std::min(32767.0, 2147483647.0 / (127.0 * n_in))));
    for (uint32_t i = 0; i < n_in; i += 3) p[i] = static_cast<int16_t>(-p[i]);

    struct Sums {
      std::vector<int32_t> rows, tile, shortlisted;
      bool operator==(const Sums&) const = default;
    };
    const auto sums_of = [&](const CpuKernels& k) {
      Sums s{std::vector<int32_t>(kRows), std::vector<int32_t>(kTokens * kTileRows),
             std::vector<int32_t>(kRows)};
      k.ternary_rows(codes.data(), n_in, kRows - 1, q.data(), s.rows.data());  // these fill no tile
      const uint8_t* rows[kTileRows];
      for (uint32_t r = 0; r < kTileRows; ++r) rows[r] = codes.data() + size_t{r} * n_in / 4;
      std::vector<uint8_t> tile(size_t{n_in} * kTileRows);
      k.unpack_tile(rows, n_in, tile.data());
      k.tile_product(tile.data(), n_in, q.data(), kTokens, s.tile.data());
      k.int8_rows(shortlist.data(), n_in, kRows - 1, p.data(), s.shortlisted.data());
      return s;
    };
    const Sums wanted = sums_of(kScalarKernels);
    for_each_simd([&](const CpuKernels& k) { EXPECT_EQ(sums_of(k), wanted) << n_in; });
  }
}

}  // namespace
}  // namespace bitnet::cpu
