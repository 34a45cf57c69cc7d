// How a row of each dense type of an embedding or head becomes floats, and products of such rows with some
// vectors. Written once and included after float_loops.h and, for the vectors of bytes, after the includer
// has defined:
//   bytes_to_floats(Byte16)  the floats of 16 bytes from 0 to 255
//   load_bf16(from)          kVecLanes floats, of which the upper halves are there
// Products and differences are in the order of ggml's own dequantize_row_*, so the floats are the same bits
// as those of engine/layouts, where the formats are described.

// Calls take(block, d, number) for each block of kBlockBytes of a row, where d is the F16 at kScale of the
// block. The scales are converted 16 at a time.
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

inline Byte16 load_byte16(const void* from) {
  Byte16 bytes;
  __builtin_memcpy(&bytes, from, sizeof bytes);
  return bytes;
}
// (code - less) * scale, and scale * code - less
inline void store_shifted(float* to, Byte16 codes, float less, float scale) {
  store16(to, mul(add(bytes_to_floats(codes), all(-less)), all(scale)));
}
inline void store_affine(float* to, Byte16 codes, float scale, float less) {
  store16(to, add(mul(all(scale), bytes_to_floats(codes)), all(-less)));
}

inline void f16_floats(const std::byte* row, uint32_t n, float* out) {
  for (uint32_t i = 0; i < n; i += kLanes) {
    __builtin_prefetch(row + 2 * size_t{i} + kAhead, 0, kToSecondCache);
    store16(out + i, load_halves16(reinterpret_cast<const uint16_t*>(row) + i));
  }
}

inline void f32_floats(const std::byte* row, uint32_t n, float* out) {
  __builtin_memcpy(out, row, n * sizeof(float));
}

inline void bf16_floats(const std::byte* row, uint32_t n, float* out) {
  for (uint32_t i = 0; i < n; i += kLanes) {
    __builtin_prefetch(row + 2 * size_t{i} + kAhead, 0, kToSecondCache);
    const auto* from = reinterpret_cast<const uint16_t*>(row) + i;
    for (int j = 0; j < kLanes; j += kVecLanes) store(out + i + j, load_bf16(from + j));
  }
}

inline void bf16_rows(const uint16_t* rows, uint32_t n, uint32_t n_rows, const float* y, float* out) {
  rows_of_16_bits(rows, n, n_rows, y, out, [](const uint16_t* from) {
    Floats v;
    for (int i = 0; i < kVecs; ++i) v.vec[i] = load_bf16(from + i * kVecLanes);
    return v;
  });
}

inline void q8_0_floats(const std::byte* row, uint32_t n, float* out) {
  each_block<34, 0>(row, n / 32, [out](const uint8_t* block, float d, uint32_t b) {
    for (int i = 0; i < 32; i += 16)  // with 128 more they are not negative
      store_shifted(out + b * 32 + i, load_byte16(block + 2 + i) ^ 0x80, 128, d);
  });
}

inline void q4_0_floats(const std::byte* row, uint32_t n, float* out) {
  each_block<18, 0>(row, n / 32, [out](const uint8_t* block, float d, uint32_t b) {
    const Byte16 q = load_byte16(block + 2);
    store_shifted(out + b * 32, q & 15, 8, d);
    store_shifted(out + b * 32 + 16, q >> 4, 8, d);
  });
}

// 16 where the bits are set, from the lowest on
inline Byte16 fifth_bits(uint32_t bits) {
  using Long2 = uint64_t __attribute__((vector_size(16)));
  constexpr uint64_t kEach = 0x0101010101010101;
  const Long2 repeated = {(bits & 0xFF) * kEach, (bits >> 8 & 0xFF) * kEach};
  constexpr Byte16 kBit = {1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128};
  return reinterpret_cast<Byte16>((reinterpret_cast<Byte16>(repeated) & kBit) == kBit) & 16;
}

inline void q5_0_floats(const std::byte* row, uint32_t n, float* out) {
  each_block<22, 0>(row, n / 32, [out](const uint8_t* block, float d, uint32_t b) {
    uint32_t fifth = 0;
    __builtin_memcpy(&fifth, block + 2, sizeof fifth);
    const Byte16 q = load_byte16(block + 6);
    store_shifted(out + b * 32, (q & 15) | fifth_bits(fifth), 16, d);
    store_shifted(out + b * 32 + 16, q >> 4 | fifth_bits(fifth >> 16), 16, d);
  });
}

// The 8 scales and minima of 6 bits in 12 bytes of Q4_K and Q5_K, times d and the block's minimum.
struct KScales {
  float scale[8], least[8];
};
inline KScales k_scales(const uint8_t* block, float d) {
  uint16_t half[kLanes] = {};
  float least[kLanes], packed[kLanes];
  __builtin_memcpy(half, block + 2, sizeof half[0]);
  store16(least, load_halves16(half));
  uint32_t q[3];
  __builtin_memcpy(q, block + 4, sizeof q);
  constexpr uint32_t kSix = 0x3F3F3F3F, kFour = 0x0F0F0F0F, kTwo = 0x03030303;
  using Word4 = uint32_t __attribute__((vector_size(16)));
  const Word4 numbers = {q[0] & kSix, (q[2] & kFour) | (q[0] >> 6 & kTwo) << 4, q[1] & kSix,
                         (q[2] >> 4 & kFour) | (q[1] >> 6 & kTwo) << 4};
  store16(packed, bytes_to_floats(reinterpret_cast<Byte16>(numbers)));
  KScales s;
  for (int j = 0; j < 8; ++j) s.scale[j] = d * packed[j];
  for (int j = 0; j < 8; ++j) s.least[j] = least[0] * packed[8 + j];
  return s;
}

inline void q4_k_floats(const std::byte* row, uint32_t n, float* out) {
  each_block<144, 0>(row, n / 256, [out](const uint8_t* block, float d, uint32_t b) {
    const KScales s = k_scales(block, d);
    for (int i = 0; i < 8; i += 2)
      for (int j = 0; j < 32; j += 16) {
        const Byte16 q = load_byte16(block + 16 + i * 16 + j);
        float* y = out + b * 256 + i * 32 + j;
        store_affine(y, q & 15, s.scale[i], s.least[i]);
        store_affine(y + 32, q >> 4, s.scale[i + 1], s.least[i + 1]);
      }
  });
}

inline void q5_k_floats(const std::byte* row, uint32_t n, float* out) {
  each_block<176, 0>(row, n / 256, [out](const uint8_t* block, float d, uint32_t b) {
    const KScales s = k_scales(block, d);
    for (int i = 0; i < 8; i += 2)
      for (int j = 0; j < 32; j += 16) {
        const Byte16 q = load_byte16(block + 48 + i * 16 + j), fifth = load_byte16(block + 16 + j) >> i;
        float* y = out + b * 256 + i * 32 + j;
        store_affine(y, (q & 15) | (fifth & 1) << 4, s.scale[i], s.least[i]);
        store_affine(y + 32, q >> 4 | (fifth & 2) << 3, s.scale[i + 1], s.least[i + 1]);
      }
  });
}

inline void q6_k_floats(const std::byte* row, uint32_t n, float* out) {
  each_block<210, 208>(row, n / 256, [out](const uint8_t* block, float d, uint32_t b) {
    float scales[kLanes];
    store16(scales, mul(add(bytes_to_floats(load_byte16(block + 192) ^ 0x80), all(-128)), all(d)));
    for (int half = 0; half < 2; ++half)
      for (int i = 0; i < 2; ++i) {
        const uint8_t* low = block + half * 64 + i * 16;
        const Byte16 q0 = load_byte16(low), q1 = load_byte16(low + 32),
                     high = load_byte16(block + 128 + half * 32 + i * 16);
        float* y = out + b * 256 + half * 128 + i * 16;
        const float* scale = scales + half * 8 + i;
        store_shifted(y, (q0 & 15) | (high & 3) << 4, 32, scale[0]);
        store_shifted(y + 32, (q1 & 15) | (high >> 2 & 3) << 4, 32, scale[2]);
        store_shifted(y + 64, q0 >> 4 | (high >> 4 & 3) << 4, 32, scale[4]);
        store_shifted(y + 96, q1 >> 4 | high >> 6 << 4, 32, scale[6]);
      }
  });
}

// As float_rows with one row and kTokens vectors. `load` gives 16 lanes of a row.
template <int kTokens, typename Number, typename Load>
inline void float_token_block(const Number* row, uint32_t n, const float* y, size_t stride, float* out,
                              Load load) {
  Floats sums[kTokens][kFloatSums];
  for (int t = 0; t < kTokens; ++t)
    for (int j = 0; j < kFloatSums; ++j) sums[t][j] = all(0);
  uint32_t i = 0;
  for (; i + kFloatStep <= n; i += kFloatStep)
    for (int j = 0; j < kFloatSums; ++j) {
      const Floats w = load(row + i + j * kLanes);
      for (int t = 0; t < kTokens; ++t)
        sums[t][j] = fma(w, load16(y + size_t{n} * t + i + j * kLanes), sums[t][j]);
    }
  for (int j = 0; i < n; ++j, i += kLanes)
    for (int t = 0; t < kTokens; ++t)
      sums[t][j] = fma(load(row + i), load16(y + size_t{n} * t + i), sums[t][j]);
  for (int t = 0; t < kTokens; ++t) out[t * stride] = add_sums_up(sums[t]);
}

// The same with some rows. For each number that is loaded there are several products, so one sum of each row
// and token after the other is made, as there are not enough registers for all.
template <int kRows, int kTokens, typename Number, typename Load>
inline void float_block(const Number* rows, uint32_t n, const float* y, size_t stride, float* out,
                        Load load) {
  Floats sums[kRows][kTokens][kFloatSums];
  for (int j = 0; j < kFloatSums; ++j) {
    Floats some[kRows][kTokens];
    for (auto& of_row : some)
      for (Floats& sum : of_row) sum = all(0);
    for (uint32_t i = j * kLanes; i < n; i += kFloatStep) {
      Floats of_token[kTokens];
      for (int t = 0; t < kTokens; ++t) of_token[t] = load16(y + size_t{n} * t + i);
      for (int r = 0; r < kRows; ++r) {
        const Floats w = load(rows + size_t{n} * r + i);
        for (int t = 0; t < kTokens; ++t) some[r][t] = fma(w, of_token[t], some[r][t]);
      }
    }
    for (int r = 0; r < kRows; ++r)
      for (int t = 0; t < kTokens; ++t) sums[r][t][j] = some[r][t];
  }
  if constexpr (kVecs == 1 && kRows * kTokens == 16) {
    Floats of_all[16];
    for (int r = 0; r < kRows; ++r)
      for (int t = 0; t < kTokens; ++t) of_all[t * kRows + r] = add_four(sums[r][t]);
    float totals[16];
    store16(totals, add_lanes_of_16(of_all));
    for (int t = 0; t < kTokens; ++t)
      for (int r = 0; r < kRows; ++r) out[t * stride + r] = totals[t * kRows + r];
  } else {
    for (int r = 0; r < kRows; ++r)
      for (int t = 0; t < kTokens; ++t) out[t * stride + r] = add_sums_up(sums[r][t]);
  }
}

// All rows with kTokens vectors, kRows at a time.
template <int kRows, int kTokens, typename Number, typename Load>
inline void rows_of_tokens(const Number* rows, uint32_t n, uint32_t n_rows, const float* y, size_t stride,
                           float* out, Load load) {
  uint32_t r = 0;
  if constexpr (kRows > 1)
    for (; r + kRows <= n_rows; r += kRows)
      float_block<kRows, kTokens>(rows + size_t{n} * r, n, y, stride, out + r, load);
  for (; r < n_rows; ++r) float_token_block<kTokens>(rows + size_t{n} * r, n, y, stride, out + r, load);
}

// The sums of as many rows and vectors as are taken together fit the registers. Of eight vectors two rows do,
// each of which is loaded and converted once for all of them.
template <typename Number, typename Load>
inline void rows_by_tokens(const Number* rows, uint32_t n, uint32_t n_rows, const float* y, uint32_t n_tokens,
                           size_t stride, float* out, Load load) {
  constexpr int kRows = kVecs == 1 ? kTableRows : kVecs == 2 ? 2 : 1;
  constexpr int kTokens = kVecs == 1 ? 4 : kVecs == 2 ? 2 : 1;
  constexpr int kMany = kVecs == 1 ? 2 * kTokens : kTokens, kRowsOfMany = kVecs == 1 ? kRows / 2 : kRows;
  for (uint32_t t = 0, tokens = 0; t < n_tokens; t += tokens) {
    const uint32_t left = n_tokens - t;
    tokens = left >= kMany ? kMany : left >= kTokens ? kTokens : kTokens > 2 && left >= 2 ? 2 : 1;
    const auto take = [&](auto product) { product(rows, n, n_rows, y, stride, out, load); };
    take(tokens == 1         ? rows_of_tokens<1, 1, Number, Load>
         : tokens == 2       ? rows_of_tokens<kRows, 2, Number, Load>
         : tokens == kTokens ? rows_of_tokens<kRows, kTokens, Number, Load>
                             : rows_of_tokens<kRowsOfMany, kMany, Number, Load>);
    y += size_t{n} * tokens;
    out += tokens * stride;
  }
}

inline void float_tokens(const float* rows, uint32_t n, uint32_t n_rows, const float* y, uint32_t n_tokens,
                         size_t stride, float* out) {
  rows_by_tokens(rows, n, n_rows, y, n_tokens, stride, out, [](const float* from) { return load16(from); });
}

inline void half_tokens(const uint16_t* rows, uint32_t n, uint32_t n_rows, const float* y, uint32_t n_tokens,
                        size_t stride, float* out) {
  rows_by_tokens(rows, n, n_rows, y, n_tokens, stride, out,
                 [](const uint16_t* from) { return load_halves16(from); });
}
