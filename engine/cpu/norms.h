// The norm of a row of floats, as kernel_operands.h has it.
//
// Thread rule: values and free functions.
#pragma once

#include <cmath>
#include <cstring>

#include "recorder.h"

namespace bitnet::cpu {

struct RowNorm {
  Norm::Kind kind;
  const float* weight;  // null: all are 1
  const float* bias;    // null: all are 0
  float epsilon;

  explicit RowNorm(const Norm& norm)
      : kind(norm.kind),
        weight(norm.weight ? data_of<const float>(*norm.weight) : nullptr),
        bias(norm.bias ? data_of<const float>(*norm.bias) : nullptr),
        epsilon(norm.epsilon) {}

  // What an RMSNorm multiplies the row with, beside the weights
  float inverse(float squares, uint32_t n) const {
    return 1 / std::sqrt(squares / static_cast<float>(n) + epsilon);
  }

  // y = norm(x), n values each
  void run(const CpuKernels& k, const float* x, uint32_t n, float* y) const {
    if (kind == Norm::Kind::none) std::memcpy(y, x, n * sizeof(float));
    if (kind == Norm::Kind::rms) k.normalise(x, weight, n, inverse(k.sum_of_squares(x, n), n), y);
    if (kind != Norm::Kind::layer) return;
    double sum = 0, squares = 0;
    for (uint32_t i = 0; i < n; ++i) sum += x[i];
    const double mean = sum / n;
    for (uint32_t i = 0; i < n; ++i) squares += (x[i] - mean) * (x[i] - mean);
    const double factor = 1 / std::sqrt(squares / n + epsilon);
    for (uint32_t i = 0; i < n; ++i) {
      const auto normed = static_cast<float>((x[i] - mean) * factor);
      y[i] = normed * (weight ? weight[i] : 1) + (bias ? bias[i] : 0);
    }
  }
};

}  // namespace bitnet::cpu
