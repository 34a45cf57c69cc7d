// AVX2 with FMA and F16C: Intel since 2013, AMD since 2015.
#if defined(__x86_64__)
#include <immintrin.h>

#include "instructions.h"
#include "kernels.h"

USE_INSTRUCTIONS("avx2,fma,f16c")

namespace bitnet::cpu {
namespace {

#include "simd_avx2.h"

using Sums = __m256i;  // 16 bits: a dot of codes up to 2 adds at most 4 * 128 to one
constexpr uint32_t kFlush = 64;
constexpr int kTileVectors = 2, kTileTokens = 4, kRowsAtOnce = 4;

inline Sums no_sums() { return _mm256_setzero_si256(); }
inline Sums dot(Sums sums, Bytes codes, Bytes q) {
  Bytes products;
  __asm__("vpmaddubsw %3, %2, %1\n\tvpaddw %1, %0, %0" : "+x"(sums), "=&x"(products) : "x"(codes), "x"(q));
  return sums;
}
inline Sums dot_activations(Sums sums, Bytes codes, const int8_t* q, size_t i) {
  Bytes products;
  __asm__("vpmaddubsw %3, %2, %1\n\tvpaddw %1, %0, %0"
          : "+x"(sums), "=&x"(products)
          : "x"(codes), "m"(*reinterpret_cast<const __m256i_u*>(q + i * 4)));
  return sums;
}
inline Sums with_quarter(Sums a, Sums b) { return _mm256_add_epi16(a, _mm256_srai_epi16(b, 2)); }
inline Words add_words(Words words, Sums sums) {
  return _mm256_add_epi32(words, _mm256_madd_epi16(sums, _mm256_set1_epi16(1)));
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

const CpuKernels kAvx2Kernels = table_of_kernels("avx2");

}  // namespace bitnet::cpu
USE_BASE_INSTRUCTIONS
#endif
