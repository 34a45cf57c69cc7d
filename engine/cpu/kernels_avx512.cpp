// AVX-512 with its 4x8-bit dot product (VNNI): Intel's servers since 2019, AMD since Zen 4.
#if defined(__x86_64__)
#include <immintrin.h>

#include "instructions.h"
#include "kernels.h"

USE_INSTRUCTIONS("avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,avx2,fma,f16c")

namespace bitnet::cpu {
namespace {

using Vec = __m512;
constexpr int kVecLanes = 16;

inline Vec load(const float* from) { return _mm512_loadu_ps(from); }
inline void store(float* to, Vec a) { _mm512_storeu_ps(to, a); }
inline Vec set1(float x) { return _mm512_set1_ps(x); }
inline Vec add(Vec a, Vec b) { return _mm512_add_ps(a, b); }
inline Vec mul(Vec a, Vec b) { return _mm512_mul_ps(a, b); }
inline Vec fma(Vec a, Vec b, Vec c) { return _mm512_fmadd_ps(a, b, c); }
inline Vec max(Vec a, Vec b) { return _mm512_max_ps(a, b); }
inline Vec min(Vec a, Vec b) { return _mm512_min_ps(a, b); }
inline Vec round(Vec a) { return _mm512_roundscale_ps(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC); }
inline Vec pow2(Vec n) {
  return _mm512_castsi512_ps(
      _mm512_slli_epi32(_mm512_add_epi32(_mm512_cvtps_epi32(n), _mm512_set1_epi32(127)), 23));
}
inline Vec load_halves(const uint16_t* from) {
  return _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(from)));
}
inline void store_halves(uint16_t* to, Vec a) {
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), _mm512_cvtps_ph(a, _MM_FROUND_TO_NEAREST_INT));
}

#include "float_loops.h"

inline float add_lanes(Floats v) {
  const __m256 eight = _mm256_add_ps(_mm512_castps512_ps256(v.vec[0]), _mm512_extractf32x8_ps(v.vec[0], 1));
  const __m128 four = _mm_add_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
  const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)));
}

// The same tree for sixteen at a time: each step adds the halves of two, side by side.
inline Floats add_lanes_of_16(const Floats (&v)[16]) {
  const auto halves = [&](int i) {
    const __m512 a = v[i].vec[0], b = v[i + 4].vec[0];
    return _mm512_add_ps(_mm512_shuffle_f32x4(a, b, 0x44), _mm512_shuffle_f32x4(a, b, 0xEE));
  };
  __m512 quarters[4];  // of v[i], v[i + 4], v[i + 8] and v[i + 12]
  for (int i = 0; i < 4; ++i) {
    const __m512 a = halves(i), b = halves(i + 8);
    quarters[i] = _mm512_add_ps(_mm512_shuffle_f32x4(a, b, 0x88), _mm512_shuffle_f32x4(a, b, 0xDD));
  }
  const auto pairs = [&](int i) {
    const __m512 a = quarters[i], b = quarters[i + 1];
    return _mm512_add_ps(_mm512_shuffle_ps(a, b, 0x44), _mm512_shuffle_ps(a, b, 0xEE));
  };
  const __m512 a = pairs(0), b = pairs(2);
  return {_mm512_add_ps(_mm512_shuffle_ps(a, b, 0x88), _mm512_shuffle_ps(a, b, 0xDD))};
}

inline float max_lanes(Floats v) { return _mm512_reduce_max_ps(v.vec[0]); }

constexpr bool kSignedDot = false;
constexpr uint32_t kBytes = 64, kFlush = 1 << 20;
constexpr int kTileVectors = 2, kTileTokens = 12, kRowsAtOnce = 4;
using Bytes = __m512i;
using Sums = __m512i;  // 32 bits
using Words = __m512i;

inline __m256i load32(const void* from) { return _mm256_loadu_si256(static_cast<const __m256i*>(from)); }
inline Bytes load_bytes(const void* from) { return _mm512_loadu_si512(from); }
inline Bytes load_last_bytes(const void* from) { return _mm512_zextsi256_si512(load32(from)); }
inline Bytes load_activations(const int8_t* q, size_t i) {
  return _mm512_inserti64x4(_mm512_castsi256_si512(load32(q + i * 4)), load32(q + i * 4 + 128), 1);
}
inline Bytes load_last_activations(const int8_t* q, size_t i) {
  return _mm512_zextsi256_si512(load32(q + i * 4));
}
inline Bytes all_bytes(char b) { return _mm512_set1_epi8(b); }
inline Bytes both(Bytes a, Bytes b) { return _mm512_and_si512(a, b); }
inline Bytes either(Bytes a, Bytes b) { return _mm512_or_si512(a, b); }
inline Bytes exclusive(Bytes a, Bytes b) { return _mm512_xor_si512(a, b); }
template <int n>
inline Bytes shift_left(Bytes a) {
  return _mm512_slli_epi16(a, n);
}
template <int n>
inline Bytes shift_right(Bytes a) {
  return _mm512_srli_epi16(a, n);
}
inline void store_bytes(void* to, Bytes a) { _mm512_storeu_si512(to, a); }
inline Bytes load_two(const uint8_t* low, const uint8_t* high) {
  return _mm512_inserti64x4(_mm512_castsi256_si512(load32(low)), load32(high), 1);
}
// Transposes each 128-bit quarter by itself: words 0 to 3 of rows 0 to 3, their words 4 to 7, then the same
// of rows 4 to 7.
inline void transpose_quarters(const uint8_t* const* rows, uint32_t i, Bytes (&words)[4]) {
  const Bytes r0 = load_two(rows[0] + i, rows[4] + i), r1 = load_two(rows[1] + i, rows[5] + i),
              r2 = load_two(rows[2] + i, rows[6] + i), r3 = load_two(rows[3] + i, rows[7] + i);
  const Bytes a = _mm512_unpacklo_epi32(r0, r1), b = _mm512_unpacklo_epi32(r2, r3),
              c = _mm512_unpackhi_epi32(r0, r1), d = _mm512_unpackhi_epi32(r2, r3);
  words[0] = _mm512_unpacklo_epi64(a, b);
  words[1] = _mm512_unpackhi_epi64(a, b);
  words[2] = _mm512_unpacklo_epi64(c, d);
  words[3] = _mm512_unpackhi_epi64(c, d);
}
inline void transpose_words(const uint8_t* const* rows, uint32_t i, Bytes (&words)[8]) {
  Bytes low[4], high[4];
  transpose_quarters(rows, i, low);
  transpose_quarters(rows + 8, i, high);
  for (int w = 0; w < 4; ++w) {
    words[w] = _mm512_shuffle_i32x4(low[w], high[w], 0x88);      // quarters 0, 2 of both
    words[4 + w] = _mm512_shuffle_i32x4(low[w], high[w], 0xDD);  // 1, 3
  }
}
inline Bytes repeat_word(const int8_t* from) {
  int32_t word;
  __builtin_memcpy(&word, from, sizeof word);
  return _mm512_set1_epi32(word);
}
inline Sums no_sums() { return _mm512_setzero_si512(); }
inline Sums dot(Sums sums, Bytes codes, Bytes q) {
  __asm__("vpdpbusd %2, %1, %0" : "+v"(sums) : "v"(codes), "v"(q));
  return sums;
}
inline Sums with_quarter(Sums a, Sums b) { return _mm512_add_epi32(a, _mm512_srai_epi32(b, 2)); }
inline Words no_words() { return _mm512_setzero_si512(); }
inline Words add_words(Words words, Sums sums) { return _mm512_add_epi32(words, sums); }
inline Words as_words(Bytes a) { return a; }
inline Words add_up(Words a, Words b) { return _mm512_add_epi32(a, b); }
inline Bytes load_widened(const int8_t* from) { return _mm512_cvtepi8_epi16(load32(from)); }
inline Words dot_words(Words w, Bytes a, Bytes b) { return _mm512_dpwssd_epi32(w, a, b); }
inline int32_t total(Words w) {  // may wrap, which _mm512_reduce_add_epi32 must not
  const __m256i eight = _mm256_add_epi32(_mm512_castsi512_si256(w), _mm512_extracti64x4_epi64(w, 1));
  __m128i four = _mm_add_epi32(_mm256_castsi256_si128(eight), _mm256_extracti128_si256(eight, 1));
  four = _mm_add_epi32(four, _mm_shuffle_epi32(four, 0x4E));
  return _mm_cvtsi128_si32(_mm_add_epi32(four, _mm_shuffle_epi32(four, 0xB1)));
}
inline void store_words(int32_t* to, Words w) { _mm512_storeu_si512(to, w); }
inline Floats bytes_to_floats(Byte16 bytes) {
  return {_mm512_cvtepi32_ps(_mm512_cvtepu8_epi32(reinterpret_cast<__m128i>(bytes)))};
}
inline Vec load_bf16(const uint16_t* from) {
  return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(load32(from)), 16));
}
inline Vec div(Vec a, Vec b) { return _mm512_div_ps(a, b); }
inline Vec floats_of(Words w) { return _mm512_cvtepi32_ps(w); }
inline Words rounded(Vec a) { return _mm512_cvtps_epi32(a); }
inline Words minus(Words a, Words b) { return _mm512_sub_epi32(a, b); }
inline Words all_words(int32_t x) { return _mm512_set1_epi32(x); }
inline Words times_16(Words w) { return _mm512_slli_epi32(w, 4); }
template <int n>
inline Words shift_words(Words w) {
  return _mm512_srai_epi32(w, n);
}
inline void store_low_bytes(int8_t* to, const Words (&w)[1]) {
  _mm_storeu_si128(reinterpret_cast<__m128i*>(to), _mm512_cvtepi32_epi8(w[0]));
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

// Rows times several tokens, whose codes are decoded once. The 32 bytes of a block of 128 codes are taken
// twice, so that 64 codes meet 64 inputs as they lie: those at shifts 6 and 4, and those at 2 and 0.
template <int kRows, int kTokens>
void rows_of_tokens(const uint8_t* codes, uint32_t n_in, const int8_t* q, size_t stride, int32_t* sums) {
  constexpr uint32_t kBlock = 128;
  const __m512i low = _mm512_set1_epi8(3);
  const __m512i first = _mm512_inserti64x4(_mm512_set1_epi64(6), _mm256_set1_epi64x(4), 1),
                second = _mm512_inserti64x4(_mm512_set1_epi64(2), _mm256_setzero_si256(), 1);
  __m512i total_of[kRows][kTokens];
  for (int r = 0; r < kRows; ++r)
    for (int t = 0; t < kTokens; ++t) total_of[r][t] = no_sums();
  for (uint32_t i = 0; i < n_in; i += kBlock) {
    __m512i upper[kRows], lower[kRows];
    for (int r = 0; r < kRows; ++r) {
      const uint8_t* at = codes + (size_t{n_in} * r + i) / 4;
      __builtin_prefetch(at + kAhead, 0, kToSecondCache);
      const __m512i bits = _mm512_broadcast_i64x4(load32(at));
      upper[r] = _mm512_and_si512(_mm512_srlv_epi64(bits, first), low);
      lower[r] = _mm512_and_si512(_mm512_srlv_epi64(bits, second), low);
    }
    for (int t = 0; t < kTokens; ++t) {
      const __m512i q0 = load_bytes(q + size_t{n_in} * t + i), q1 = load_bytes(q + size_t{n_in} * t + i + 64);
      for (int r = 0; r < kRows; ++r) total_of[r][t] = dot(dot(total_of[r][t], upper[r], q0), lower[r], q1);
    }
  }
  for (int r = 0; r < kRows; ++r)
    for (int t = 0; t < kTokens; ++t) sums[t * stride + static_cast<size_t>(r)] = total(total_of[r][t]);
}

template <int kTokens>
void rows_of_tokens(const uint8_t* codes, uint32_t n_in, uint32_t n_rows, const int8_t* q, size_t stride,
                    int32_t* sums) {
  constexpr uint32_t kRows = 8 / kTokens * 2;
  uint32_t r = 0;
  for (; r + kRows <= n_rows; r += kRows)
    rows_of_tokens<kRows, kTokens>(codes + size_t{n_in} / 4 * r, n_in, q, stride, sums + r);
  for (; r < n_rows; ++r) rows_of_tokens<1, kTokens>(codes + size_t{n_in} / 4 * r, n_in, q, stride, sums + r);
}

void rows_of_any_tokens(const uint8_t* codes, uint32_t n_in, uint32_t n_rows, const int8_t* q,
                        uint32_t n_tokens, size_t stride, int32_t* sums) {
  const auto some = [&](auto take, uint32_t tokens) {
    for (; n_tokens >= tokens; n_tokens -= tokens, q += size_t{n_in} * tokens, sums += stride * tokens)
      take(codes, n_in, n_rows, q, stride, sums);
  };
  some(rows_of_tokens<8>, 8);
  some(rows_of_tokens<4>, 4);
  some(rows_of_tokens<2>, 2);
  ternary_rows(codes, n_in, n_rows, q, n_tokens, stride, sums);
}

consteval CpuKernels with_rows_of_tokens() {
  CpuKernels kernels = table_of_kernels("avx512-vnni");
  kernels.ternary_rows = rows_of_any_tokens;
  return kernels;
}

}  // namespace

const CpuKernels kAvx512Kernels = with_rows_of_tokens();

}  // namespace bitnet::cpu
USE_BASE_INSTRUCTIONS
#endif
