// The functions of the rows of the table in file_types.cpp, a file for each family of types.
//
// Thread rule: free functions. All of them require whole blocks.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace bitnet::layouts {

inline uint16_t load_u16(const std::byte* at) {
  uint16_t value = 0;
  std::memcpy(&value, at, sizeof value);
  return value;
}

// The value of an F16. Compilers turn a loop over this into vectors; no step has a subnormal float, which are
// slow.
inline float from_half(uint16_t half) {
  const uint32_t magnitude = half & 0x7FFFU;
  const float tiny = static_cast<float>(static_cast<int32_t>(magnitude)) * 0x1p-24F;  // where subnormal
  const uint32_t normal = (magnitude << 13) + (magnitude < 0x7C00 ? 112U << 23 : 224U << 23);
  const uint32_t bits = magnitude < 0x0400 ? std::bit_cast<uint32_t>(tiny) : normal;
  return std::bit_cast<float>(bits | (half & 0x8000U) << 16);
}
inline float half_at(const std::byte* at) { return from_half(load_u16(at)); }

// floats.cpp
void f32_floats(const std::byte* row, size_t n, float* out);
void f16_floats(const std::byte* row, size_t n, float* out);
void bf16_floats(const std::byte* row, size_t n, float* out);
// blocks_of_32.cpp
void q4_0_floats(const std::byte* row, size_t n, float* out);
void q5_0_floats(const std::byte* row, size_t n, float* out);
void q8_0_floats(const std::byte* row, size_t n, float* out);
// k_quants.cpp
void q4_k_floats(const std::byte* row, size_t n, float* out);
void q5_k_floats(const std::byte* row, size_t n, float* out);
void q6_k_floats(const std::byte* row, size_t n, float* out);
// ternary.cpp
bool i2_s_trits(const std::byte* row, size_t n, uint8_t* codes, uint16_t* scales);
bool tq1_0_trits(const std::byte* row, size_t n, uint8_t* codes, uint16_t* scales);
bool tq2_0_trits(const std::byte* row, size_t n, uint8_t* codes, uint16_t* scales);
bool q2_0_trits(const std::byte* row, size_t n, uint8_t* codes, uint16_t* scales);
bool q2_0_by_128_trits(const std::byte* row, size_t n, uint8_t* codes, uint16_t* scales);
bool ptq1_0_trits(const std::byte* row, size_t n, uint8_t* codes, uint16_t* scales);
bool q1_0_trits(const std::byte* row, size_t n, uint8_t* codes, uint16_t* scales);
void i2_s_floats(const std::byte* row, size_t n, float* out);
void tq1_0_floats(const std::byte* row, size_t n, float* out);
void tq2_0_floats(const std::byte* row, size_t n, float* out);
void q2_0_floats(const std::byte* row, size_t n, float* out);
void q2_0_by_128_floats(const std::byte* row, size_t n, float* out);
void ptq1_0_floats(const std::byte* row, size_t n, float* out);
void q1_0_floats(const std::byte* row, size_t n, float* out);

}  // namespace bitnet::layouts
