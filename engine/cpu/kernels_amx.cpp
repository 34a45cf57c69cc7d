// AVX-512 VNNI, with the products of prefill by AMX, the matrix unit of Intel's servers since 2023. A tile
// register is 16 rows of 64 bytes; one instruction adds 16 x 16 sums of 64 products.
#if defined(__x86_64__)
#include <immintrin.h>

#include "kernels.h"

#pragma GCC push_options
#pragma GCC target("amx-tile,amx-int8")

namespace bitnet::cpu {
namespace {

struct TileConfig {
  uint8_t palette = 1;
  uint8_t start_row = 0;
  uint8_t reserved[14] = {};
  uint16_t row_bytes[16] = {};
  uint8_t rows[16] = {};
};

// Up to 32 tokens are in two registers of 16. Registers 0 to 3 are the sums [tokens / 16][rows / 16], 4 and 5
// the activations as they lie in memory, 6 and 7 the codes, which unpack_tile lays out as the instruction
// needs them.
void configure(uint32_t n_tokens) {
  TileConfig config;
  const auto first = static_cast<uint8_t>(n_tokens < 16 ? n_tokens : 16);
  const auto second = static_cast<uint8_t>(n_tokens > 16 ? n_tokens - 16 : 1);  // unused: any valid number
  for (int i = 0; i < 8; ++i) {
    config.row_bytes[i] = 64;
    config.rows[i] = i >= 6 ? 16 : (i < 2 || i == 4) ? first : second;
  }
  _tile_loadconfig(&config);
}

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
    if (n != configured) configure(n);
    configured = n;
    if (n > 16)
      multiply<true>(tile, n_in, q + size_t{n_in} * t, sums + t * kTileRows);
    else
      multiply<false>(tile, n_in, q + size_t{n_in} * t, sums + t * kTileRows);
  }
  _tile_release();
}

CpuKernels with_amx() {
  CpuKernels kernels = kAvx512Kernels;
  kernels.name = "amx";
  kernels.tile_product = tile_product;
  kernels.unpack_block_band = amx_unpack_block_band;
  kernels.block_tile = amx_block_tile;
  return kernels;
}

}  // namespace

const CpuKernels& amx_kernels() {
  static const CpuKernels kernels = with_amx();
  return kernels;
}

}  // namespace bitnet::cpu
#pragma GCC pop_options
#endif
