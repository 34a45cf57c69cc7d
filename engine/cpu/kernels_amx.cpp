// AVX-512 VNNI, with the products of prefill by AMX, the matrix unit of Intel's servers since 2023. A tile
// register is 16 rows of 64 bytes; one instruction adds 16 x 16 sums of 64 products.
#if defined(__x86_64__)
#include <immintrin.h>

#include "kernels.h"
#include "unpack_fives.h"

#pragma GCC push_options
#pragma GCC target("amx-tile,amx-int8,avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,avx2,fma,f16c")

namespace bitnet::cpu {
namespace {

struct TileConfig {
  uint8_t palette = 1;
  uint8_t start_row = 0;
  uint8_t reserved[14] = {};
  uint16_t row_bytes[16] = {};
  uint8_t rows[16] = {};
};

// Sums and activations of `first` tokens in the registers 0, 1 and 4, and of `second` in 2, 3 and 5.
void configure(uint32_t first, uint32_t second) {
  TileConfig config;
  for (int i = 0; i < 8; ++i) {
    config.row_bytes[i] = 64;
    config.rows[i] = static_cast<uint8_t>(i >= 6 ? 16 : (i < 2 || i == 4) ? first : second);
  }
  _tile_loadconfig(&config);
}

// Up to 32 tokens are in two registers of 16. Registers 0 to 3 are the sums [tokens / 16][rows / 16], 4 and 5
// the activations as they lie in memory, 6 and 7 the codes, which unpack_tile lays out as the instruction
// needs them.
template <bool kTwo>  // more than 16 tokens
void multiply(const uint8_t* tile, uint32_t n_in, const int8_t* q, int32_t* sums) {
  constexpr uint32_t kCodeRow = 4 * kTileRows, kSumRow = kTileRows * sizeof(int32_t);
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

// A byte is the weight itself, so that no sum of activations has to be subtracted from a group's products.
void unpack_bands(const uint8_t* const* bands, uint32_t n_in, uint8_t* tile) {
  unpack_fives(bands, n_in, 1, tile);
}

// The products of a group of 64 inputs with up to 16 tokens and both bands
template <int kPlanes>
struct alignas(64) GroupProducts {
  int32_t plane[kPlanes][kTileRows / kBandRows][16][kBandRows];
};

// Registers 0 to 3 are the products [plane][band], 4 and 5 the planes of the activations, 6 and 7 the bands.
template <int kPlanes>
inline void multiply_group(const GroupTile& w, const int8_t* q, uint32_t group,
                           GroupProducts<kPlanes>& products) {
  constexpr uint32_t kCodeRow = 4 * kTileRows, kBand = 4 * kBandRows;
  const uint8_t* codes = w.codes + size_t{group} * 16 * kCodeRow;
  const int8_t* inputs = q + size_t{group} * 64;
  _tile_loadd(6, codes, kCodeRow);
  _tile_loadd(7, codes + kBand, kCodeRow);
  _tile_loadd(4, inputs, w.n_in * kPlanes);
  _tile_zero(0);
  _tile_zero(1);
  _tile_dpbssd(0, 4, 6);
  _tile_dpbssd(1, 4, 7);
  if constexpr (kPlanes == 2) {
    _tile_loadd(5, inputs + w.n_in, w.n_in * kPlanes);
    _tile_zero(2);
    _tile_zero(3);
    _tile_dpbssd(2, 5, 6);
    _tile_dpbssd(3, 5, 7);
  }
  _tile_stored(0, products.plane[0][0], kBand);
  _tile_stored(1, products.plane[0][1], kBand);
  if constexpr (kPlanes == 2) {
    _tile_stored(2, products.plane[1][0], kBand);
    _tile_stored(3, products.plane[1][1], kBand);
  }
}

template <int kPlanes>
inline void round_group(const GroupTile& w, uint32_t group, uint32_t n_tokens,
                        const GroupProducts<kPlanes>& products, int32_t* sums) {
  const float* scales = w.scales + size_t{group * 64 / w.scale_every} * kTileRows;
  for (uint32_t band = 0; band < kTileRows / kBandRows; ++band) {
    const __m512 scale = _mm512_loadu_ps(scales + band * kBandRows);
    for (uint32_t t = 0; t < n_tokens; ++t) {
      __m512i total = _mm512_load_si512(products.plane[0][band][t]);
      if constexpr (kPlanes == 2)
        total = _mm512_add_epi32(_mm512_slli_epi32(total, 8), _mm512_load_si512(products.plane[1][band][t]));
      const __m512i more = _mm512_cvtps_epi32(_mm512_mul_ps(_mm512_cvtepi32_ps(total), scale));
      int32_t* to = sums + t * kTileRows + band * kBandRows;
      _mm512_storeu_si512(to, group == 0 ? more : _mm512_add_epi32(_mm512_loadu_si512(to), more));
    }
  }
}

// The matrix unit is given the next group before the vectors round the one before it.
template <int kPlanes>
void group_tile_planes(const GroupTile& w, const int8_t* q, uint32_t n_tokens, int32_t* sums) {
  GroupProducts<kPlanes> products[2];
  const uint32_t groups = w.n_in / 64;
  uint32_t configured = 0;
  for (uint32_t t = 0; t < n_tokens; t += 16) {
    const uint32_t n = n_tokens - t < 16 ? n_tokens - t : 16;
    if (n != configured) configure(n, n);
    configured = n;
    const int8_t* inputs = q + size_t{w.n_in} * kPlanes * t;
    multiply_group<kPlanes>(w, inputs, 0, products[0]);
    for (uint32_t group = 0; group < groups; ++group) {
      if (group + 1 < groups) multiply_group<kPlanes>(w, inputs, group + 1, products[(group + 1) % 2]);
      round_group<kPlanes>(w, group, n, products[group % 2], sums + size_t{t} * kTileRows);
    }
  }
  _tile_release();
}

void group_tile(const GroupTile& w, const int8_t* q, const int32_t*, uint32_t n_tokens, int32_t* sums) {
  (w.planes == 2 ? group_tile_planes<2> : group_tile_planes<1>)(w, q, n_tokens, sums);
}

}  // namespace
}  // namespace bitnet::cpu
#pragma GCC pop_options

// These run on machines without all of that, too.
namespace bitnet::cpu {
namespace {

CpuKernels with_amx() {
  CpuKernels kernels = avx512_vbmi_kernels();
  kernels.name = "amx";
  kernels.tile_product = tile_product;
  kernels.unpack_block_band = amx_unpack_block_band;
  kernels.block_tile = amx_block_tile;
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
