#include <gtest/gtest.h>

#include <random>

#include "tests/engine/i2s_pack.h"

namespace bitnet {
namespace {

std::vector<int8_t> random_weights(size_t n) {
  std::mt19937 rng(5);
  return bitnet::random_weights(n, rng);
}

TEST(I2s, ElementsLieWhereTheQuantiserPutsThem) {
  std::vector<int8_t> weights(256, 0);
  weights[0] = 1;     // byte 0, shift 6
  weights[33] = -1;   // byte 1, shift 4
  weights[95] = 1;    // byte 31, shift 2
  weights[127] = 1;   // byte 31, shift 0
  weights[128] = -1;  // byte 32, shift 6
  const auto codes = i2s_pack(weights, I2sLayout::block128);
  EXPECT_EQ(codes[0], std::byte{0b10'01'01'01});
  EXPECT_EQ(codes[1], std::byte{0b01'00'01'01});
  EXPECT_EQ(codes[2], std::byte{0x55});
  EXPECT_EQ(codes[31], std::byte{0b01'01'10'10});
  EXPECT_EQ(codes[32], std::byte{0b00'01'01'01});
  const auto arm = i2s_pack(weights, I2sLayout::block64);
  EXPECT_EQ(arm[0], std::byte{0b10'01'01'01});
  EXPECT_EQ(arm[1], std::byte{0b01'01'00'01});        // 33 = 2 * 16 + 1
  EXPECT_EQ(arm[16 + 15], std::byte{0b01'10'01'10});  // 95 and 127 in the second block
}

TEST(I2s, UnpackingGivesTheWeightsBack) {
  const auto weights = random_weights(1024);
  for (const I2sLayout layout : {I2sLayout::block128, I2sLayout::block64})
    EXPECT_EQ(i2s_unpack(i2s_pack(weights, layout), layout), weights);
}

TEST(I2s, RepackingAnArmFileKeepsEveryWeight) {
  const auto weights = random_weights(1280);
  const auto arm = i2s_pack(weights, I2sLayout::block64);
  std::vector<std::byte> repacked(arm.size());
  i2s_block64_to_block128(arm, repacked);
  EXPECT_EQ(repacked, i2s_pack(weights, I2sLayout::block128));
}

TEST(I2s, RepackingFourRowsAByteKeepsEveryWeight) {
  constexpr size_t n_in = 256, n_rows = 8;
  const auto weights = random_weights(n_rows * n_in);
  std::vector<std::byte> from(weights.size() / 4), to(from.size());
  for (size_t row = 0; row < n_rows; ++row)
    for (size_t c = 0; c < n_in; ++c)
      from[row / 4 * n_in + c] |=
          static_cast<std::byte>((weights[row * n_in + c] + 1) << (6 - 2 * (row % 4)));
  i2s_1x4_to_block128(from, n_in, to);
  EXPECT_EQ(to, i2s_pack(weights, I2sLayout::block128));
}

TEST(I2s, ACodeOf3IsSeenAnywhere) {
  auto codes = i2s_pack(random_weights(192), I2sLayout::block64);
  codes.resize(44);
  EXPECT_FALSE(i2s_has_code_3(codes));
  for (const size_t byte : {0U, 9U, 39U, 43U})  // in whole words and in the rest
    for (const int shift : {0, 2, 4, 6}) {
      auto bad = codes;
      bad[byte] |= std::byte{3} << shift;
      EXPECT_TRUE(i2s_has_code_3(bad)) << byte << " " << shift;
    }
}

TEST(I2s, ScaleIsTheFirstWordOfTheTail) {
  std::vector<std::byte> tensor(64 + kI2sTail, std::byte{0xFF});
  const float scale = 0.375F;
  std::memcpy(tensor.data() + 64, &scale, sizeof scale);
  EXPECT_EQ(i2s_scale(tensor), scale);
}

}  // namespace
}  // namespace bitnet
