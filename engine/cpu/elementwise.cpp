// What the forward pass does with vectors beside projections and attention: norms, sums, scales and caps.
#include <algorithm>
#include <limits>
#include <numbers>

#include "norms.h"
#include "recorder.h"

namespace bitnet::cpu {
namespace {

constexpr uint32_t kValuesAUnit = 4096;

}  // namespace

void CpuRecorder::norm(const Buffer& x, uint32_t first_row, const Norm& norm, uint32_t n_features,
                       const Buffer& y, uint32_t n) {
  program_.norms.push_back(&y);
  step(n, [&k = k_, x = data_of<const float>(x) + size_t{first_row} * n_features, norm = RowNorm(norm),
           n_features, y = data_of<float>(y)](uint32_t t, CacheLine*) {
    norm.run(k, x + size_t{t} * n_features, n_features, y + size_t{t} * n_features);
  });
}

namespace {

// H of `block` values. What is next to each other comes first; the compiler makes vectors of the wider
// levels.
void transform(float* values, uint32_t block) {
  for (uint32_t h = 1; h < block; h *= 2)
    for (uint32_t i = 0; i < block; i += 2 * h) {
      float *low = values + i, *high = low + h;
      for (uint32_t j = 0; j < h; ++j) {
        const float a = low[j], b = high[j];
        low[j] = a + b;
        high[j] = a - b;
      }
    }
}

}  // namespace

void CpuRecorder::rotate(const Buffer& x, const Rotation& rotation, Turn turn, uint32_t n_features,
                         const Buffer& y, uint32_t n) {
  const uint32_t block = rotation.block, blocks = n_features / block;
  const float* signs = rotation.signs ? data_of<const float>(*rotation.signs) : nullptr;
  step(
      n * blocks,
      [x = data_of<const float>(x), y = data_of<float>(y), signs, turn, block, blocks,
       factor = rotation.factor()](uint32_t unit, CacheLine* scratch) {
        auto* values = reinterpret_cast<float*>(scratch);
        const size_t at = size_t{unit} * block;
        const float* of_block = signs ? signs + size_t{unit % blocks} * block : nullptr;
        const bool first = of_block && turn == Turn::there, last = of_block && turn == Turn::back;
        for (uint32_t i = 0; i < block; ++i) values[i] = first ? x[at + i] * of_block[i] : x[at + i];
        transform(values, block);
        for (uint32_t i = 0; i < block; ++i) {
          const float value = values[i] * factor;
          y[at + i] = last ? value * of_block[i] : value;
        }
      },
      block * sizeof(float));
}

void CpuRecorder::add_normed(const Buffer& t, const Norm& norm, uint32_t n_features, const Buffer& x,
                             uint32_t n) {
  step(
      n,
      [&k = k_, from = data_of<const float>(t), norm = RowNorm(norm), n_features, x = data_of<float>(x)](
          uint32_t t, CacheLine* scratch) {
        auto* normed = reinterpret_cast<float*>(scratch);
        norm.run(k, from + size_t{t} * n_features, n_features, normed);
        for (uint32_t i = 0; i < n_features; ++i) x[size_t{t} * n_features + i] += normed[i];
      },
      n_features * sizeof(float));
}

void CpuRecorder::multiply(const Buffer& g, const Buffer& by, uint32_t width, uint32_t by_stride,
                           uint32_t by_offset, uint32_t n) {
  step(n, [g = data_of<float>(g), by = data_of<const float>(by) + by_offset, width, by_stride](uint32_t t,
                                                                                               CacheLine*) {
    for (uint32_t i = 0; i < width; ++i) g[size_t{t} * width + i] *= by[size_t{t} * by_stride + i];
  });
}

void CpuRecorder::combine_per_layer(const Buffer& projected, const Norm& norm, float projected_scale,
                                    const Buffer& embedded, float embedded_scale, uint32_t n_slices,
                                    uint32_t width, uint32_t n) {
  step(
      n * n_slices,
      [&k = k_, projected = data_of<float>(projected), norm = RowNorm(norm), projected_scale,
       embedded = data_of<const float>(embedded), embedded_scale, width](uint32_t slice, CacheLine* scratch) {
        float* p = projected + size_t{slice} * width;
        const float* e = embedded + size_t{slice} * width;
        auto* normed = reinterpret_cast<float*>(scratch);
        for (uint32_t i = 0; i < width; ++i) p[i] *= projected_scale;
        norm.run(k, p, width, normed);
        constexpr float kHalf = 1 / std::numbers::sqrt2_v<float>;
        for (uint32_t i = 0; i < width; ++i) p[i] = (normed[i] + e[i] * embedded_scale) * kHalf;
      },
      width * sizeof(float));
}

void CpuRecorder::scale(const Buffer& x, float factor, uint32_t n_values) {
  step(ceil_div(n_values, kValuesAUnit),
       [x = data_of<float>(x), factor, n_values](uint32_t unit, CacheLine*) {
         const uint32_t begin = unit * kValuesAUnit, end = std::min(n_values, begin + kValuesAUnit);
         for (uint32_t i = begin; i < end; ++i) x[i] *= factor;
       });
}

void CpuRecorder::finish_logits(const Buffer& logits, uint32_t n_vocab, float softcap,
                                const Buffer* suppressed, uint32_t n_suppressed, uint32_t rows) {
  auto* values = data_of<float>(logits);
  const uint32_t n = rows * n_vocab;
  if (softcap != 0)
    step(ceil_div(n, kValuesAUnit), [&k = k_, values, softcap, n](uint32_t unit, CacheLine*) {
      const uint32_t begin = unit * kValuesAUnit;
      k.cap(values + begin, std::min(n - begin, kValuesAUnit), softcap);
    });
  if (suppressed)
    step(rows, [values, n_vocab, ids = data_of<const int32_t>(*suppressed), n_suppressed](uint32_t row,
                                                                                          CacheLine*) {
      for (uint32_t i = 0; i < n_suppressed; ++i)
        values[size_t{row} * n_vocab + static_cast<uint32_t>(ids[i])] =
            -std::numeric_limits<float>::infinity();
    });
}

}  // namespace bitnet::cpu
