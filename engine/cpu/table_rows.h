// The rows of a dense embedding or head as they lie in the file.
//
// Thread rule: values and free functions.
#pragma once

#include "engine/backend.h"
#include "kernels.h"

namespace bitnet::cpu {

struct TableRows {
  const std::byte* bytes = nullptr;
  size_t row_bytes = 0;
  uint32_t n = 0;  // values of a row
  TensorType type = TensorType::f16;

  const std::byte* row(uint32_t r) const { return bytes + size_t{r} * row_bytes; }
};

// How a row of this type becomes floats. Requires: a type that may be an embedding or a head.
RowFloats row_floats_of(const CpuKernels& k, TensorType type);

// out[t * stride + i] = row first + i . y[t], for n_tokens vectors [n]. `scratch` has room for
// kTableRows rows of floats, or for n_rows where they are fewer.
void multiply_rows(const CpuKernels& k, const TableRows& rows, uint32_t first, uint32_t n_rows,
                   const float* y, uint32_t n_tokens, size_t stride, float* out, float* scratch);

}  // namespace bitnet::cpu
