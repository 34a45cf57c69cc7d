// NEON with the 4x8-bit dot product: ARMv8.2 and later, Apple's and most servers' and phones' of 2018 on.
#if defined(__aarch64__)
#include <arm_neon.h>

#include "instructions.h"
#include "kernels.h"

USE_INSTRUCTIONS("arch=armv8.2-a+dotprod")

namespace bitnet::cpu {
namespace {

using Vec = float32x4_t;
constexpr int kVecLanes = 4;

inline Vec load(const float* from) { return vld1q_f32(from); }
inline void store(float* to, Vec a) { vst1q_f32(to, a); }
inline Vec set1(float x) { return vdupq_n_f32(x); }
inline Vec add(Vec a, Vec b) { return vaddq_f32(a, b); }
inline Vec mul(Vec a, Vec b) { return vmulq_f32(a, b); }
inline Vec fma(Vec a, Vec b, Vec c) { return vfmaq_f32(c, a, b); }
inline Vec max(Vec a, Vec b) { return vbslq_f32(vcgtq_f32(a, b), a, b); }
inline Vec min(Vec a, Vec b) { return vbslq_f32(vcltq_f32(a, b), a, b); }
inline Vec round(Vec a) { return vrndnq_f32(a); }
inline Vec pow2(Vec n) {
  return vreinterpretq_f32_s32(vshlq_n_s32(vaddq_s32(vcvtnq_s32_f32(n), vdupq_n_s32(127)), 23));
}
inline Vec load_halves(const uint16_t* from) { return vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16(from))); }
inline void store_halves(uint16_t* to, Vec a) { vst1_u16(to, vreinterpret_u16_f16(vcvt_f16_f32(a))); }

#include "float_loops.h"

inline float add_lanes(Floats v) {
  const float32x4_t four = vaddq_f32(vaddq_f32(v.vec[0], v.vec[2]), vaddq_f32(v.vec[1], v.vec[3]));
  const float32x2_t two = vadd_f32(vget_low_f32(four), vget_high_f32(four));
  return vget_lane_f32(two, 0) + vget_lane_f32(two, 1);
}

inline float max_lanes(Floats v) {
  return vmaxvq_f32(vmaxq_f32(vmaxq_f32(v.vec[0], v.vec[1]), vmaxq_f32(v.vec[2], v.vec[3])));
}

constexpr bool kSignedDot = true;
constexpr uint32_t kBytes = 16, kFlush = 1 << 20;
constexpr int kTileVectors = 8, kTileTokens = 2, kRowsAtOnce = 4;
using Bytes = int8x16_t;
using Sums = int32x4_t;
using Words = int32x4_t;

inline Bytes load_bytes(const void* from) { return vld1q_s8(static_cast<const int8_t*>(from)); }
inline Bytes load_last_bytes(const void* from) { return load_bytes(from); }
inline Bytes load_activations(const int8_t* q, size_t i) { return load_bytes(q + i / 32 * 128 + i % 32); }
inline Bytes load_last_activations(const int8_t* q, size_t i) { return load_activations(q, i); }
inline Bytes all_bytes(int8_t b) { return vdupq_n_s8(b); }
inline Bytes both(Bytes a, Bytes b) { return vandq_s8(a, b); }
inline Bytes either(Bytes a, Bytes b) { return vorrq_s8(a, b); }
inline Bytes exclusive(Bytes a, Bytes b) { return veorq_s8(a, b); }
template <int n>
inline Bytes shift_left(Bytes a) {
  return vshlq_n_s8(a, n);
}
template <int n>
inline Bytes shift_right(Bytes a) {
  return vreinterpretq_s8_u8(vshrq_n_u8(vreinterpretq_u8_s8(a), n));
}
inline void store_bytes(void* to, Bytes a) { vst1q_s8(static_cast<int8_t*>(to), a); }
inline void transpose_words(const uint8_t* const* rows, uint32_t i, Bytes (&words)[8]) {
  for (int half = 0; half < 2; ++half) {
    int32x4_t r[4];
    for (int k = 0; k < 4; ++k) r[k] = vreinterpretq_s32_s8(load_bytes(rows[k] + i + 16 * half));
    const int32x4_t a = vtrn1q_s32(r[0], r[1]), b = vtrn2q_s32(r[0], r[1]), c = vtrn1q_s32(r[2], r[3]),
                    d = vtrn2q_s32(r[2], r[3]);
    const auto pair = [](int32x4_t x, int32x4_t y, bool upper) {
      const int64x2_t p = vreinterpretq_s64_s32(x), q = vreinterpretq_s64_s32(y);
      return vreinterpretq_s8_s64(upper ? vtrn2q_s64(p, q) : vtrn1q_s64(p, q));
    };
    words[4 * half] = pair(a, c, false);
    words[4 * half + 1] = pair(b, d, false);
    words[4 * half + 2] = pair(a, c, true);
    words[4 * half + 3] = pair(b, d, true);
  }
}
inline Bytes repeat_word(const int8_t* from) {
  int32_t word;
  __builtin_memcpy(&word, from, sizeof word);
  return vreinterpretq_s8_s32(vdupq_n_s32(word));
}
inline Sums no_sums() { return vdupq_n_s32(0); }
inline Sums dot(Sums sums, Bytes codes, Bytes q) { return vdotq_s32(sums, codes, q); }
inline Sums with_quarter(Sums a, Sums b) { return vaddq_s32(a, vshrq_n_s32(b, 2)); }
inline Words no_words() { return vdupq_n_s32(0); }
inline Words add_words(Words words, Sums sums) { return vaddq_s32(words, sums); }
inline Words as_words(Bytes a) { return vreinterpretq_s32_s8(a); }
inline Words add_up(Words a, Words b) { return vaddq_s32(a, b); }
inline Bytes load_widened(const int8_t* from) { return vreinterpretq_s8_s16(vmovl_s8(vld1_s8(from))); }
inline Words dot_words(Words w, Bytes a, Bytes b) {
  const int16x8_t x = vreinterpretq_s16_s8(a), y = vreinterpretq_s16_s8(b);
  return vmlal_high_s16(vmlal_s16(w, vget_low_s16(x), vget_low_s16(y)), x, y);
}
inline int32_t total(Words w) { return vaddvq_s32(w); }
inline void store_words(int32_t* to, Words w) { vst1q_s32(to, w); }
inline Floats bytes_to_floats(Byte16 bytes) {
  const auto b = reinterpret_cast<uint8x16_t>(bytes);
  const uint16x8_t low = vmovl_u8(vget_low_u8(b)), high = vmovl_u8(vget_high_u8(b));
  return {vcvtq_f32_u32(vmovl_u16(vget_low_u16(low))), vcvtq_f32_u32(vmovl_u16(vget_high_u16(low))),
          vcvtq_f32_u32(vmovl_u16(vget_low_u16(high))), vcvtq_f32_u32(vmovl_u16(vget_high_u16(high)))};
}
inline Vec load_bf16(const uint16_t* from) { return vreinterpretq_f32_u32(vshll_n_u16(vld1_u16(from), 16)); }
inline Vec div(Vec a, Vec b) { return vdivq_f32(a, b); }
inline Vec floats_of(Words w) { return vcvtq_f32_s32(w); }
inline Words rounded(Vec a) { return vcvtnq_s32_f32(a); }
inline Words minus(Words a, Words b) { return vsubq_s32(a, b); }
inline Words all_words(int32_t x) { return vdupq_n_s32(x); }
inline Words times_16(Words w) { return vshlq_n_s32(w, 4); }
template <int n>
inline Words shift_words(Words w) {
  return vshrq_n_s32(w, n);
}
inline void store_low_bytes(int8_t* to, const Words (&w)[4]) {
  const int16x8_t low = vmovn_high_s32(vmovn_s32(w[0]), w[1]), high = vmovn_high_s32(vmovn_s32(w[2]), w[3]);
  vst1q_s8(to, vmovn_high_s16(vmovn_s16(low), high));
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

const CpuKernels kNeonKernels = table_of_kernels("neon");

}  // namespace bitnet::cpu
USE_BASE_INSTRUCTIONS
#endif
