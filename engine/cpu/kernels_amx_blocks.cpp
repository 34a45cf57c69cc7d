// Prefill of blocks by AMX. A unit of 32 inputs (16 with codes of 6 bits) is one instruction for 16 tokens
// and 16 rows of each plane; what follows, the rounding of its sums, is AVX-512. Codes are signed here.
#if defined(__x86_64__)
#include <immintrin.h>

#include <utility>

#include "kernels.h"

#pragma GCC push_options
#pragma GCC target("avx512f,avx512bw,avx512dq,avx512vl,amx-tile,amx-int8")

namespace bitnet::cpu {
namespace {

constexpr uint32_t kMostTokens = 16;

struct TileConfig {
  uint8_t palette = 1;
  uint8_t start_row = 0;
  uint8_t reserved[14] = {};
  uint16_t row_bytes[16] = {};
  uint8_t rows[16] = {};
};

// Registers 0 and 1 are the sums [tokens][16 rows] of the two planes, 4 and 5 the activations [tokens][unit],
// 6 the codes [unit / 4][16 rows][4].
void configure(uint32_t n_tokens, uint32_t unit) {
  TileConfig config;
  constexpr int kRegisters[] = {0, 1, 4, 5};
  for (const int i : kRegisters) {
    config.row_bytes[i] = static_cast<uint16_t>(i < 4 ? 64 : unit);
    config.rows[i] = static_cast<uint8_t>(n_tokens);
  }
  config.row_bytes[6] = 64;
  config.rows[6] = static_cast<uint8_t>(unit / 4);
  _tile_loadconfig(&config);
}

// The sums of one unit, of each plane.
struct UnitSums {
  alignas(64) int32_t plane[2][kMostTokens][kBandRows];
};

void sum_unit(const uint8_t* codes, const int8_t* q, uint32_t n_in, UnitSums& sums) {
  _tile_zero(0);
  _tile_zero(1);
  _tile_loadd(6, codes, 4 * kTileRows);
  _tile_loadd(4, q, size_t{2} * n_in);
  _tile_loadd(5, q + n_in, size_t{2} * n_in);
  _tile_dpbssd(0, 4, 6);
  _tile_dpbssd(1, 5, 6);
  _tile_stored(0, sums.plane[0], sizeof sums.plane[0][0]);
  _tile_stored(1, sums.plane[1], sizeof sums.plane[1][0]);
}

inline __m512i rounded(__m512i total, __m512 scale) {
  return _mm512_cvtps_epi32(_mm512_mul_ps(_mm512_cvtepi32_ps(total), scale));
}

// What a unit adds to the sums of a token: kMin says whether q_sums are needed.
template <uint32_t kUnit, bool kMin>
inline __m512i of_token(const UnitSums& sums, uint32_t t, __m512 d, __m512 m, const int32_t* q_sums) {
  const __m512i both = _mm512_add_epi32(_mm512_slli_epi32(_mm512_load_si512(sums.plane[0][t]), 8),
                                        _mm512_load_si512(sums.plane[1][t]));
  if constexpr (!kMin) return rounded(both, d);
  const int32_t q_sum = kUnit == 16 ? q_sums[0] : q_sums[0] + q_sums[1];
  return _mm512_sub_epi32(rounded(both, d), rounded(_mm512_set1_epi32(q_sum), m));
}

// The 16 rows from `row` on for n_tokens tokens, up to as many as kTokens, whose sums stay in registers.
// While the sums of a unit are rounded, those of the next are on their way.
template <uint32_t kUnit, bool kMin, size_t... kTokens>
void multiply(const BlockTile& w, uint32_t row, const int8_t* q, const int32_t* q_sums, uint32_t n_tokens,
              int32_t* sums, std::index_sequence<kTokens...>) {
  const uint32_t units = w.n_in / kUnit;
  __m512i total[kMostTokens];
  ((total[kTokens] = _mm512_setzero_si512()), ...);
  UnitSums of_unit[2];
  const auto start = [&](uint32_t u) {
    sum_unit(w.codes + (size_t{u} * (kUnit / 4) * kTileRows + row) * 4, q + size_t{u} * kUnit, w.n_in,
             of_unit[u % 2]);
  };
  start(0);
  for (uint32_t u = 0; u < units; ++u) {
    if (u + 1 < units) start(u + 1);
    const UnitSums& now = of_unit[u % 2];
    const __m512 d = _mm512_loadu_ps(w.scales + size_t{u} * kTileRows + row);
    const __m512 m = kMin ? _mm512_loadu_ps(w.minima + size_t{u} * kTileRows + row) : d;
    const auto add = [&](uint32_t t, __m512i & to) __attribute__((always_inline)) {
      to = _mm512_add_epi32(
          to,
          of_token<kUnit, kMin>(now, t, d, m, q_sums + size_t{w.n_in} / 16 * t + size_t{u} * (kUnit / 16)));
    };
    (add(kTokens, total[kTokens]), ...);
  }
  const auto put = [&](uint32_t t, __m512i sum) {
    if (t < n_tokens) _mm512_storeu_si512(sums + t * kTileRows + row, sum);
  };
  (put(kTokens, total[kTokens]), ...);
}

template <uint32_t kUnit, bool kMin>
void multiply_all(const BlockTile& w, const int8_t* q, const int32_t* q_sums, uint32_t n_tokens,
                  int32_t* sums) {
  uint32_t configured = 0;
  for (uint32_t t = 0; t < n_tokens; t += kMostTokens) {
    const uint32_t n = n_tokens - t < kMostTokens ? n_tokens - t : kMostTokens;
    if (n != configured) configure(n, kUnit);
    configured = n;
    const auto some = [&](auto tokens) {
      for (uint32_t row = 0; row < kTileRows; row += kBandRows)
        multiply<kUnit, kMin>(w, row, q + size_t{2} * w.n_in * t, q_sums + size_t{w.n_in} / 16 * t, n,
                              sums + t * kTileRows, tokens);
    };
    if (n > 8)
      some(std::make_index_sequence<kMostTokens>());
    else
      some(std::make_index_sequence<8>());
  }
  _tile_release();
}

}  // namespace

void amx_block_tile(const BlockTile& w, const int8_t* q, const int32_t* q_sums, uint32_t n_tokens,
                    int32_t* sums) {
  if (w.bits == 6) return multiply_all<16, false>(w, q, q_sums, n_tokens, sums);
  (w.minima ? multiply_all<32, true> : multiply_all<32, false>)(w, q, q_sums, n_tokens, sums);
}

void amx_unpack_block_band(const BlockBands& w, uint32_t half, uint8_t* codes, float* scales, float* minima) {
  kAvx512Kernels.unpack_block_band(w, half, codes, scales, minima);
  if (w.has_min) return;
  const __m512i offset = _mm512_set1_epi8(static_cast<char>(1 << (w.bits - 1)));
  for (uint32_t i = 0; i < w.n_in / 4; ++i) {
    uint8_t* at = codes + (size_t{i} * kTileRows + half * kBandRows) * 4;
    _mm512_storeu_si512(at, _mm512_sub_epi8(_mm512_loadu_si512(at), offset));
  }
}

}  // namespace bitnet::cpu
#pragma GCC pop_options
#endif
