#include "engine/layouts/pack_blocks.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "engine/gguf.h"

namespace bitnet {
namespace {

constexpr TensorType kPackedTypes[] = {TensorType::q8_0, TensorType::q4_0, TensorType::q5_0,
                                       TensorType::q4_k, TensorType::q5_k, TensorType::q6_k};

uint32_t at(const std::vector<std::byte>& bytes, size_t i) { return std::to_integer<uint32_t>(bytes.at(i)); }
uint32_t half_at(const std::vector<std::byte>& bytes, size_t i) {
  return at(bytes, i) | at(bytes, i + 1) << 8;
}

// The code of an input, found as the header says.
int code_at(const BlockType& t, const std::vector<std::byte>& codes, size_t n, size_t i) {
  const size_t runs = n / 32, run = i / 32, in_run = i % 32, quad = in_run % 16;
  if (t.bits == 8) return static_cast<int8_t>(at(codes, (in_run / 16 * runs + run) * 16 + quad));
  uint32_t code = at(codes, run * 16 + quad) >> in_run / 16 * 4 & 15;
  const size_t high = runs * 16 + run * (t.bits - 4) * 4;
  if (t.bits == 5) code |= (at(codes, high + in_run % 4) >> in_run / 4 & 1) << 4;
  if (t.bits == 6) code |= (at(codes, high + in_run / 16 * 4 + quad % 4) >> quad / 4 * 2 & 3) << 4;
  const bool negative = t.offset != 0 && code >> (t.bits - 1) != 0;
  return static_cast<int>(code) - (negative ? 1 << t.bits : 0);
}

TEST(PackBlocks, CodesAndScalesAreWhereTheLayoutSays) {
  for (const TensorType type : kPackedTypes)
    for (const size_t n : {size_t{256}, size_t{768}, size_t{96}}) {
      const BlockType& t = *find_block_type(type);
      if (t.has_steps && n % 256 != 0) continue;
      SCOPED_TRACE(shown_name(type) + " of " + std::to_string(n));
      std::mt19937 rng(static_cast<uint32_t>(n));
      std::vector<std::byte> row(find_file_type(type)->row_bytes(n));
      for (std::byte& b : row) b = static_cast<std::byte>(rng());
      const BlockRowBytes bytes = block_row_bytes(type, n);
      EXPECT_EQ(bytes.codes % 16, 0U);
      std::vector<std::byte> codes(bytes.codes, std::byte{0xAA}), scales(bytes.scales, std::byte{0xAA});
      pack_blocks(type, row.data(), n, codes.data(), scales.data());

      std::vector<int8_t> wanted(n), steps(n / t.unit), min_steps(n / t.unit);
      const size_t block = find_file_type(type)->block;
      std::vector<uint16_t> d(n / block), dmin(n / block);
      t.codes(row.data(), n, wanted.data());
      t.scales(row.data(), n, d.data(), steps.data(), dmin.data(), min_steps.data());
      for (size_t i = 0; i < n; ++i) ASSERT_EQ(code_at(t, codes, n, i), wanted[i]) << i;
      for (size_t run = 0; run < n / 32; ++run) {
        if (!t.has_steps) {
          ASSERT_EQ(half_at(scales, 2 * run), d[run]);
          continue;
        }
        const size_t first = run * 32 / t.unit;
        EXPECT_EQ(static_cast<int8_t>(at(scales, 2 * run)), steps[first]);
        EXPECT_EQ(static_cast<int8_t>(at(scales, 2 * run + 1)),
                  t.has_min ? min_steps[first] : steps[first + 1]);
        const size_t word = n / 16 + run / 8 * 4;
        EXPECT_EQ(half_at(scales, word), d[run / 8]);
        EXPECT_EQ(half_at(scales, word + 2), dmin[run / 8]);
      }
    }
}

// As many bits as in the file, and little more.
TEST(PackBlocks, RowsTakeWhatTheyTakeInTheFile) {
  for (const TensorType type : kPackedTypes) {
    const BlockRowBytes bytes = block_row_bytes(type, 2560);
    const uint64_t of_file = find_file_type(type)->row_bytes(2560);
    EXPECT_GE(bytes.codes + bytes.scales, of_file) << shown_name(type);
    EXPECT_LE(bytes.codes + bytes.scales, of_file + of_file * 3 / 100) << shown_name(type);
  }
}

}  // namespace
}  // namespace bitnet
