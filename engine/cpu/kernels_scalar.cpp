// The reference for all other sets: it takes integers one by one as engine/layouts/i2s.h has them, and floats
// in lanes of plain C++.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

#include "engine/layouts/i2s.h"
#include "kernels.h"

namespace bitnet::cpu {
namespace {

constexpr int kVecLanes = 16;
struct Vec {
  float v[kVecLanes];
};

template <typename F>
Vec each(F f) {
  Vec r;
  for (int i = 0; i < kVecLanes; ++i) r.v[i] = f(i);
  return r;
}
Vec load(const float* from) {
  return each([&](int i) { return from[i]; });
}
void store(float* to, const Vec& a) { std::copy_n(a.v, kVecLanes, to); }
Vec set1(float x) {
  return each([&](int) { return x; });
}
Vec add(const Vec& a, const Vec& b) {
  return each([&](int i) { return a.v[i] + b.v[i]; });
}
Vec mul(const Vec& a, const Vec& b) {
  return each([&](int i) { return a.v[i] * b.v[i]; });
}
Vec fma(const Vec& a, const Vec& b, const Vec& c) {
  return each([&](int i) { return std::fma(a.v[i], b.v[i], c.v[i]); });
}
Vec max(const Vec& a, const Vec& b) {
  return each([&](int i) { return a.v[i] > b.v[i] ? a.v[i] : b.v[i]; });
}
Vec min(const Vec& a, const Vec& b) {
  return each([&](int i) { return a.v[i] < b.v[i] ? a.v[i] : b.v[i]; });
}
Vec round(const Vec& a) {
  return each([&](int i) { return std::nearbyint(a.v[i]); });
}
Vec pow2(const Vec& a) {
  return each([&](int i) { return std::isnan(a.v[i]) ? NAN : std::ldexp(1.0F, static_cast<int>(a.v[i])); });
}

float to_float(uint16_t half) {
  const int exponent = half >> 10 & 31, mantissa = half & 1023;
  uint32_t bits = (half & 0x8000U) << 16;
  float magnitude = 0;
  if (exponent == 31)
    magnitude = mantissa != 0 ? NAN : INFINITY;
  else
    magnitude = exponent == 0 ? std::ldexp(static_cast<float>(mantissa), -24)
                              : std::ldexp(static_cast<float>(1024 + mantissa), exponent - 25);
  uint32_t magnitude_bits = 0;
  std::memcpy(&magnitude_bits, &magnitude, sizeof magnitude);
  bits |= magnitude_bits;
  std::memcpy(&magnitude, &bits, sizeof bits);
  return magnitude;
}

// As shaders/common/half.glsl: rounded half to even.
uint16_t to_half(float f) {
  uint32_t bits = 0;
  std::memcpy(&bits, &f, sizeof bits);
  const uint32_t sign = bits >> 16 & 0x8000, magnitude = bits & 0x7FFFFFFF;
  if (magnitude >= 0x47800000)
    return static_cast<uint16_t>(sign | (magnitude > 0x7F800000 ? 0x7E00 : 0x7C00));
  if (magnitude < 0x38800000) {  // subnormal: in units of 2^-24, rounded by the addition of 0.5
    const float shifted = std::abs(f) + 0.5F;
    std::memcpy(&bits, &shifted, sizeof bits);
    return static_cast<uint16_t>(sign | (bits - 0x3F000000));
  }
  const uint32_t odd = magnitude >> 13 & 1;
  return static_cast<uint16_t>(sign | (magnitude - 0x38000000 + 0xFFF + odd) >> 13);
}

Vec load_halves(const uint16_t* from) {
  return each([&](int i) { return to_float(from[i]); });
}
void store_halves(uint16_t* to, const Vec& a) {
  for (int i = 0; i < kVecLanes; ++i) to[i] = to_half(a.v[i]);
}

#include "float_loops.h"

float add_lanes(Floats v) {
  float* lane = v.vec[0].v;
  for (int step = kLanes / 2; step > 0; step /= 2)
    for (int i = 0; i < step; ++i) lane[i] += lane[i + step];
  return lane[0];
}

Floats add_lanes_of_16(const Floats (&v)[16]) {
  return {each([&](int i) { return add_lanes(v[i]); })};
}

Floats bytes_to_floats(Byte16 bytes) {
  return {each([&](int i) { return static_cast<float>(bytes[i]); })};
}

Vec load_bf16(const uint16_t* from) {
  return each([&](int i) {
    const uint32_t bits = static_cast<uint32_t>(from[i]) << 16;
    float value = 0;
    std::memcpy(&value, &bits, sizeof value);
    return value;
  });
}

uint8_t code_of(const uint8_t* row, uint32_t element) {
  const auto [byte, shift] = i2s_position(element);
  return row[byte] >> shift & 3;
}

void ternary_rows(const uint8_t* codes, uint32_t n_in, uint32_t n_rows, const int8_t* q, uint32_t n_tokens,
                  size_t stride, int32_t* sums) {
  for (uint32_t r = 0; r < n_rows; ++r, codes += n_in / 4)
    for (uint32_t t = 0; t < n_tokens; ++t) {
      int32_t sum = 0;
      for (uint32_t i = 0; i < n_in; ++i) sum += code_of(codes, i) * q[size_t{n_in} * t + i];
      sums[t * stride + r] = sum;
    }
}

void unpack_tile(const uint8_t* const* rows, uint32_t n_in, uint8_t* tile) {
  for (uint32_t i = 0; i < n_in; ++i)
    for (uint32_t r = 0; r < kTileRows; ++r)
      tile[(size_t{i} / 4 * kTileRows + r) * 4 + i % 4] = code_of(rows[r], i);
}

void tile_product(const uint8_t* tile, uint32_t n_in, const int8_t* q, uint32_t n_tokens, int32_t* sums) {
  for (uint32_t t = 0; t < n_tokens; ++t)
    for (uint32_t r = 0; r < kTileRows; ++r) {
      int32_t sum = 0;
      for (uint32_t i = 0; i < n_in; ++i)
        sum += tile[(size_t{i} / 4 * kTileRows + r) * 4 + i % 4] * q[size_t{n_in} * t + i];
      sums[t * kTileRows + r] = sum;
    }
}

// A group's share of a row's sum; `code(i)` is the code at input i.
template <typename Code>
int32_t group_sum(Code code, const UnitInputs& in, uint32_t group, float scale) {
  int32_t total = -in.sums[group];
  for (uint32_t i = 64 * group; i < 64 * (group + 1); ++i)
    total += code(i) * (in.rest ? static_cast<int32_t>(kRestSteps) * in.q[i] + in.rest[i] : in.q[i]);
  return static_cast<int32_t>(std::nearbyint(static_cast<float>(total) * (scale * in.factors[group])));
}

void group_rows_of_token(const GroupRows& w, uint32_t n_bands, const UnitInputs& in, int32_t* sums) {
  for (uint32_t row = 0; row < n_bands * kBandRows; ++row) {
    const uint32_t band = row / kBandRows, lane = row % kBandRows;
    const uint8_t* codes = w.codes + size_t{band} * w.n_in * kBandRows / 4;
    const uint16_t* scales = w.scales + size_t{band} * (w.n_in / w.scale_every) * kBandRows;
    const auto code = [&](uint32_t i) {
      return codes[(i / 16 * kBandRows + lane) * 4 + i % 4] >> (6 - 2 * (i / 4 % 4)) & 3;
    };
    sums[row] = 0;
    for (uint32_t g = 0; g < w.n_in / 64; ++g)
      sums[row] +=
          group_sum(code, in, g, to_float(scales[g * 64 / w.scale_every * kBandRows + lane]) * w.fixed);
  }
}

void group_rows(const GroupRows& w, uint32_t n_bands, const UnitInputs& in, uint32_t n_tokens, size_t stride,
                int32_t* sums) {
  for (uint32_t t = 0; t < n_tokens; ++t)
    group_rows_of_token(w, n_bands, inputs_from(in, t, w.n_in, 64, 64), sums + t * stride);
}

void unpack_bands(const uint8_t* const* bands, uint32_t n_in, uint8_t* tile) {
  for (uint32_t i = 0; i < n_in; ++i)
    for (uint32_t r = 0; r < kTileRows; ++r) {
      const uint8_t* word = bands[r / kBandRows] + (size_t{i} / 16 * kBandRows + r % kBandRows) * 4;
      tile[(size_t{i} / 4 * kTileRows + r) * 4 + i % 4] = word[i % 4] >> (6 - 2 * (i / 4 % 4)) & 3;
    }
}

void unpack_scales(const uint16_t* const* bands, uint32_t n, float fixed, float* scales) {
  for (uint32_t i = 0; i < n; ++i)
    for (uint32_t r = 0; r < kTileRows; ++r)
      scales[i * kTileRows + r] = to_float(bands[r / kBandRows][i * kBandRows + r % kBandRows]) * fixed;
}

void group_tile(const GroupTile& w, const UnitInputs& in, uint32_t n_tokens, int32_t* sums) {
  for (uint32_t t = 0; t < n_tokens; ++t)
    for (uint32_t r = 0; r < kTileRows; ++r) {
      const auto code = [&](uint32_t i) { return w.codes[(size_t{i} / 4 * kTileRows + r) * 4 + i % 4]; };
      int32_t sum = 0;
      for (uint32_t g = 0; g < w.n_in / 64; ++g)
        sum += group_sum(code, inputs_from(in, t, w.n_in, 64, 64), g,
                         w.scales[g * 64 / w.scale_every * kTileRows + r]);
      sums[t * kTileRows + r] = sum;
    }
}

// Element i of lane `lane` of a band as it is in memory, without the type's offset.
int32_t block_code(const BlockBands& w, uint32_t lane, uint32_t i) {
  const uint32_t unit = w.bits == 6 ? 16 : 32, k = i % unit / 4;
  const uint8_t* words = w.codes + size_t{i / unit} * (unit * w.bits / 8) * kBandRows + lane * 4 + i % 4;
  constexpr uint32_t kStride = 4 * kBandRows;
  const int32_t offset = w.has_min ? 0 : 1 << (w.bits - 1);
  if (w.bits == 8) return words[k * kStride] - offset;
  const int32_t low = words[k / 2 * kStride] >> (k % 2 == 0 ? 0 : 4) & 15;
  if (w.bits == 4) return low - offset;
  const int32_t upper = words[unit / 8 * kStride] >> k * (w.bits - 4) & ((1 << (w.bits - 4)) - 1);
  return low + (upper << 4) - offset;
}

struct UnitScale {
  float d, m;
};
UnitScale block_scale(const BlockBands& w, uint32_t lane, uint32_t unit) {
  const auto half = [&](const uint8_t* at) {
    uint16_t bits = 0;
    std::memcpy(&bits, at + lane * sizeof bits, sizeof bits);
    return to_float(bits) * w.fixed;
  };
  constexpr size_t kHalves = 2 * kBandRows;
  if (w.bits == 6) {
    const uint8_t* block = w.scales + unit / 16 * (18 * kBandRows);
    return {half(block) * static_cast<int8_t>(block[kHalves + unit % 16 * kBandRows + lane]), 0};
  }
  if (!w.has_min) return {half(w.scales + unit * kHalves), 0};
  const uint8_t* block = w.scales + unit / 8 * (20 * kBandRows);
  const uint8_t* steps = block + 2 * kHalves + unit % 8 * (2 * kBandRows) + lane;
  return {half(block) * steps[0], half(block + kHalves) * steps[kBandRows]};
}

// A unit's share of a row's sum; `code(i)` is the code at input i.
template <typename Code>
int32_t unit_sum(Code code, const UnitInputs& in, uint32_t unit_size, uint32_t unit, UnitScale scale) {
  int32_t total = 0, q_sum = 0;
  for (uint32_t i = unit * unit_size; i < (unit + 1) * unit_size; ++i) total += code(i) * in.q[i];
  for (uint32_t s = 0; s < unit_size / 16; ++s) q_sum += in.sums[unit * (unit_size / 16) + s];
  const float factor = in.factors[unit * unit_size / 32];
  return static_cast<int32_t>(std::nearbyint(static_cast<float>(total) * (scale.d * factor))) -
         static_cast<int32_t>(std::nearbyint(static_cast<float>(q_sum) * (scale.m * factor)));
}

void block_rows(const BlockBands& w, uint32_t n_bands, const UnitInputs& in, int32_t* sums) {
  const uint32_t unit = w.bits == 6 ? 16 : 32;
  for (uint32_t row = 0; row < n_bands * kBandRows; ++row) {
    BlockBands band = w;
    band.codes += row / kBandRows * w.band_codes();
    band.scales += row / kBandRows * w.band_scales();
    const uint32_t lane = row % kBandRows;
    sums[row] = 0;
    for (uint32_t u = 0; u < w.n_in / unit; ++u)
      sums[row] += unit_sum([&](uint32_t i) { return block_code(band, lane, i); }, in, unit, u,
                            block_scale(band, lane, u));
  }
}

void unpack_block_band(const BlockBands& w, uint32_t half, uint8_t* codes, float* scales, float* minima) {
  const uint32_t unit = w.bits == 6 ? 16 : 32;
  for (uint32_t lane = 0; lane < kBandRows; ++lane) {
    const uint32_t row = half * kBandRows + lane;
    for (uint32_t i = 0; i < w.n_in; ++i)
      codes[(size_t{i} / 4 * kTileRows + row) * 4 + i % 4] = static_cast<uint8_t>(block_code(w, lane, i));
    for (uint32_t u = 0; u < w.n_in / unit; ++u) {
      const UnitScale s = block_scale(w, lane, u);
      scales[u * kTileRows + row] = s.d;
      if (w.has_min) minima[u * kTileRows + row] = s.m;
    }
  }
}

void block_tile(const BlockTile& w, const UnitInputs& in, uint32_t n_tokens, int32_t* sums) {
  const uint32_t unit = w.bits == 6 ? 16 : 32;
  for (uint32_t t = 0; t < n_tokens; ++t)
    for (uint32_t r = 0; r < kTileRows; ++r) {
      const auto code = [&](uint32_t i) {
        return static_cast<int8_t>(w.codes[(size_t{i} / 4 * kTileRows + r) * 4 + i % 4]);
      };
      int32_t sum = 0;
      for (uint32_t u = 0; u < w.n_in / unit; ++u)
        sum += unit_sum(code, inputs_from(in, t, w.n_in, 16, 32), unit, u,
                        {w.scales[u * kTileRows + r], w.minima ? w.minima[u * kTileRows + r] : 0});
      sums[t * kTileRows + r] = sum;
    }
}

void gate_sums(const int32_t* gate, const int32_t* up, uint32_t n, int32_t q_sum, float gate_factor,
               float up_factor, float* y) {
  for (uint32_t i = 0; i < n; ++i) {
    const float g = static_cast<float>(gate[i] - q_sum) * gate_factor;
    const float relu = g > 0 ? g : 0;
    y[i] = relu * relu * (static_cast<float>(up[i] - q_sum) * up_factor);
  }
}

void silu_sums(const int32_t* gate, const int32_t* up, uint32_t n, int32_t q_sum, float gate_factor,
               float up_factor, float* y) {
  for (uint32_t i = 0; i < n; ++i) {
    const float g = static_cast<float>(gate[i] - q_sum) * gate_factor;
    const float e = exp(set1(-std::abs(g))).v[0];
    y[i] = (g >= 0 ? g : g * e) / (1 + e) * (static_cast<float>(up[i] - q_sum) * up_factor);
  }
}

// round(v) within [least, 127]; no number is taken for the least.
int32_t rounded(float v, float least) {
  return static_cast<int32_t>(std::nearbyint(v > least ? std::min(v, 127.0F) : least));
}

int32_t quantise(const float* x, const float* weight, uint32_t n, float inverse, float s, int8_t* q) {
  int32_t sum = 0;
  for (uint32_t i = 0; i < n; ++i) {
    const float y = x[i] * inverse;
    const int32_t v = rounded((weight ? y * weight[i] : y) * s, -128);
    q[i] = static_cast<int8_t>(v);
    sum += v;
  }
  return sum;
}

void sums_of(const int8_t* q, uint32_t n, uint32_t every, int32_t* sums) {
  for (uint32_t i = 0; i < n; i += every) sums[i / every] = std::accumulate(q + i, q + i + every, 0);
}
void sums_of_64(const int8_t* q, uint32_t n, int32_t* sums) { sums_of(q, n, 64, sums); }
void sums_of_16(const int8_t* q, uint32_t n, int32_t* sums) { sums_of(q, n, 16, sums); }

uint64_t read(const std::byte* from, size_t bytes) {
  uint64_t sum = 0;
  for (size_t i = 0; i < bytes; ++i) sum += std::to_integer<uint64_t>(from[i]);
  return sum;
}

void int8_rows(const int8_t* rows, uint32_t n, uint32_t n_rows, const int16_t* const* p, uint32_t n_vectors,
               int32_t* sums) {
  for (uint32_t r = 0; r < n_rows; ++r, rows += n)
    for (uint32_t v = 0; v < n_vectors; ++v) {
      int32_t sum = 0;
      for (uint32_t i = 0; i < n; ++i) sum += rows[i] * p[v][i];
      sums[size_t{n_rows} * v + r] = sum;
    }
}

Vec div(const Vec& a, const Vec& b) {
  return each([&](int i) { return a.v[i] / b.v[i]; });
}

#include "float_loops_acts.h"
#include "float_loops_delta.h"
#include "float_loops_tables.h"
#include "float_loops_units.h"

void quantise_units(const float* x, const float* weight, uint32_t n, uint32_t unit, int8_t* q, float* m,
                    float* squares) {
  for (uint32_t first = 0; first < n; first += unit, ++m, ++squares) {
    const auto v = [&](uint32_t i) { return weight ? x[first + i] * weight[first + i] : x[first + i]; };
    *m = kLeastMagnitude;
    for (uint32_t i = 0; i < unit; ++i) *m = std::abs(v(i)) > *m ? std::abs(v(i)) : *m;
    for (uint32_t i = 0; i < unit; ++i) q[first + i] = static_cast<int8_t>(rounded(v(i) * (127 / *m), -127));
    *squares = squares_of_unit(x + first, unit);
  }
}

#include "kernel_table.h"

}  // namespace

const CpuKernels kScalarKernels = table_of_kernels("scalar");

}  // namespace bitnet::cpu
