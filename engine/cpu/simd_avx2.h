// What float_loops.h and integer_loops.h need of AVX2, except the dot product. It is included as they are.

using Vec = __m256;
constexpr int kVecLanes = 8;

inline Vec load(const float* from) { return _mm256_loadu_ps(from); }
inline void store(float* to, Vec a) { _mm256_storeu_ps(to, a); }
inline Vec set1(float x) { return _mm256_set1_ps(x); }
inline Vec add(Vec a, Vec b) { return _mm256_add_ps(a, b); }
inline Vec mul(Vec a, Vec b) { return _mm256_mul_ps(a, b); }
inline Vec fma(Vec a, Vec b, Vec c) { return _mm256_fmadd_ps(a, b, c); }
inline Vec max(Vec a, Vec b) { return _mm256_max_ps(a, b); }
inline Vec min(Vec a, Vec b) { return _mm256_min_ps(a, b); }
inline Vec round(Vec a) { return _mm256_round_ps(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC); }
inline Vec pow2(Vec n) {
  return _mm256_castsi256_ps(
      _mm256_slli_epi32(_mm256_add_epi32(_mm256_cvtps_epi32(n), _mm256_set1_epi32(127)), 23));
}
inline Vec load_halves(const uint16_t* from) {
  return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from)));
}
inline void store_halves(uint16_t* to, Vec a) {
  _mm_storeu_si128(reinterpret_cast<__m128i*>(to), _mm256_cvtps_ph(a, _MM_FROUND_TO_NEAREST_INT));
}

#include "float_loops.h"

inline float add_lanes(Floats v) {
  const __m256 eight = _mm256_add_ps(v.vec[0], v.vec[1]);
  const __m128 four = _mm_add_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
  const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)));
}

inline float max_lanes(Floats v) {
  const __m256 eight = _mm256_max_ps(v.vec[0], v.vec[1]);
  const __m128 four = _mm_max_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
  const __m128 two = _mm_max_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_max_ss(two, _mm_movehdup_ps(two)));
}

constexpr bool kSignedDot = false;
constexpr uint32_t kBytes = 32;
using Bytes = __m256i;
using Words = __m256i;

inline Bytes load_bytes(const void* from) { return _mm256_loadu_si256(static_cast<const __m256i*>(from)); }
inline Bytes load_last_bytes(const void* from) { return load_bytes(from); }
inline Bytes load_activations(const int8_t* q, size_t i) { return load_bytes(q + i * 4); }
inline Bytes load_last_activations(const int8_t* q, size_t i) { return load_activations(q, i); }
inline Bytes all_bytes(char b) { return _mm256_set1_epi8(b); }
inline Bytes both(Bytes a, Bytes b) { return _mm256_and_si256(a, b); }
inline Bytes either(Bytes a, Bytes b) { return _mm256_or_si256(a, b); }
inline Bytes exclusive(Bytes a, Bytes b) { return _mm256_xor_si256(a, b); }
template <int n>
inline Bytes shift_left(Bytes a) {
  return _mm256_slli_epi16(a, n);
}
template <int n>
inline Bytes shift_right(Bytes a) {
  return _mm256_srli_epi16(a, n);
}
inline void store_bytes(void* to, Bytes a) { _mm256_storeu_si256(static_cast<__m256i*>(to), a); }
// Transposes each 128-bit half by itself: words 0 to 3 of four rows are in the lower half, 4 to 7 in the
// upper.
inline void transpose_halves(const uint8_t* const* rows, uint32_t i, Bytes (&words)[4]) {
  const Bytes r0 = load_bytes(rows[0] + i), r1 = load_bytes(rows[1] + i), r2 = load_bytes(rows[2] + i),
              r3 = load_bytes(rows[3] + i);
  const Bytes a = _mm256_unpacklo_epi32(r0, r1), b = _mm256_unpacklo_epi32(r2, r3),
              c = _mm256_unpackhi_epi32(r0, r1), d = _mm256_unpackhi_epi32(r2, r3);
  words[0] = _mm256_unpacklo_epi64(a, b);
  words[1] = _mm256_unpackhi_epi64(a, b);
  words[2] = _mm256_unpacklo_epi64(c, d);
  words[3] = _mm256_unpackhi_epi64(c, d);
}
inline void transpose_words(const uint8_t* const* rows, uint32_t i, Bytes (&words)[8]) {
  Bytes low[4], high[4];
  transpose_halves(rows, i, low);
  transpose_halves(rows + 4, i, high);
  for (int w = 0; w < 4; ++w) {
    words[w] = _mm256_permute2x128_si256(low[w], high[w], 0x20);
    words[4 + w] = _mm256_permute2x128_si256(low[w], high[w], 0x31);
  }
}
inline Bytes repeat_word(const int8_t* from) {
  int32_t word;
  __builtin_memcpy(&word, from, sizeof word);
  return _mm256_set1_epi32(word);
}
inline Words no_words() { return _mm256_setzero_si256(); }
inline Words as_words(Bytes a) { return a; }
inline Words add_up(Words a, Words b) { return _mm256_add_epi32(a, b); }
inline Bytes load_widened(const int8_t* from) {
  return _mm256_cvtepi8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from)));
}
inline Words dot_words(Words w, Bytes a, Bytes b) { return _mm256_add_epi32(w, _mm256_madd_epi16(a, b)); }
inline int32_t total(Words w) {
  __m128i v = _mm_add_epi32(_mm256_castsi256_si128(w), _mm256_extracti128_si256(w, 1));
  v = _mm_add_epi32(v, _mm_shuffle_epi32(v, 0x4E));
  return _mm_cvtsi128_si32(_mm_add_epi32(v, _mm_shuffle_epi32(v, 0xB1)));
}
inline void store_totals(const Words (&words)[4], int32_t* to, size_t stride) {
  const Words all =
      _mm256_hadd_epi32(_mm256_hadd_epi32(words[0], words[1]), _mm256_hadd_epi32(words[2], words[3]));
  const __m128i four = _mm_add_epi32(_mm256_castsi256_si128(all), _mm256_extracti128_si256(all, 1));
  if (stride == 1) return _mm_storeu_si128(reinterpret_cast<__m128i*>(to), four);
  to[0] = _mm_cvtsi128_si32(four);
  to[stride] = _mm_extract_epi32(four, 1);
  to[2 * stride] = _mm_extract_epi32(four, 2);
  to[3 * stride] = _mm_extract_epi32(four, 3);
}
inline void store_words(int32_t* to, Words w) { _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), w); }
inline Floats bytes_to_floats(Byte16 bytes) {
  const auto b = reinterpret_cast<__m128i>(bytes);
  return {_mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(b)),
          _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(_mm_srli_si128(b, 8)))};
}
inline Vec load_bf16(const uint16_t* from) {
  const __m128i halves = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
  return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(halves), 16));
}
inline Vec div(Vec a, Vec b) { return _mm256_div_ps(a, b); }
inline Vec floats_of(Words w) { return _mm256_cvtepi32_ps(w); }
inline Words rounded(Vec a) { return _mm256_cvtps_epi32(a); }
inline Words minus(Words a, Words b) { return _mm256_sub_epi32(a, b); }
inline Words all_words(int32_t x) { return _mm256_set1_epi32(x); }
inline Words times_16(Words w) { return _mm256_slli_epi32(w, 4); }
template <int n>
inline Words shift_words(Words w) {
  return _mm256_srai_epi32(w, n);
}
inline void store_low_bytes(int8_t* to, const Words (&w)[2]) {
  const __m256i mask = _mm256_set1_epi32(0xFF);
  const __m256i halves =  // words 0 to 3, 8 to 11 of the 16, then 4 to 7, 12 to 15
      _mm256_packus_epi32(_mm256_and_si256(w[0], mask), _mm256_and_si256(w[1], mask));
  const __m256i in_order = _mm256_permute4x64_epi64(halves, 0xD8);
  const __m128i bytes =
      _mm_packus_epi16(_mm256_castsi256_si128(in_order), _mm256_extracti128_si256(in_order, 1));
  _mm_storeu_si128(reinterpret_cast<__m128i*>(to), bytes);
}
