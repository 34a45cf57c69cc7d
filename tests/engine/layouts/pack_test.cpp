#include "engine/layouts/pack.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "engine/layouts/rows.h"

namespace bitnet {
namespace {

std::vector<uint8_t> random_codes(size_t n) {
  std::mt19937 rng(11);
  std::vector<uint8_t> codes(n);
  for (uint8_t& c : codes) c = static_cast<uint8_t>(rng() % 3);
  return codes;
}

uint32_t code_at(std::byte byte, size_t shift) {
  return std::to_integer<uint32_t>(byte >> static_cast<int>(shift)) & 3;
}

TEST(Pack, GroupsHaveEachElementWhereLayoutSays) {
  const auto codes = random_codes(320);
  std::vector<std::byte> packed(320 / 4);
  pack_groups(codes.data(), codes.size(), packed.data());
  for (size_t e = 0; e < codes.size(); ++e) {
    const size_t in_group = e % 64;
    EXPECT_EQ(code_at(packed[e / 64 * 16 + in_group % 16], 6 - 2 * (in_group / 16)), codes[e]) << e;
  }
}

TEST(Pack, Groups16HaveEachElementWhereLayoutSays) {
  constexpr size_t n = 192;
  const auto codes = random_codes(16 * n);
  std::vector<std::byte> packed(16 * n / 4);
  pack_groups16(codes.data(), n, packed.data());
  for (size_t row = 0; row < 16; ++row)
    for (size_t e = 0; e < n; ++e) {
      const size_t in_block = e % 16;
      EXPECT_EQ(code_at(packed[(e / 16 * 16 + row) * 4 + in_block % 4], 6 - 2 * (in_block / 4)),
                codes[row * n + e])
          << row << " " << e;
    }
}

TEST(Pack, Fives16HaveFiveGroupsInAByteAndTheRestAsGroups16) {
  constexpr size_t n = 2 * 320 + 192, kWeights[] = {1, 3, 9, 28, 84};
  const auto codes = random_codes(16 * n);
  std::vector<std::byte> packed(16 * code_bytes(Layout::fives16, n)), rest(16 * 192 / 4);
  ASSERT_EQ(packed.size(), 2U * 16 * 64 + rest.size());
  pack_fives16(codes.data(), n, packed.data());
  for (size_t row = 0; row < 16; ++row)
    for (size_t five = 0; five < 2; ++five)
      for (size_t e = 0; e < 64; ++e) {
        size_t sum = 0;
        for (size_t group = 0; group < 5; ++group)
          sum += kWeights[group] * codes[row * n + five * 320 + group * 64 + e];
        EXPECT_EQ(std::to_integer<size_t>(packed[((five * 16 + e / 4) * 16 + row) * 4 + e % 4]), sum);
      }
  std::vector<uint8_t> last;
  for (size_t row = 0; row < 16; ++row) last.insert(last.end(), &codes[row * n + 640], &codes[row * n] + n);
  pack_groups16(last.data(), 192, rest.data());
  EXPECT_TRUE(std::equal(rest.begin(), rest.end(), packed.begin() + 2 * 16 * 64));
}

TEST(Pack, CodesOfABandAreFoundInIt) {
  constexpr size_t n = 2 * 320 + 192;
  const auto codes = random_codes(16 * n);
  for (const Layout layout : {Layout::groups16, Layout::fives16}) {
    std::vector<std::byte> packed(16 * code_bytes(layout, n));
    (layout == Layout::fives16 ? pack_fives16 : pack_groups16)(codes.data(), n, packed.data());
    const auto* band = reinterpret_cast<const uint8_t*>(packed.data());
    for (size_t row = 0; row < 16; ++row)
      for (size_t e = 0; e < n; ++e)
        ASSERT_EQ(code_in_band(layout, band, n, row, e), codes[row * n + e]) << e;
  }
}

TEST(Pack, ScalesOfSixteenRowsLieSideBySide) {
  std::vector<uint16_t> scales(16 * 3);
  for (size_t i = 0; i < scales.size(); ++i) scales[i] = static_cast<uint16_t>(i);
  std::vector<uint16_t> packed(scales.size());
  pack_scales16(scales.data(), 3, packed.data());
  for (size_t row = 0; row < 16; ++row)
    for (size_t i = 0; i < 3; ++i) EXPECT_EQ(packed[i * 16 + row], scales[row * 3 + i]);
}

TEST(Pack, EqualNeighboursAmongScalesAreMerged) {
  constexpr uint32_t kBands = 3, kScales = 12;
  for (const uint32_t together : {1U, 2U, 3U, 4U, 6U, 12U}) {
    std::vector<uint16_t> scales, wanted;
    for (uint32_t band = 0; band < kBands; ++band)
      for (uint32_t i = 0; i < kScales; ++i)
        for (uint16_t lane = 0; lane < kRowsTogether; ++lane) {
          scales.push_back(static_cast<uint16_t>(1000 * band + 20 * (i / together) + lane));
          if (i % together == 0) wanted.push_back(scales.back());
        }
    EXPECT_EQ(merge_scales16(scales, kScales), together);
    EXPECT_EQ(scales, wanted) << together;
  }
}

TEST(Pack, SubnormalScalesAreLiftedByOnePowerOfTwoForAll) {
  struct Case {
    std::vector<uint16_t> scales;
    int by;
  };
  std::vector<uint16_t> all = {0, 0x8000, 0x8001, 0x0400, 0x3C00, 0xD400};  // up to 64
  for (uint16_t s = 1; s < 0x0400; ++s) all.push_back(s);
  for (const auto& [scales, by] : {Case{all, 9}, Case{{0x0001, 0x83FF}, 10}, Case{{0x0001, 0xD3FF}, 10},
                                   Case{{0x0200, 0x7BFF}, 0}, Case{{0x0400, 0xBC00, 0}, 0}, Case{{}, 0}}) {
    std::vector<uint16_t> lifted = scales;
    ASSERT_EQ(lift_subnormals(lifted), by);
    for (size_t i = 0; i < scales.size(); ++i) {
      EXPECT_EQ(layouts::from_half(lifted[i]), std::ldexp(layouts::from_half(scales[i]), by)) << scales[i];
      EXPECT_LT(lifted[i] & 0x7FFF, 0x7C00);
      const bool is_normal = (lifted[i] & 0x7FFF) >= 0x0400;
      EXPECT_TRUE(is_normal || by < 10 || scales[i] == 0);
    }
  }
}

TEST(Pack, ABoundOfScalesIsTheirSumOverGroupsOf64OrTheLargest256Times) {
  const std::vector<uint16_t> scales = {0x3C00, 0xBC00, 0x3800};  // 1, -1, 0.5
  EXPECT_EQ(bound_of_scales(scales.data(), 3, 64), 256);
  EXPECT_EQ(bound_of_scales(scales.data(), 3, 64 * 200), 2.5 * 200);
  const std::vector<uint16_t> infinite = {0x3C00, 0x7C00}, nan = {0xFE00, 0x3C00};
  EXPECT_TRUE(std::isinf(bound_of_scales(infinite.data(), 2, 64)));
  EXPECT_TRUE(std::isnan(bound_of_scales(nan.data(), 2, 64)));
  const std::vector<uint16_t> smallest = {0x0001};
  EXPECT_EQ(bound_of_scales(smallest.data(), 1, 64), std::ldexp(1.0, -16));
}

TEST(Pack, FixedIsTheLargestPowerOfTwoWithinTheBound) {
  EXPECT_EQ(fixed_for(0), 1);
  EXPECT_EQ(fixed_for(1), 0x1p17F);  // 64 * 128 * 2^17 = 2^30
  for (const double sum : {0x1p-24, 0.01, 0.999, 1.0, 1.001, 37.5, 65504.0 * 4096}) {
    const double fixed = fixed_for(sum);
    int exponent = 0;
    EXPECT_EQ(std::frexp(fixed, &exponent), 0.5);
    EXPECT_LE(64 * 128 * sum * fixed, 0x1p30) << sum;
    EXPECT_GT(64 * 128 * sum * fixed * 2, 0x1p30) << sum;
  }
}

TEST(Pack, RowsOfRopePairsAreFoundInLlamasOrder) {
  constexpr uint32_t dim = 12;  // rotated; two more features follow
  for (uint32_t i = 0; i < dim / 2; ++i) {
    EXPECT_EQ(rope_row(i, dim), 2 * i);
    EXPECT_EQ(rope_row(i + dim / 2, dim), 2 * i + 1);
  }
  EXPECT_EQ(rope_row(12, dim), 12U);
  EXPECT_EQ(rope_row(13, dim), 13U);
}

}  // namespace
}  // namespace bitnet
