// AVX-512 VNNI, with the products of prefill by AMX, the matrix unit of Intel's servers since 2023. A tile
// register is 16 rows of 64 bytes; one instruction adds 16 x 16 sums of 64 products. Where each unit of
// inputs has a scale of its own, its sums leave the matrix unit, and vectors round them.
#if defined(__x86_64__)
#include <immintrin.h>

#include <initializer_list>
#include <utility>

#include "instructions.h"
#include "kernels.h"
#include "unpack_fives.h"

USE_INSTRUCTIONS("amx-tile,amx-int8,avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,avx2,fma,f16c")

namespace bitnet::cpu {
namespace {

constexpr uint32_t kTileTokens = 16, kCodeRow = 4 * kTileRows;

struct TileConfig {  // of 64 bytes, as the instruction reads it
  uint8_t palette = 1;
  uint8_t start_row = 0;
  uint8_t reserved[14] = {};
  uint16_t row_bytes[16] = {};
  uint8_t rows[16] = {};
};

struct TileShape {
  uint32_t rows, row_bytes;
};
void shape(TileConfig& config, std::initializer_list<int> registers, TileShape tile) {
  for (const int i : registers) {
    config.rows[i] = static_cast<uint8_t>(tile.rows);
    config.row_bytes[i] = static_cast<uint16_t>(tile.row_bytes);
  }
}

// GCC 12's _tile_loadconfig names only the first 8 bytes as what it reads, and the compiler leaves out stores
// of the others.
void load(const TileConfig& config) { asm volatile("ldtilecfg %0" : : "m"(config)); }

// Sums and activations of `first` tokens in the registers 0, 1 and 4, and of `second` in 2, 3 and 5.
void configure(uint32_t first, uint32_t second) {
  TileConfig config;
  shape(config, {0, 1, 4}, {first, 64});
  shape(config, {2, 3, 5}, {second, 64});
  shape(config, {6, 7}, {16, 64});
  load(config);
}

// Up to 32 tokens are in two registers of 16. Registers 0 to 3 are the sums [tokens / 16][rows / 16], 4 and 5
// the activations as they lie in memory, 6 and 7 the codes, which unpack_tile lays out as the instruction
// needs them.
template <bool kTwo>  // more than 16 tokens
void multiply(const uint8_t* tile, uint32_t n_in, const int8_t* q, int32_t* sums) {
  constexpr uint32_t kSumRow = kTileRows * sizeof(int32_t);
  _tile_zero(0);
  _tile_zero(1);
  _tile_zero(2);
  _tile_zero(3);
  for (uint32_t i = 0; i < n_in; i += 64) {
    _tile_loadd(6, tile + size_t{i} / 4 * kCodeRow, kCodeRow);
    _tile_loadd(7, tile + size_t{i} / 4 * kCodeRow + 64, kCodeRow);
    _tile_loadd(4, q + i, n_in);
    _tile_dpbsud(0, 4, 6);
    _tile_dpbsud(1, 4, 7);
    if constexpr (kTwo) {
      _tile_loadd(5, q + size_t{16} * n_in + i, n_in);
      _tile_dpbsud(2, 5, 6);
      _tile_dpbsud(3, 5, 7);
    }
  }
  _tile_stored(0, sums, kSumRow);
  _tile_stored(1, sums + 16, kSumRow);
  if constexpr (kTwo) {
    _tile_stored(2, sums + 16 * kTileRows, kSumRow);
    _tile_stored(3, sums + 16 * kTileRows + 16, kSumRow);
  }
}

void tile_product(const uint8_t* tile, uint32_t n_in, const int8_t* q, uint32_t n_tokens, int32_t* sums) {
  uint32_t configured = 0;
  for (uint32_t t = 0; t < n_tokens; t += 32) {
    const uint32_t n = n_tokens - t < 32 ? n_tokens - t : 32;
    if (n != configured) configure(n < 16 ? n : 16, n > 16 ? n - 16 : 1);
    configured = n;
    if (n > 16)
      multiply<true>(tile, n_in, q + size_t{n_in} * t, sums + t * kTileRows);
    else
      multiply<false>(tile, n_in, q + size_t{n_in} * t, sums + t * kTileRows);
  }
  _tile_release();
}

// What is multiplied a unit at a time: a GroupTile, whose units are its groups, or a BlockTile. Codes are
// weights, without an offset.
struct UnitTile {
  const uint8_t* codes;  // [n_in / 4][kTileRows][4]
  const float* scales;   // [n_in / unit / units_a_scale][kTileRows]
  const float* minima;   // likewise, or null
  uint32_t n_in;
  uint32_t units_a_scale;
};

// The products of a unit with up to 16 tokens and 16 rows
struct alignas(64) UnitSums {
  int32_t of[kTileTokens][kBandRows];
};

// Registers 0 and 1 are in turn the sums [tokens][16 rows], 4 and 5 the activations [tokens][unit], 6 and 7
// the codes [unit / 4][16 rows][4]. Where inputs have a rest, 2 and 3 are its sums, and 5 the rest itself.
void configure_unit(uint32_t n_tokens, uint32_t unit) {
  TileConfig config;
  shape(config, {0, 1, 2, 3}, {n_tokens, 64});
  shape(config, {4, 5}, {n_tokens, unit});
  shape(config, {6, 7}, {unit / 4, 64});
  load(config);
}

template <bool kOdd>
inline void multiply_unit(const uint8_t* codes, const int8_t* q, size_t n_in) {
  if constexpr (kOdd) {
    _tile_loadd(7, codes, kCodeRow);
    _tile_loadd(5, q, n_in);
    _tile_zero(1);
    _tile_dpbssd(1, 5, 7);
  } else {
    _tile_loadd(6, codes, kCodeRow);
    _tile_loadd(4, q, n_in);
    _tile_zero(0);
    _tile_dpbssd(0, 4, 6);
  }
}

template <bool kOdd>
inline void multiply_unit_and_rest(const uint8_t* codes, const int8_t* q, const int8_t* rest, size_t n_in) {
  _tile_loadd(4, q, n_in);
  _tile_loadd(5, rest, n_in);
  if constexpr (kOdd) {
    _tile_loadd(7, codes, kCodeRow);
    _tile_zero(1);
    _tile_dpbssd(1, 4, 7);
    _tile_zero(3);
    _tile_dpbssd(3, 5, 7);
  } else {
    _tile_loadd(6, codes, kCodeRow);
    _tile_zero(0);
    _tile_dpbssd(0, 4, 6);
    _tile_zero(2);
    _tile_dpbssd(2, 5, 6);
  }
}

template <bool kOdd>
inline void store_rest(UnitSums& sums) {
  constexpr size_t kRow = sizeof sums.of[0];
  if constexpr (kOdd)
    _tile_stored(3, sums.of, kRow);
  else
    _tile_stored(2, sums.of, kRow);
}

template <bool kOdd>
inline void store_unit(UnitSums& sums) {
  constexpr size_t kRow = sizeof sums.of[0];
  if constexpr (kOdd)
    _tile_stored(1, sums.of, kRow);
  else
    _tile_stored(0, sums.of, kRow);
}

inline __m512i rounded(__m512 total, __m512 scale) { return _mm512_cvtps_epi32(_mm512_mul_ps(total, scale)); }

// Units on their way: a load of what the matrix unit stores waits until the store has left the core, and the
// order of instructions is kept for about two units.
constexpr uint32_t kOnTheirWay = 4;

// The 16 rows from `row` on for n_tokens tokens, up to as many as kTokens, whose sums stay in registers. A
// unit is multiplied, stored while the next one is multiplied, and rounded some units later. Where there are
// minima (kMin), the inputs have sums of each 16. Where the inputs have a rest (kRest), a unit's sum is below
// 2^22, so that nothing of it is rounded before.
template <uint32_t kUnit, bool kMin, bool kRest, size_t... kTokens>
void multiply_band(const UnitTile& w, uint32_t row, const UnitInputs& in, uint32_t n_tokens, int32_t* sums,
                   std::index_sequence<kTokens...>) {
  constexpr uint32_t kInputUnit = kUnit == 64 ? 64 : 32;
  const uint32_t units = w.n_in / kUnit;
  __m512i total[kTileTokens];
  ((total[kTokens] = _mm512_setzero_si512()), ...);
  UnitSums of_unit[kOnTheirWay], of_rest[kRest ? kOnTheirWay : 1];
  const auto multiply = [&]<bool kOdd>(uint32_t u) __attribute__((always_inline)) {
    const uint8_t* codes = w.codes + size_t{u} * (kUnit / 4) * kCodeRow + row * 4;
    const size_t at = size_t{u} * kUnit;
    if constexpr (kRest)
      multiply_unit_and_rest<kOdd>(codes, in.q + at, in.rest + at, w.n_in);
    else
      multiply_unit<kOdd>(codes, in.q + at, w.n_in);
  };
  const auto round = [&](uint32_t u) __attribute__((always_inline)) {
    const UnitSums& now = of_unit[u % kOnTheirWay];
    const size_t at = size_t{u / w.units_a_scale} * kTileRows + row;
    const __m512 d = _mm512_loadu_ps(w.scales + at), m = kMin ? _mm512_loadu_ps(w.minima + at) : d;
    const float* factors = in.factors + u * kUnit / kInputUnit;
    const auto add = [&](uint32_t t, __m512i & to) __attribute__((always_inline)) {
      if (t >= n_tokens) return;  // of which there are no factors and sums
      const __m512 factor = _mm512_set1_ps(factors[size_t{w.n_in} / kInputUnit * t]);
      __m512 exact = _mm512_cvtepi32_ps(_mm512_load_si512(now.of[t]));
      if constexpr (kRest)
        exact = _mm512_fmadd_ps(exact, _mm512_set1_ps(kRestSteps),
                                _mm512_cvtepi32_ps(_mm512_load_si512(of_rest[u % kOnTheirWay].of[t])));
      __m512i more = rounded(exact, _mm512_mul_ps(d, factor));
      if constexpr (kMin) {
        const int32_t* of_token = in.sums + size_t{w.n_in} / 16 * t + size_t{u} * (kUnit / 16);
        more =
            _mm512_sub_epi32(more, rounded(_mm512_cvtepi32_ps(_mm512_set1_epi32(of_token[0] + of_token[1])),
                                           _mm512_mul_ps(m, factor)));
      }
      to = _mm512_add_epi32(to, more);
    };
    (add(kTokens, total[kTokens]), ...);
  };
  const auto next = [&]<bool kOdd>(uint32_t u) __attribute__((always_inline)) {
    if (u + 1 < units) multiply.template operator()<!kOdd>(u + 1);
    store_unit<kOdd>(of_unit[u % kOnTheirWay]);
    if constexpr (kRest) store_rest<kOdd>(of_rest[u % kOnTheirWay]);
    if (u + 1 >= kOnTheirWay) round(u + 1 - kOnTheirWay);
  };
  multiply.template operator()<false>(0);
  uint32_t u = 0;
  for (; u + 2 <= units; u += 2) {
    next.template operator()<false>(u);
    next.template operator()<true>(u + 1);
  }
  if (u < units) next.template operator()<false>(u);
  for (u = units - (units < kOnTheirWay - 1 ? units : kOnTheirWay - 1); u < units; ++u) round(u);
  const auto put = [&](uint32_t t, __m512i sum) {
    if (t < n_tokens) _mm512_storeu_si512(sums + t * kTileRows + row, sum);
  };
  (put(kTokens, total[kTokens]), ...);
}

template <uint32_t kUnit, bool kMin = false, bool kRest = false>
void multiply_units(const UnitTile& w, const UnitInputs& in, uint32_t n_tokens, int32_t* sums) {
  static_assert(!kMin || kUnit == 32);
  constexpr uint32_t kSumEvery = kUnit == 64 ? 64 : 16, kInputUnit = kUnit == 64 ? 64 : 32;
  uint32_t configured = 0;
  for (uint32_t t = 0; t < n_tokens; t += kTileTokens) {
    const uint32_t n = n_tokens - t < kTileTokens ? n_tokens - t : kTileTokens;
    if (n != configured) configure_unit(n, kUnit);
    configured = n;
    const auto some = [&](auto tokens) {
      for (uint32_t row = 0; row < kTileRows; row += kBandRows)
        multiply_band<kUnit, kMin, kRest>(w, row, inputs_from(in, t, w.n_in, kSumEvery, kInputUnit), n,
                                          sums + t * kTileRows, tokens);
    };
    if (n > kTileTokens / 2)
      some(std::make_index_sequence<kTileTokens>());
    else
      some(std::make_index_sequence<kTileTokens / 2>());
  }
  _tile_release();
}

void group_tile(const GroupTile& w, const UnitInputs& in, uint32_t n_tokens, int32_t* sums) {
  constexpr uint32_t kGroup = 64;
  const UnitTile tile{w.codes, w.scales, nullptr, w.n_in, w.scale_every / kGroup};
  (in.rest ? multiply_units<kGroup, false, true> : multiply_units<kGroup>)(tile, in, n_tokens, sums);
}

void block_tile(const BlockTile& w, const UnitInputs& in, uint32_t n_tokens, int32_t* sums) {
  const UnitTile units{w.codes, w.scales, w.minima, w.n_in, 1};
  if (w.bits == 6) return multiply_units<16>(units, in, n_tokens, sums);
  (w.minima ? multiply_units<32, true> : multiply_units<32>)(units, in, n_tokens, sums);
}

// Tiles for multiply_units hold the weights themselves, so that no sum of activations is subtracted.
void unpack_bands(const uint8_t* const* bands, uint32_t n_in, uint8_t* tile) {
  unpack_fives(bands, n_in, 1, tile);
}

void unpack_block_band(const BlockBands& w, uint32_t half, uint8_t* codes, float* scales, float* minima) {
  kAvx512Kernels.unpack_block_band(w, half, codes, scales, minima);
  if (w.has_min) return;
  const __m512i offset = _mm512_set1_epi8(static_cast<char>(1 << (w.bits - 1)));
  for (uint32_t i = 0; i < w.n_in / 4; ++i) {
    uint8_t* at = codes + (size_t{i} * kTileRows + half * kBandRows) * 4;
    _mm512_storeu_si512(at, _mm512_sub_epi8(_mm512_loadu_si512(at), offset));
  }
}

}  // namespace
}  // namespace bitnet::cpu
USE_BASE_INSTRUCTIONS

// These run on machines without all of that, too.
namespace bitnet::cpu {
namespace {

CpuKernels with_amx() {
  CpuKernels kernels = avx512_vbmi_kernels();
  kernels.name = "amx";
  kernels.tile_product = tile_product;
  kernels.fives_row_tokens = 4;
  kernels.unpack_block_band = unpack_block_band;
  kernels.block_tile = block_tile;
  kernels.unpack_bands = unpack_bands;
  kernels.group_tile = group_tile;
  return kernels;
}

}  // namespace

const CpuKernels& amx_kernels() {
  static const CpuKernels kernels = with_amx();
  return kernels;
}

}  // namespace bitnet::cpu
#endif
