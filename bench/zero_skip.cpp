// Does it pay to leave out the zeros of ternary weights, which are about 42 %? This compares the dense dot
// product of the CPU backend with two ways without products, for rows from memory and from the second cache,
// on all threads:
//   select    adds q where the code is +1 and subtracts it where the code is -1, by masks: a zero costs as
//   much
//             as another code
//   walk      goes through the places that are not zero, by the bits of the codes: a zero costs nothing
// Both would also save the sum of q that the dense product needs, but that is needed once for a whole matrix.
//
//   zero_skip [THREADS]       on a processor with AVX-512
#if defined(__x86_64__)
#include <fmt/format.h>
#include <immintrin.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <random>
#include <vector>

#include "engine/cpu/kernels.h"
#include "engine/cpu/thread_pool.h"

namespace {

using namespace bitnet::cpu;
using Clock = std::chrono::steady_clock;
using Rows = void (*)(const uint8_t* codes, uint32_t n_in, uint32_t n_rows, const int8_t* q, int32_t* sums);

#pragma GCC push_options
#pragma GCC target("avx512f,avx512bw,avx512vnni,popcnt,bmi")

// 64 codes: the bits of those that are +1 and of those that are -1. Two blocks of 32 bytes at one shift.
struct Signs {
  uint64_t plus, minus;
};
inline Signs signs_of(__m512i bits, int shift) {
  const __m512i codes =
      _mm512_and_si512(_mm512_srli_epi16(bits, static_cast<unsigned>(shift)), _mm512_set1_epi8(3));
  return {_mm512_cmpeq_epi8_mask(codes, _mm512_set1_epi8(2)), _mm512_testn_epi8_mask(codes, codes)};
}
inline __m512i load_q(const int8_t* q) {  // of blocks i and i + 1
  return _mm512_inserti64x4(_mm512_castsi256_si512(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(q))),
                            _mm256_loadu_si256(reinterpret_cast<const __m256i*>(q + 128)), 1);
}

void select_rows(const uint8_t* codes, uint32_t n_in, uint32_t n_rows, const int8_t* q, int32_t* sums) {
  const __m512i ones = _mm512_set1_epi8(1);
  for (uint32_t r = 0; r < n_rows; ++r, codes += n_in / 4) {
    __m512i plus = _mm512_setzero_si512(), minus = plus;
    for (uint32_t i = 0; i < n_in / 4; i += 64) {
      const __m512i bits = _mm512_loadu_si512(codes + i);
      _mm_prefetch(reinterpret_cast<const char*>(codes + i + 8192), _MM_HINT_T1);
      for (int s = 0; s < 4; ++s) {
        const Signs signs = signs_of(bits, 6 - 2 * s);
        const __m512i values = load_q(q + 4 * i + 32 * s);
        plus = _mm512_dpbusd_epi32(plus, ones, _mm512_maskz_mov_epi8(signs.plus, values));
        minus = _mm512_dpbusd_epi32(minus, ones, _mm512_maskz_mov_epi8(signs.minus, values));
      }
    }
    sums[r] = _mm512_reduce_add_epi32(_mm512_sub_epi32(plus, minus));
  }
}

inline int32_t sum_at(uint64_t places, const int8_t* q) {
  int32_t sum = 0;
  for (; places != 0; places &= places - 1) {
    const auto at = static_cast<uint32_t>(__builtin_ctzll(places));
    sum += q[at < 32 ? at : at + 96];
  }
  return sum;
}

void walk_rows(const uint8_t* codes, uint32_t n_in, uint32_t n_rows, const int8_t* q, int32_t* sums) {
  for (uint32_t r = 0; r < n_rows; ++r, codes += n_in / 4) {
    sums[r] = 0;
    for (uint32_t i = 0; i < n_in / 4; i += 64) {
      const __m512i bits = _mm512_loadu_si512(codes + i);
      _mm_prefetch(reinterpret_cast<const char*>(codes + i + 8192), _MM_HINT_T1);
      for (int s = 0; s < 4; ++s) {
        const Signs signs = signs_of(bits, 6 - 2 * s);
        sums[r] += sum_at(signs.plus, q + 4 * i + 32 * s) - sum_at(signs.minus, q + 4 * i + 32 * s);
      }
    }
  }
}
#pragma GCC pop_options

// GB/s of codes.
double rate(ThreadPool& pool, Rows rows, const std::vector<uint8_t>& codes, uint32_t n_in, const int8_t* q,
            int passes) {
  constexpr uint32_t kRows = 64;
  const size_t unit_bytes = size_t{n_in} / 4 * kRows, units = codes.size() / unit_bytes;
  double best = 1e9;
  for (int pass = 0; pass < passes; ++pass) {
    const auto start = Clock::now();
    const Step step{static_cast<uint32_t>(units), each([&](uint32_t unit, CacheLine*) {
                      int32_t sums[kRows];
                      rows(codes.data() + unit * unit_bytes, n_in, kRows, q, sums);
                    })};
    pool.run({&step, 1});
    best = std::min(best, std::chrono::duration<double>(Clock::now() - start).count());
  }
  return static_cast<double>(units * unit_bytes) / best / 1e9;
}

void dense_rows(const uint8_t* codes, uint32_t n_in, uint32_t n_rows, const int8_t* q, int32_t* sums) {
  kAvx512Kernels.ternary_rows(codes, n_in, n_rows, q, 1, n_rows, sums);
}

}  // namespace

int main(int argc, char** argv) {
  if (!__builtin_cpu_supports("avx512vnni")) return fmt::print("AVX-512 VNNI is wanted\n"), 1;
  constexpr uint32_t kIn = 2560;
  ThreadPool pool(argc > 1 ? static_cast<unsigned>(std::atoi(argv[1])) : usable_threads());
  std::mt19937 rng(1);
  std::vector<int8_t> q(kIn);
  for (int8_t& v : q) v = static_cast<int8_t>(rng());
  for (const size_t bytes : {size_t{256} << 20, size_t{1} << 20}) {
    std::vector<uint8_t> codes(bytes);
    for (uint8_t& byte : codes)
      for (int s = 0; s < 8; s += 2)
        byte |= static_cast<uint8_t>((rng() % 100 < 42 ? 1U : rng() % 2 * 2) << s);
    int32_t q_sum = 0, wanted = 0, got = 0;
    for (const int8_t v : q) q_sum += v;
    dense_rows(codes.data(), kIn, 1, q.data(), &wanted);
    fmt::print("{} KiB of codes, {} threads\n", bytes >> 10, pool.size());
    for (const auto& [name, rows] :
         {std::pair<const char*, Rows>{"dense", dense_rows}, {"select", select_rows}, {"walk", walk_rows}}) {
      rows(codes.data(), kIn, 1, q.data(), &got);
      if (got != (rows == dense_rows ? wanted : wanted - q_sum)) return fmt::print("{} is wrong\n", name), 1;
      fmt::print("  {:<8} {:>7.2f} GB/s\n", name,
                 rate(pool, rows, codes, kIn, q.data(), bytes > 1 << 24 ? 4 : 300));
    }
  }
}
#else
int main() { return 1; }
#endif
