#include "engine/layouts/blocks.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "engine/gguf.h"
#include "engine/layouts/pack.h"
#include "engine/layouts/pack_blocks16.h"

namespace bitnet {
namespace {

constexpr TensorType kBlockTypes[] = {TensorType::q8_0, TensorType::q4_0, TensorType::q5_0,
                                      TensorType::q4_k, TensorType::q5_k, TensorType::q6_k};

// Any bytes; where an F16 is, its exponent is not that of infinity.
std::vector<std::byte> random_row(TensorType type, size_t n) {
  std::mt19937 rng(static_cast<uint32_t>(type));
  const FileType& t = *find_file_type(type);
  std::vector<std::byte> row(t.row_bytes(n));
  for (std::byte& b : row) b = static_cast<std::byte>(rng());
  for (size_t at = 0; at < row.size(); at += t.block_bytes)
    for (const size_t high : {size_t{1}, size_t{3}, size_t{209}})
      if (high < t.block_bytes) row[at + high] &= std::byte{0xBF};
  return row;
}

struct Unpacked {
  std::vector<int8_t> codes;
  std::vector<float> d, m;
};
Unpacked unpack(TensorType type, const std::vector<std::byte>& row, size_t n) {
  Unpacked u{std::vector<int8_t>(n), std::vector<float>(n / find_block_type(type)->unit), {}};
  if (has_min(type)) u.m.resize(u.d.size());
  unpack_blocks(type, row.data(), n, u.codes.data(), u.d.data(), has_min(type) ? u.m.data() : nullptr);
  return u;
}

TEST(Blocks, CodesTimesScalesAreTheFloatsOfTheRow) {
  for (const TensorType type : kBlockTypes) {
    SCOPED_TRACE(shown_name(type));
    const size_t n = 768;
    const auto row = random_row(type, n);
    const Unpacked u = unpack(type, row, n);
    std::vector<float> wanted(n);
    row_floats(type, row.data(), n, wanted.data());
    const int offset = find_block_type(type)->offset;
    for (size_t i = 0; i < n; ++i) {
      const size_t unit = i / find_block_type(type)->unit;
      float value = u.d[unit] * static_cast<float>(u.codes[i]);
      if (has_min(type)) value -= u.m[unit];
      ASSERT_EQ(std::bit_cast<uint32_t>(value), std::bit_cast<uint32_t>(wanted[i])) << i;
      ASSERT_GE(u.codes[i] + offset, 0) << i;
      ASSERT_LT(u.codes[i] + offset, 1 << find_block_type(type)->bits) << i;
    }
  }
}

TEST(Blocks, ScalesOfTheFileMakeThoseOfTheUnits) {
  for (const TensorType type : kBlockTypes) {
    SCOPED_TRACE(shown_name(type));
    const BlockType& t = *find_block_type(type);
    const size_t n = 768, block = find_file_type(type)->block, units = n / t.unit;
    const auto row = random_row(type, n);
    const Unpacked u = unpack(type, row, n);
    std::vector<uint16_t> d(n / block), dmin(n / block);
    std::vector<int8_t> steps(units, 1), min_steps(units);
    unpack_block_scales(type, row.data(), n, d.data(), steps.data(), dmin.data(), min_steps.data());
    const auto half = [](uint16_t bits) {
      float value = 0;
      row_floats(TensorType::f16, reinterpret_cast<const std::byte*>(&bits), 1, &value);
      return value;
    };
    for (size_t i = 0; i < units; ++i) {
      const size_t b = i * t.unit / block;
      EXPECT_EQ(u.d[i], half(d[b]) * static_cast<float>(steps[i])) << i;
      if (t.has_min) {
        EXPECT_EQ(u.m[i], half(dmin[b]) * static_cast<float>(min_steps[i])) << i;
        EXPECT_TRUE(steps[i] >= 0 && steps[i] < 64 && min_steps[i] >= 0 && min_steps[i] < 64) << i;
      }
    }
  }
}

TEST(Blocks, OtherTypesAreNone) {
  for (const TensorType type : {TensorType::f32, TensorType::f16, TensorType::bf16, TensorType::q2_0,
                                TensorType{3}, TensorType{9999}})
    EXPECT_EQ(find_block_type(type), nullptr);
}

TEST(Blocks, ABoundIsWhatTheLargestInputsMake) {
  const int8_t codes[] = {1, -2, 3, -4, 5, 6, -7, 8};
  const float d[] = {2, -0.5F}, m[] = {0.25F, -1};
  const BlockBound plain = bound_of_blocks(codes, d, nullptr, 8, 4),
                   with_min = bound_of_blocks(codes, d, m, 8, 4);
  EXPECT_EQ(plain.unit, 20);
  EXPECT_EQ(plain.row, 33);
  EXPECT_EQ(with_min.unit, 21);
  EXPECT_EQ(with_min.row, 38);
  BlockBound all = with_min;
  all.add({30, 31});
  EXPECT_EQ(all.unit, 30);
  EXPECT_EQ(all.row, 38);
}

TEST(Blocks, ScalesThatAreNoNumbersLeaveNoFiniteBound) {
  const int8_t codes[] = {0, 0, 1, 1};
  for (const float bad : {std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()})
    for (const size_t at : {0U, 1U}) {
      float scales[] = {1, 1};
      const float fine[] = {1, 1};
      scales[at] = bad;
      for (const BlockBound& bound :
           {bound_of_blocks(codes, scales, fine, 4, 2), bound_of_blocks(codes, fine, scales, 4, 2)}) {
        EXPECT_FALSE(bound.finite());
        BlockBound first = bound, second = {1, 1};
        first.add({1, 1});
        second.add(bound);
        EXPECT_FALSE(first.finite());
        EXPECT_FALSE(second.finite());
      }
    }
}

TEST(Blocks, FixedIsTheLargestPowerOfTwoWithinBothBounds) {
  EXPECT_EQ(fixed_for(BlockBound{}), 1);
  for (const BlockBound& b :
       {BlockBound{1, 1}, {1, 255}, {1, 257}, {0.3, 2000}, {65504.0 * 4096, 1e12}, {0x1p-24, 0x1p-24}}) {
    const double fixed = fixed_for(b), most = 128 * std::max(b.row, 256 * b.unit);
    int exponent = 0;
    EXPECT_EQ(std::frexp(fixed, &exponent), 0.5);
    EXPECT_LE(most * fixed, 0x1p30);
    EXPECT_GT(most * fixed * 2, 0x1p30);
  }
}

// Sixteen rows as integers, packed by Layout::blocks16.
struct Packed {
  std::vector<int8_t> codes, steps, min_steps;
  std::vector<uint16_t> d, dmin;
  std::vector<std::byte> packed_codes, packed_scales;
};
Packed pack_random(TensorType id, size_t n) {
  const BlockType& type = *find_block_type(id);
  std::mt19937 rng(5);
  const size_t block = type.has_steps ? 256 : 32;
  Packed p;
  for (size_t i = 0; i < kRowsTogether * n; ++i)
    p.codes.push_back(static_cast<int8_t>(static_cast<int>(rng() % (1U << type.bits)) - type.offset));
  for (size_t i = 0; i < kRowsTogether * n / block; ++i) {
    p.d.push_back(static_cast<uint16_t>(rng()));
    p.dmin.push_back(static_cast<uint16_t>(rng()));
  }
  for (size_t i = 0; i < kRowsTogether * n / type.unit; ++i) {
    p.steps.push_back(static_cast<int8_t>(rng()));
    p.min_steps.push_back(static_cast<int8_t>(rng()));
  }
  const BlockRowBytes bytes = block16_row_bytes(id, n);
  p.packed_codes.resize(16 * bytes.codes);
  p.packed_scales.resize(16 * bytes.scales);
  pack_blocks16(id, {p.codes.data(), p.d.data(), p.steps.data(), p.dmin.data(), p.min_steps.data()}, n,
                p.packed_codes.data(), p.packed_scales.data());
  return p;
}

TEST(Blocks, SixteenRowsHaveEachCodeWhereLayoutSays) {
  for (const TensorType id : kBlockTypes) {
    SCOPED_TRACE(shown_name(id));
    const BlockType& type = *find_block_type(id);
    const size_t n = 512, words = type.unit * type.bits / 32;
    const Packed p = pack_random(id, n);
    EXPECT_EQ(p.packed_codes.size(), 16 * n * type.bits / 8);
    for (size_t row = 0; row < 16; ++row)
      for (size_t i = 0; i < n; ++i) {
        const size_t unit = i / type.unit, k = i % type.unit / 4, b = i % 4;
        const auto byte = [&](size_t word) {
          return std::to_integer<int>(p.packed_codes[((unit * words + word) * 16 + row) * 4 + b]);
        };
        int code = type.bits == 8 ? byte(k) : byte(k / 2) >> (k % 2 == 0 ? 0 : 4) & 15;
        if (type.bits == 5) code |= (byte(words - 1) >> k & 1) << 4;
        if (type.bits == 6) code |= (byte(words - 1) >> 2 * k & 3) << 4;
        ASSERT_EQ(code - type.offset, p.codes[row * n + i]) << row << " " << i;
      }
  }
}

TEST(Blocks, SixteenRowsHaveEachScaleWhereLayoutSays) {
  for (const TensorType id : kBlockTypes) {
    SCOPED_TRACE(shown_name(id));
    const BlockType& type = *find_block_type(id);
    const size_t n = 512, block = type.has_steps ? 256 : 32, units = block / type.unit;
    const size_t mins = type.has_min ? 2 : 1, steps = type.has_steps ? units * mins : 0;
    const Packed p = pack_random(id, n);
    const size_t block_bytes = 16 * (2 * mins + steps);
    ASSERT_EQ(p.packed_scales.size(), n / block * block_bytes);
    EXPECT_LE(p.packed_codes.size() + p.packed_scales.size(), find_file_type(id)->row_bytes(n) * 16 * 1.05);
    for (size_t row = 0; row < 16; ++row)
      for (size_t b = 0; b < n / block; ++b) {
        const std::byte* at = &p.packed_scales[b * block_bytes];
        const auto half = [&](size_t which) {
          uint16_t value = 0;
          std::memcpy(&value, at + (which * 16 + row) * 2, sizeof value);
          return value;
        };
        ASSERT_EQ(half(0), p.d[row * (n / block) + b]);
        if (type.has_min) {
          ASSERT_EQ(half(1), p.dmin[row * (n / block) + b]);
        }
        for (size_t u = 0; u < units && type.has_steps; ++u) {
          const std::byte* step = at + 32 * mins + u * mins * 16 + row;
          const size_t index = row * (n / type.unit) + b * units + u;
          ASSERT_EQ(static_cast<int8_t>(step[0]), p.steps[index]);
          if (type.has_min) {
            ASSERT_EQ(static_cast<int8_t>(step[16]), p.min_steps[index]);
          }
        }
      }
  }
}

}  // namespace
}  // namespace bitnet
