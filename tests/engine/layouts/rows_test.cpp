// Rows of every type against values that numpy calculated one by one (make_rows.py).
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <fstream>
#include <limits>
#include <map>
#include <sstream>
#include <vector>

#include "engine/gguf.h"
#include "engine/layouts/file_types.h"

namespace bitnet {
namespace {

struct Row {
  TensorType type;
  std::vector<std::byte> bytes;
  std::vector<float> values;
};

std::vector<std::byte> from_hex(const std::string& text) {
  std::vector<std::byte> bytes;
  for (size_t i = 0; i < text.size(); i += 2)
    bytes.push_back(static_cast<std::byte>(std::stoi(text.substr(i, 2), nullptr, 16)));
  return bytes;
}

std::vector<Row> golden_rows() {
  const std::map<std::string, TensorType> types = {
      {"f32", TensorType::f32},     {"f16", TensorType::f16},
      {"bf16", TensorType::bf16},   {"q4_0", TensorType::q4_0},
      {"q5_0", TensorType::q5_0},   {"q8_0", TensorType::q8_0},
      {"q4_k", TensorType::q4_k},   {"q5_k", TensorType::q5_k},
      {"q6_k", TensorType::q6_k},   {"tq1_0", TensorType::tq1_0},
      {"tq2_0", TensorType::tq2_0}, {"i2_s", TensorType::i2_s},
      {"q2_0", TensorType::q2_0},   {"q2_0_by_128", TensorType::q2_0_by_128},
      {"pq2_0", TensorType::pq2_0}, {"ptq1_0", TensorType::ptq1_0},
      {"q1_0", TensorType::q1_0}};
  std::ifstream file(BITNET_ROWS);
  std::vector<Row> rows;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with('#')) continue;
    std::istringstream words(line);
    std::string name, bytes, values;
    words >> name >> bytes >> values;
    Row row{types.at(name), from_hex(bytes), {}};
    const auto raw = from_hex(values);
    row.values.resize(raw.size() / sizeof(float));
    std::memcpy(row.values.data(), raw.data(), raw.size());
    rows.push_back(row);
  }
  EXPECT_EQ(rows.size(), types.size());
  return rows;
}

uint32_t bits(float value) { return std::bit_cast<uint32_t>(value); }

float from_half(uint16_t half) {
  const int exponent = half >> 10 & 31, mantissa = half & 1023;
  const double size = exponent == 0    ? std::ldexp(mantissa, -24)
                      : exponent != 31 ? std::ldexp(1024 + mantissa, exponent - 25)
                      : mantissa == 0  ? std::numeric_limits<double>::infinity()
                                       : std::numeric_limits<double>::quiet_NaN();
  return static_cast<float>((half & 0x8000) != 0 ? -size : size);
}

TEST(Rows, ValuesAreThoseOfNumpy) {
  for (const Row& row : golden_rows()) {
    SCOPED_TRACE(name_of(row.type));
    ASSERT_EQ(row.bytes.size(), find_file_type(row.type)->row_bytes(row.values.size()));
    std::vector<float> values(row.values.size());
    row_floats(row.type, row.bytes.data(), values.size(), values.data());
    for (size_t i = 0; i < values.size(); ++i) ASSERT_EQ(bits(values[i]), bits(row.values[i])) << i;
  }
}

TEST(Rows, BlocksFollowOneAnother) {
  for (const Row& row : golden_rows()) {
    SCOPED_TRACE(name_of(row.type));
    std::vector<std::byte> thrice;
    for (int i = 0; i < 3; ++i) thrice.insert(thrice.end(), row.bytes.begin(), row.bytes.end());
    const size_t n = row.values.size();
    std::vector<float> values(3 * n);
    row_floats(row.type, thrice.data(), 3 * n, values.data());
    for (size_t i = 0; i < 3 * n; ++i) ASSERT_EQ(bits(values[i]), bits(row.values[i % n])) << i;
  }
}

TEST(Rows, CodesTimesScalesAreTheValues) {
  size_t n_types = 0;
  for (const Row& row : golden_rows()) {
    const FileType& type = *find_file_type(row.type);
    if (!type.trits) continue;
    ++n_types;
    SCOPED_TRACE(type.name);
    std::vector<uint8_t> codes(row.values.size());
    std::vector<uint16_t> scales(codes.size() / type.scale_every);
    ASSERT_TRUE(trits(row.type, row.bytes.data(), codes.size(), codes.data(), scales.data()));
    for (size_t i = 0; i < codes.size(); ++i) {
      ASSERT_LE(codes[i], 2);
      ASSERT_EQ(bits(from_half(scales[i / type.scale_every]) * static_cast<float>(codes[i] - 1)),
                bits(row.values[i]))
          << i;
    }
  }
  EXPECT_EQ(n_types, 8U);
}

bool has_codes_of_3(TensorType type) {
  return type != TensorType::tq1_0 && type != TensorType::ptq1_0 && type != TensorType::q1_0;
}

TEST(Rows, ACodeOf3IsRefusedAnywhere) {
  for (const Row& row : golden_rows()) {
    const FileType& type = *find_file_type(row.type);
    if (!type.trits || !has_codes_of_3(row.type)) continue;
    SCOPED_TRACE(type.name);
    std::vector<uint8_t> codes(row.values.size());
    std::vector<uint16_t> scales(codes.size() / type.scale_every);
    for (size_t byte = 0; byte < row.bytes.size(); ++byte) {
      const size_t in_block = byte % type.block_bytes;
      const bool scale =
          row.type == TensorType::tq2_0 ? in_block >= 64 : row.type != TensorType::i2_s && in_block < 2;
      for (const int shift : {0, 2, 4, 6}) {
        auto bytes = row.bytes;
        bytes[byte] |= std::byte{3} << shift;
        EXPECT_EQ(trits(row.type, bytes.data(), codes.size(), codes.data(), scales.data()), scale) << byte;
      }
    }
  }
}

TEST(Rows, AllBytesOfTq1_0AreTheirDigits) {
  std::vector<uint8_t> codes(256);
  uint16_t scale = 0;
  for (unsigned q = 0; q < 243; ++q) {
    const std::byte byte{static_cast<uint8_t>((q * 256 + 242) / 243)};
    std::vector<std::byte> row(54, byte);
    row[52] = std::byte{0x34};
    row[53] = std::byte{0x12};
    ASSERT_TRUE(trits(TensorType::tq1_0, row.data(), 256, codes.data(), &scale));
    EXPECT_EQ(scale, 0x1234);
    const unsigned digits[] = {q / 81, q / 27 % 3, q / 9 % 3, q / 3 % 3, q % 3};
    for (size_t e = 0; e < 256; ++e) {
      const size_t digit = e < 160 ? e / 32 : e < 240 ? (e - 160) / 16 : (e - 240) / 4;
      ASSERT_EQ(codes[e], digits[digit]) << q << " " << e;
    }
  }
  for (unsigned byte = 0; byte < 256; ++byte) {  // those, and 13 that no writer makes
    const std::vector<std::byte> row(54, std::byte{static_cast<uint8_t>(byte)});
    ASSERT_TRUE(trits(TensorType::tq1_0, row.data(), 256, codes.data(), &scale));
    unsigned left = byte;
    for (size_t digit = 0; digit < 5; ++digit, left = left * 3 % 256)
      ASSERT_EQ(codes[32 * digit], left * 3 / 256) << byte << " " << digit;
  }
}

TEST(Rows, BytesOfPtq1_0AreTheirDigitsOrRefused) {
  std::vector<uint8_t> codes(128);
  uint16_t scale = 0;
  std::vector<bool> is_number(256);
  for (unsigned q = 0; q < 243; ++q) {
    is_number[(q * 256 + 242) / 243] = true;
    const std::byte byte{static_cast<uint8_t>((q * 256 + 242) / 243)};
    std::vector<std::byte> row(28, byte);
    row[26] = std::byte{0x34};
    row[27] = std::byte{0x12};
    ASSERT_TRUE(trits(TensorType::ptq1_0, row.data(), 128, codes.data(), &scale)) << q;
    EXPECT_EQ(scale, 0x1234);
    const unsigned digits[] = {q / 81, q / 27 % 3, q / 9 % 3, q / 3 % 3, q % 3};
    for (size_t e = 0; e < 128; ++e) {
      const size_t digit = e < 80 ? e / 16 : e < 120 ? (e - 80) / 8 : (e - 120) / 2;
      ASSERT_EQ(codes[e], digits[digit]) << q << " " << e;
    }
  }
  for (unsigned byte = 0; byte < 256; ++byte)
    for (size_t at = 0; at < 26; ++at) {
      std::vector<std::byte> row(28);
      row[at] = std::byte{static_cast<uint8_t>(byte)};
      ASSERT_EQ(trits(TensorType::ptq1_0, row.data(), 128, codes.data(), &scale), is_number[byte])
          << byte << " " << at;
    }
}

TEST(Rows, EveryF16HasItsValue) {
  std::vector<uint16_t> halves(65536);
  for (size_t i = 0; i < halves.size(); ++i) halves[i] = static_cast<uint16_t>(i);
  std::vector<float> values(halves.size());
  row_floats(TensorType::f16, reinterpret_cast<const std::byte*>(halves.data()), values.size(),
             values.data());
  for (size_t i = 0; i < values.size(); ++i) {
    const float wanted = from_half(halves[i]);
    if (std::isnan(wanted)) {
      ASSERT_TRUE(std::isnan(values[i])) << i;
    } else {
      ASSERT_EQ(bits(values[i]), bits(wanted)) << i;
    }
  }
}

}  // namespace
}  // namespace bitnet
