// Types of one element a block: F32, F16, BF16.
#include "rows.h"

namespace bitnet::layouts {

void f32_floats(const std::byte* row, size_t n, float* out) { std::memcpy(out, row, n * sizeof *out); }

void f16_floats(const std::byte* row, size_t n, float* out) {
  for (size_t i = 0; i < n; ++i) out[i] = half_at(row + 2 * i);
}

void bf16_floats(const std::byte* row, size_t n, float* out) {
  for (size_t i = 0; i < n; ++i)
    out[i] = std::bit_cast<float>(static_cast<uint32_t>(load_u16(row + 2 * i)) << 16);
}

}  // namespace bitnet::layouts
