// SSE4.1, for machines from before 2013 and small ones since. It has no fused multiply-add and no conversion
// of F16.
#if defined(__x86_64__)
#include <immintrin.h>

#include "instructions.h"
#include "kernels.h"

USE_INSTRUCTIONS("sse4.1")

namespace bitnet::cpu {
namespace {

using Vec = __m128;
constexpr int kVecLanes = 4;

inline Vec load(const float* from) { return _mm_loadu_ps(from); }
inline void store(float* to, Vec a) { _mm_storeu_ps(to, a); }
inline Vec set1(float x) { return _mm_set1_ps(x); }
inline Vec add(Vec a, Vec b) { return _mm_add_ps(a, b); }
inline Vec mul(Vec a, Vec b) { return _mm_mul_ps(a, b); }
inline Vec fma(Vec a, Vec b, Vec c) { return _mm_add_ps(_mm_mul_ps(a, b), c); }
inline Vec max(Vec a, Vec b) { return _mm_max_ps(a, b); }
inline Vec min(Vec a, Vec b) { return _mm_min_ps(a, b); }
inline Vec round(Vec a) { return _mm_round_ps(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC); }
inline Vec pow2(Vec n) {
  return _mm_castsi128_ps(_mm_slli_epi32(_mm_add_epi32(_mm_cvtps_epi32(n), _mm_set1_epi32(127)), 23));
}

// The exponent is given the bias of f32, twice for Inf and NaN. A subnormal is made as a number above 2^-14,
// from which 2^-14 is then subtracted, so that no f32 on the way is subnormal: the processor takes 100 times
// as long over those.
inline Vec load_halves(const uint16_t* from) {
  const __m128i half = _mm_cvtepu16_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(from)));
  const __m128i magnitude = _mm_and_si128(half, _mm_set1_epi32(0x7FFF));
  const __m128i sign = _mm_slli_epi32(_mm_xor_si128(half, magnitude), 16);
  const __m128i shifted = _mm_slli_epi32(magnitude, 13), bias = _mm_set1_epi32(112 << 23);
  const __m128i more = _mm_and_si128(_mm_cmpgt_epi32(magnitude, _mm_set1_epi32(0x7BFF)), bias);
  const __m128i normal = _mm_add_epi32(_mm_add_epi32(shifted, bias), more);
  const __m128i border = _mm_set1_epi32(113 << 23);  // 2^-14
  const __m128 small = _mm_sub_ps(_mm_castsi128_ps(_mm_add_epi32(shifted, border)), _mm_castsi128_ps(border));
  const __m128i result =
      _mm_blendv_epi8(normal, _mm_castps_si128(small), _mm_cmplt_epi32(magnitude, _mm_set1_epi32(0x0400)));
  return _mm_castsi128_ps(_mm_or_si128(sign, result));
}

// As shaders/common/half.glsl.
inline void store_halves(uint16_t* to, Vec a) {
  const __m128i bits = _mm_castps_si128(a);
  const __m128i magnitude = _mm_and_si128(bits, _mm_set1_epi32(0x7FFFFFFF));
  const __m128i sign = _mm_and_si128(_mm_srli_epi32(bits, 16), _mm_set1_epi32(0x8000));
  const __m128i odd = _mm_and_si128(_mm_srli_epi32(magnitude, 13), _mm_set1_epi32(1));
  const __m128i normal =
      _mm_srli_epi32(_mm_add_epi32(_mm_add_epi32(magnitude, _mm_set1_epi32(0xFFF - 0x38000000)), odd), 13);
  const __m128i small =
      _mm_sub_epi32(_mm_castps_si128(_mm_add_ps(_mm_castsi128_ps(magnitude), _mm_set1_ps(0.5F))),
                    _mm_set1_epi32(0x3F000000));
  const __m128i large = _mm_blendv_epi8(_mm_set1_epi32(0x7C00), _mm_set1_epi32(0x7E00),
                                        _mm_cmpgt_epi32(magnitude, _mm_set1_epi32(0x7F800000)));
  __m128i half = _mm_blendv_epi8(normal, small, _mm_cmplt_epi32(magnitude, _mm_set1_epi32(0x38800000)));
  half = _mm_blendv_epi8(half, large, _mm_cmpgt_epi32(magnitude, _mm_set1_epi32(0x477FFFFF)));
  half = _mm_or_si128(half, sign);
  _mm_storel_epi64(reinterpret_cast<__m128i*>(to), _mm_packus_epi32(half, half));
}

#include "float_loops.h"

inline float add_lanes(Floats v) {
  const __m128 four = _mm_add_ps(_mm_add_ps(v.vec[0], v.vec[2]), _mm_add_ps(v.vec[1], v.vec[3]));
  const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)));
}

inline float max_lanes(Floats v) {
  const __m128 four = _mm_max_ps(_mm_max_ps(v.vec[0], v.vec[2]), _mm_max_ps(v.vec[1], v.vec[3]));
  const __m128 two = _mm_max_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_max_ss(two, _mm_movehdup_ps(two)));
}

constexpr bool kSignedDot = false;
constexpr uint32_t kBytes = 16, kFlush = 64;
constexpr int kTileVectors = 4, kTileTokens = 2, kRowsAtOnce = 2;
using Bytes = __m128i;
using Sums = __m128i;   // 16 bits
using Words = __m128i;  // 32 bits

inline Bytes load_bytes(const void* from) { return _mm_loadu_si128(static_cast<const __m128i*>(from)); }
inline Bytes load_last_bytes(const void* from) { return load_bytes(from); }
inline Bytes load_activations(const int8_t* q, size_t i) { return load_bytes(q + i / 32 * 128 + i % 32); }
inline Bytes load_last_activations(const int8_t* q, size_t i) { return load_activations(q, i); }
inline Bytes all_bytes(char b) { return _mm_set1_epi8(b); }
inline Bytes both(Bytes a, Bytes b) { return _mm_and_si128(a, b); }
inline Bytes either(Bytes a, Bytes b) { return _mm_or_si128(a, b); }
inline Bytes exclusive(Bytes a, Bytes b) { return _mm_xor_si128(a, b); }
template <int n>
inline Bytes shift_left(Bytes a) {
  return _mm_slli_epi16(a, n);
}
template <int n>
inline Bytes shift_right(Bytes a) {
  return _mm_srli_epi16(a, n);
}
inline void store_bytes(void* to, Bytes a) { _mm_storeu_si128(static_cast<__m128i*>(to), a); }
inline void transpose_words(const uint8_t* const* rows, uint32_t i, Bytes (&words)[8]) {
  for (int half = 0; half < 2; ++half) {
    const uint32_t at = i + 16 * half;
    const Bytes r0 = load_bytes(rows[0] + at), r1 = load_bytes(rows[1] + at), r2 = load_bytes(rows[2] + at),
                r3 = load_bytes(rows[3] + at);
    const Bytes a = _mm_unpacklo_epi32(r0, r1), b = _mm_unpacklo_epi32(r2, r3),
                c = _mm_unpackhi_epi32(r0, r1), d = _mm_unpackhi_epi32(r2, r3);
    words[4 * half] = _mm_unpacklo_epi64(a, b);
    words[4 * half + 1] = _mm_unpackhi_epi64(a, b);
    words[4 * half + 2] = _mm_unpacklo_epi64(c, d);
    words[4 * half + 3] = _mm_unpackhi_epi64(c, d);
  }
}
inline Bytes repeat_word(const int8_t* from) {
  int32_t word;
  __builtin_memcpy(&word, from, sizeof word);
  return _mm_set1_epi32(word);
}
inline Sums no_sums() { return _mm_setzero_si128(); }
inline Sums dot(Sums sums, Bytes codes, Bytes q) { return _mm_add_epi16(sums, _mm_maddubs_epi16(codes, q)); }
inline Sums with_quarter(Sums a, Sums b) { return _mm_add_epi16(a, _mm_srai_epi16(b, 2)); }
inline Words no_words() { return _mm_setzero_si128(); }
inline Words add_words(Words words, Sums sums) {
  return _mm_add_epi32(words, _mm_madd_epi16(sums, _mm_set1_epi16(1)));
}
inline Words as_words(Bytes a) { return a; }
inline Words add_up(Words a, Words b) { return _mm_add_epi32(a, b); }
inline Bytes load_widened(const int8_t* from) {
  return _mm_cvtepi8_epi16(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(from)));
}
inline Words dot_words(Words w, Bytes a, Bytes b) { return _mm_add_epi32(w, _mm_madd_epi16(a, b)); }
inline int32_t total(Words w) {
  w = _mm_add_epi32(w, _mm_shuffle_epi32(w, 0x4E));
  return _mm_cvtsi128_si32(_mm_add_epi32(w, _mm_shuffle_epi32(w, 0xB1)));
}
inline void store_words(int32_t* to, Words w) { _mm_storeu_si128(reinterpret_cast<__m128i*>(to), w); }
inline Floats bytes_to_floats(Byte16 bytes) {
  const auto b = reinterpret_cast<__m128i>(bytes);
  return {_mm_cvtepi32_ps(_mm_cvtepu8_epi32(b)), _mm_cvtepi32_ps(_mm_cvtepu8_epi32(_mm_srli_si128(b, 4))),
          _mm_cvtepi32_ps(_mm_cvtepu8_epi32(_mm_srli_si128(b, 8))),
          _mm_cvtepi32_ps(_mm_cvtepu8_epi32(_mm_srli_si128(b, 12)))};
}
inline Vec load_bf16(const uint16_t* from) {
  const __m128i halves = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(from));
  return _mm_castsi128_ps(_mm_slli_epi32(_mm_cvtepu16_epi32(halves), 16));
}
inline Vec div(Vec a, Vec b) { return _mm_div_ps(a, b); }
inline Vec floats_of(Words w) { return _mm_cvtepi32_ps(w); }
inline Words rounded(Vec a) { return _mm_cvtps_epi32(a); }
inline Words minus(Words a, Words b) { return _mm_sub_epi32(a, b); }
inline Words all_words(int32_t x) { return _mm_set1_epi32(x); }
inline Words times_16(Words w) { return _mm_slli_epi32(w, 4); }
template <int n>
inline Words shift_words(Words w) {
  return _mm_srai_epi32(w, n);
}
inline void store_low_bytes(int8_t* to, const Words (&w)[4]) {
  const __m128i mask = _mm_set1_epi32(0xFF);
  const auto low = [&](int i) { return _mm_and_si128(w[i], mask); };
  const __m128i bytes = _mm_packus_epi16(_mm_packus_epi32(low(0), low(1)), _mm_packus_epi32(low(2), low(3)));
  _mm_storeu_si128(reinterpret_cast<__m128i*>(to), bytes);
}

#include "float_loops_acts.h"
#include "float_loops_delta.h"
#include "float_loops_tables.h"
#include "float_loops_units.h"
#include "integer_loops.h"
#include "integer_loops_groups.h"
#include "integer_loops_rounding.h"
#include "integer_loops_units.h"
#include "kernel_table.h"

}  // namespace

const CpuKernels kSse4Kernels = table_of_kernels("sse4");

}  // namespace bitnet::cpu
USE_BASE_INSTRUCTIONS
#endif
