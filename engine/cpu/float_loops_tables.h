// How a row of each dense type of an embedding or head becomes floats. Written once and included after
// float_loops.h, in plain C++ that the compiler makes vectors of for each instruction set. Products and
// differences are in the order of ggml's own dequantize_row_*, so the floats are the same bits. The formats
// are described in engine/layouts.

// Calls take(block, d) for each block of kBlockBytes of a row, where d is the F16 at kScale of the block. The
// scales are converted 16 at a time.
template <uint32_t kBlockBytes, uint32_t kScale, typename Take>
inline void each_block(const std::byte* row, uint32_t n_blocks, Take take) {
  for (uint32_t first = 0; first < n_blocks; first += kLanes) {
    const uint32_t count = n_blocks - first < kLanes ? n_blocks - first : kLanes;
    uint16_t halves[kLanes] = {};
    float scales[kLanes];
    for (uint32_t b = 0; b < count; ++b)
      __builtin_memcpy(&halves[b], row + (first + b) * kBlockBytes + kScale, sizeof halves[b]);
    store16(scales, load_halves16(halves));
    for (uint32_t b = 0; b < count; ++b) {
      const auto* block = reinterpret_cast<const uint8_t*>(row + (first + b) * kBlockBytes);
      for (uint32_t line = 0; line < kBlockBytes; line += 64)
        __builtin_prefetch(block + line + kAhead, 0, kToSecondCache);
      take(block, scales[b], first + b);
    }
  }
}

inline void f16_floats(const std::byte* row, uint32_t n, float* out) {
  to_floats(reinterpret_cast<const uint16_t*>(row), n, out);
}

inline void f32_floats(const std::byte* row, uint32_t n, float* out) {
  __builtin_memcpy(out, row, n * sizeof(float));
}

inline void bf16_floats(const std::byte* row, uint32_t n, float* out) {
  const auto* halves = reinterpret_cast<const uint16_t*>(row);
  auto* bits = reinterpret_cast<uint32_t __attribute__((may_alias))*>(out);
  for (uint32_t i = 0; i < n; i += 32) {
    __builtin_prefetch(reinterpret_cast<const char*>(halves + i) + kAhead, 0, kToSecondCache);
    for (uint32_t j = i; j < i + 32; ++j) bits[j] = static_cast<uint32_t>(halves[j]) << 16;
  }
}

inline void q8_0_floats(const std::byte* row, uint32_t n, float* out) {
  each_block<34, 0>(row, n / 32, [out](const uint8_t* block, float d, uint32_t b) {
    const auto* q = reinterpret_cast<const int8_t*>(block + 2);
    float* y = out + b * 32;
    for (int j = 0; j < 32; ++j) y[j] = static_cast<float>(q[j]) * d;
  });
}

inline void q4_0_floats(const std::byte* row, uint32_t n, float* out) {
  each_block<18, 0>(row, n / 32, [out](const uint8_t* block, float d, uint32_t b) {
    const uint8_t* q = block + 2;
    float* y = out + b * 32;
    for (int j = 0; j < 16; ++j) y[j] = static_cast<float>((q[j] & 15) - 8) * d;
    for (int j = 0; j < 16; ++j) y[16 + j] = static_cast<float>((q[j] >> 4) - 8) * d;
  });
}

inline void q5_0_floats(const std::byte* row, uint32_t n, float* out) {
  each_block<22, 0>(row, n / 32, [out](const uint8_t* block, float d, uint32_t b) {
    uint32_t fifth = 0;
    __builtin_memcpy(&fifth, block + 2, sizeof fifth);
    const uint8_t* q = block + 6;
    float* y = out + b * 32;
    for (uint32_t j = 0; j < 16; ++j)
      y[j] = static_cast<float>(static_cast<int>((q[j] & 15U) | (fifth >> j & 1) << 4) - 16) * d;
    for (uint32_t j = 0; j < 16; ++j)
      y[16 + j] = static_cast<float>(static_cast<int>(q[j] >> 4 | (fifth >> (16 + j) & 1) << 4) - 16) * d;
  });
}

// The 8 scales and minima of 6 bits in 12 bytes of Q4_K and Q5_K, times d and the block's minimum.
struct KScales {
  float scale[8], least[8];
};
inline KScales k_scales(const uint8_t* block, float d) {
  uint16_t half[kLanes] = {};
  float least[kLanes];
  __builtin_memcpy(half, block + 2, sizeof half[0]);
  store16(least, load_halves16(half));
  const uint8_t* q = block + 4;
  KScales s;
  for (int j = 0; j < 4; ++j) {
    s.scale[j] = d * static_cast<float>(q[j] & 63);
    s.least[j] = least[0] * static_cast<float>(q[j + 4] & 63);
    s.scale[4 + j] = d * static_cast<float>((q[j + 8] & 15) | q[j] >> 6 << 4);
    s.least[4 + j] = least[0] * static_cast<float>(q[j + 8] >> 4 | q[j + 4] >> 6 << 4);
  }
  return s;
}

inline void q4_k_floats(const std::byte* row, uint32_t n, float* out) {
  each_block<144, 0>(row, n / 256, [out](const uint8_t* block, float d, uint32_t b) {
    const KScales s = k_scales(block, d);
    for (int i = 0; i < 4; ++i) {
      const uint8_t* q = block + 16 + i * 32;
      float* y = out + b * 256 + i * 64;
      for (int j = 0; j < 32; ++j) y[j] = s.scale[2 * i] * static_cast<float>(q[j] & 15) - s.least[2 * i];
      for (int j = 0; j < 32; ++j)
        y[32 + j] = s.scale[2 * i + 1] * static_cast<float>(q[j] >> 4) - s.least[2 * i + 1];
    }
  });
}

inline void q5_k_floats(const std::byte* row, uint32_t n, float* out) {
  each_block<176, 0>(row, n / 256, [out](const uint8_t* block, float d, uint32_t b) {
    const KScales s = k_scales(block, d);
    const uint8_t* fifth = block + 16;
    for (int i = 0; i < 4; ++i) {
      const uint8_t* q = block + 48 + i * 32;
      float* y = out + b * 256 + i * 64;
      for (int j = 0; j < 32; ++j)
        y[j] = s.scale[2 * i] * static_cast<float>((q[j] & 15) | (fifth[j] >> (2 * i) & 1) << 4) -
               s.least[2 * i];
      for (int j = 0; j < 32; ++j)
        y[32 + j] = s.scale[2 * i + 1] * static_cast<float>(q[j] >> 4 | (fifth[j] >> (2 * i + 1) & 1) << 4) -
                    s.least[2 * i + 1];
    }
  });
}

inline void q6_k_floats(const std::byte* row, uint32_t n, float* out) {
  each_block<210, 208>(row, n / 256, [out](const uint8_t* block, float d, uint32_t b) {
    const auto* scales = reinterpret_cast<const int8_t*>(block + 192);
    for (int half = 0; half < 2; ++half)
      for (int part = 0; part < 4; ++part)
        for (int i = 0; i < 2; ++i) {
          const uint8_t* low = block + half * 64 + part % 2 * 32 + i * 16;
          const uint8_t* high = block + 128 + half * 32 + i * 16;
          const float scale = d * static_cast<float>(scales[half * 8 + part * 2 + i]);
          float* y = out + b * 256 + half * 128 + part * 32 + i * 16;
          for (int j = 0; j < 16; ++j)
            y[j] = scale * static_cast<float>(
                               ((low[j] >> (part / 2 * 4) & 15) | (high[j] >> (2 * part) & 3) << 4) - 32);
        }
  });
}
