// AVX2 and the 4x8-bit dot product of AVX-VNNI: Intel's laptops since 2021, AMD since Zen 5.
#if defined(__x86_64__)
#include <immintrin.h>

#include "instructions.h"
#include "kernels.h"

USE_INSTRUCTIONS("avx2,fma,f16c,avxvnni")

namespace bitnet::cpu {
namespace {

#include "simd_avx2.h"

using Sums = __m256i;  // 32 bits
constexpr uint32_t kFlush = 1 << 20;
constexpr int kTileVectors = 4, kTileTokens = 3, kRowsAtOnce = 4;

inline Sums no_sums() { return _mm256_setzero_si256(); }
inline Sums dot(Sums sums, Bytes codes, Bytes q) {
  __asm__("%{vex%} vpdpbusd %2, %1, %0" : "+x"(sums) : "x"(codes), "x"(q));
  return sums;
}
inline Sums with_quarter(Sums a, Sums b) { return add_up(a, shift_words<2>(b)); }
inline Words add_words(Words words, Sums sums) { return _mm256_add_epi32(words, sums); }

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

const CpuKernels kAvxVnniKernels = table_of_kernels("avx-vnni");

}  // namespace bitnet::cpu
USE_BASE_INSTRUCTIONS
#endif
