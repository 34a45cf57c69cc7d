// The loops of kernels.h over layout blocks16: quantised dense rows, sixteen side by side. They are written
// once and included after integer_loops_groups.h, whose vectors they share. They need besides:
//   either(a, b) = a | b, exclusive(a, b) = a ^ b, shift_left<n>(a)   of bytes; what comes in is undefined
//   times_16(Words)
//   kSignedDot    dot takes codes from -128 to 127, and not from 0 to 255
// A unit (32 inputs, 16 with codes of 6 bits) has an exact sum a row. Where Sums have 16 bits, few
// dots of large codes fit into them, and codes of 8 bits are taken as two of 4.

constexpr bool kWideSums = kFlush > 1024;

template <int kBits>
struct BlockCodes {
  static constexpr uint32_t kUnit = kBits == 6 ? 16 : 32, kWords = kUnit / 4;
  static constexpr uint32_t kUnitBytes = kUnit * kBits / 8 * kBandRows;  // of a band
  static constexpr int kPieces = kBits == 8 && !kWideSums ? 2 : 1;       // into which dots take a code
  static constexpr uint32_t kDots = kWideSums || kBits % 4 == 0 ? 8 : kBits == 5 ? 4 : 2;  // that Sums hold
  // What was added to a code as it is in memory
  static constexpr int32_t offset(bool has_min) {
    return has_min || (kBits == 8 && kSignedDot) ? 0 : 1 << (kBits - 1);
  }
};

// Calls take(codes, k) with word k of a unit, for the kVectors vectors of a band that begin at `unit`.
template <int kBits, int kVectors, typename Take>
inline __attribute__((always_inline)) void each_word(const uint8_t* unit, Take take) {
  constexpr uint32_t kStride = 4 * kBandRows;
  const auto load_word = [unit](uint32_t word, int v) __attribute__((always_inline)) {
    const uint8_t* at = unit + word * kStride + v * kBytes;
    if (v * kBytes % 64 == 0) {
      __builtin_prefetch(at + kAhead, 0, kToSecondCache);
      __builtin_prefetch(at + kNext, 0, kToFirstCache);
    }
    return load_bytes(at);
  };
  Bytes code[kVectors], next[kVectors];
  if constexpr (kBits == 8) {
    for (uint32_t k = 0; k < 8; ++k) {
      for (int v = 0; v < kVectors; ++v) {
        code[v] = load_word(k, v);
        if constexpr (kSignedDot) code[v] = exclusive(code[v], all_bytes(static_cast<char>(0x80)));
      }
      take(code, k);
    }
  } else {
    constexpr uint32_t kPairs = BlockCodes<kBits>::kWords / 2;
    const Bytes low = all_bytes(0x0F), fifth = all_bytes(0x10), upper = all_bytes(0x30);
    Bytes above[kVectors];
    if constexpr (kBits > 4)
      for (int v = 0; v < kVectors; ++v) above[v] = load_word(kPairs, v);
    const auto pair = [&]<int kPair>() __attribute__((always_inline)) {
      for (int v = 0; v < kVectors; ++v) {
        const Bytes bits = load_word(kPair, v);
        code[v] = both(bits, low);
        next[v] = both(shift_right<4>(bits), low);
        if constexpr (kBits == 5) {
          const Bytes first = kPair < 2    ? shift_left<4 - 2 * (kPair % 2)>(above[v])
                              : kPair == 2 ? above[v]
                                           : shift_right<2>(above[v]);
          const Bytes second = kPair < 2    ? shift_left<3 - 2 * (kPair % 2)>(above[v])
                               : kPair == 2 ? shift_right<1>(above[v])
                                            : shift_right<3>(above[v]);
          code[v] = either(code[v], both(first, fifth));
          next[v] = either(next[v], both(second, fifth));
        }
        if constexpr (kBits == 6) {
          code[v] = either(code[v], both(kPair == 0 ? shift_left<4>(above[v]) : above[v], upper));
          next[v] =
              either(next[v], both(kPair == 0 ? shift_left<2>(above[v]) : shift_right<2>(above[v]), upper));
        }
      }
      take(code, uint32_t{2 * kPair});
      take(next, uint32_t{2 * kPair + 1});
    };
    pair.template operator()<0>();
    pair.template operator()<1>();
    if constexpr (kPairs == 4) {
      pair.template operator()<2>();
      pair.template operator()<3>();
    }
  }
}

// The running sums of a unit, for codes in kVectors vectors.
template <int kBits, int kVectors>
struct UnitSums {
  using Codes = BlockCodes<kBits>;
  Sums sums[Codes::kPieces][kVectors];
  Words words[kVectors];  // of the first piece

  inline __attribute__((always_inline)) UnitSums() {
    for (auto& piece : sums)
      for (Sums& s : piece) s = no_sums();
    for (Words& w : words) w = no_words();
  }
  inline __attribute__((always_inline)) void add(const Bytes (&code)[kVectors], uint32_t k, const int8_t* q) {
    const Bytes word = repeat_word(q + 4 * k);
    for (int v = 0; v < kVectors; ++v) {
      if constexpr (Codes::kPieces == 2) {
        sums[0][v] = dot(sums[0][v], both(code[v], all_bytes(0x0F)), word);
        sums[1][v] = dot(sums[1][v], both(shift_right<4>(code[v]), all_bytes(0x0F)), word);
      } else {
        sums[0][v] = dot(sums[0][v], code[v], word);
      }
      if ((k + 1) % Codes::kDots == 0 && k + 1 < Codes::kWords) {
        words[v] = add_words(words[v], sums[0][v]);
        sums[0][v] = no_sums();
      }
    }
  }
  // The sum over the unit, where codes are as in memory.
  inline __attribute__((always_inline)) Words total(int v) const {
    const Words first = add_words(words[v], sums[0][v]);
    if constexpr (Codes::kPieces == 1) return first;
    return add_up(first, times_16(add_words(no_words(), sums[Codes::kPieces - 1][v])));
  }
};

// What a unit's sums without the offset add to a row's.
template <int kBits, bool kMin>
inline __attribute__((always_inline)) Words scaled_unit(Words total, int32_t q_sum, Vec d, Vec m,
                                                        float factor) {
  constexpr int32_t kOffset = BlockCodes<kBits>::offset(kMin);
  if constexpr (kOffset != 0) total = minus(total, all_words(kOffset * q_sum));
  const Words scaled = scaled_total(floats_of(total), d, factor);
  if constexpr (!kMin) return scaled;
  return minus(scaled, rounded(mul(set1(static_cast<float>(q_sum)), mul(m, set1(factor)))));
}

template <int kBits>
inline int32_t sum_of_unit(const int32_t* q_sums) {
  return kBits == 6 ? q_sums[0] : q_sums[0] + q_sums[1];
}

// Calls take(unit, d, m) for each unit of a band; the scales are times w.fixed.
template <int kBits, bool kMin, typename Take>
inline __attribute__((always_inline)) void each_unit_scale(const BlockBands& w, const uint8_t* scales,
                                                           Take take) {
  constexpr uint32_t kUnit = BlockCodes<kBits>::kUnit, kHalves = 2 * kBandRows;
  const Floats fixed = all(w.fixed);
  const auto halves = [&] {
    const Floats values = mul(load_halves16(reinterpret_cast<const uint16_t*>(scales)), fixed);
    scales += kHalves;
    return values;
  };
  if constexpr (kBits != 6 && !kMin) {
    for (uint32_t u = 0; u < w.n_in / kUnit; ++u) {
      __builtin_prefetch(scales + kAhead / 8, 0, kToSecondCache);
      const Floats d = halves();
      take(u, d, d);
    }
  } else {
    constexpr uint32_t kUnits = 256 / kUnit;
    for (uint32_t u = 0; u < w.n_in / kUnit;) {
      const Floats block_d = halves(), block_m = kMin ? halves() : block_d;
      for (const uint32_t end = u + kUnits; u < end; ++u) {
        __builtin_prefetch(scales + kAhead / 8, 0, kToSecondCache);
        Byte16 step = load_byte16(scales);
        scales += kBandRows;
        if constexpr (kMin) {
          const Floats d = mul(block_d, bytes_to_floats(step));
          step = load_byte16(scales);
          scales += kBandRows;
          take(u, d, mul(block_m, bytes_to_floats(step)));
        } else {
          const Floats d = mul(block_d, add(bytes_to_floats(step ^ 0x80), all(-128)));
          take(u, d, d);
        }
      }
    }
  }
}

template <int kBits, bool kMin>
inline void band_of_blocks(const BlockBands& w, const uint8_t* codes, const uint8_t* scales,
                           const UnitInputs& in, int32_t* out) {
  using Codes = BlockCodes<kBits>;
  constexpr int kVectors = kBandVectors < 2 ? kBandVectors : 2;
  Words sums[kBandVectors];
  for (Words& s : sums) s = no_words();
  each_unit_scale<kBits, kMin>(
      w, scales, [&](uint32_t u, const Floats& d, const Floats& m) __attribute__((always_inline)) {
        const uint8_t* unit = codes + size_t{u} * Codes::kUnitBytes;
        const int8_t* q = in.q + size_t{u} * Codes::kUnit;
        const int32_t q_sum = sum_of_unit<kBits>(in.sums + size_t{u} * (Codes::kUnit / 16));
        const float factor = in.factors[u * Codes::kUnit / 32];
        for (int v = 0; v < kBandVectors; v += kVectors) {
          UnitSums<kBits, kVectors> of_unit;
          each_word<kBits, kVectors>(
              unit + v * kBytes, [&](const Bytes(&code)[kVectors], uint32_t k)
                                     __attribute__((always_inline)) { of_unit.add(code, k, q); });
          for (int i = 0; i < kVectors; ++i)
            sums[v + i] = add_up(sums[v + i], scaled_unit<kBits, kMin>(of_unit.total(i), q_sum, d.vec[v + i],
                                                                       m.vec[v + i], factor));
        }
      });
  for (int v = 0; v < kBandVectors; ++v) store_words(out + v * kVecLanes, sums[v]);
}

template <int kBits, bool kMin>
inline void bands_of_blocks(const BlockBands& w, uint32_t n_bands, const UnitInputs& in, int32_t* sums) {
  for (uint32_t b = 0; b < n_bands; ++b)
    band_of_blocks<kBits, kMin>(w, w.codes + b * w.band_codes(), w.scales + b * w.band_scales(), in,
                                sums + b * kBandRows);
}

// f.operator()<kBits, kMin>() for the codes of w
template <typename F>
inline void with_codes(uint32_t bits, bool has_min, F f) {
  if (bits == 8) return f.template operator()<8, false>();
  if (bits == 6) return f.template operator()<6, false>();
  if (bits == 5) return has_min ? f.template operator()<5, true>() : f.template operator()<5, false>();
  return has_min ? f.template operator()<4, true>() : f.template operator()<4, false>();
}

inline void block_rows(const BlockBands& w, uint32_t n_bands, const UnitInputs& in, int32_t* sums) {
  with_codes(w.bits, w.has_min,
             [&]<int kBits, bool kMin>() { bands_of_blocks<kBits, kMin>(w, n_bands, in, sums); });
}

inline void unpack_block_band(const BlockBands& w, uint32_t band, uint8_t* tile, float* scales,
                              float* minima) {
  with_codes(w.bits, w.has_min, [&]<int kBits, bool kMin>() {
    using Codes = BlockCodes<kBits>;
    each_unit_scale<kBits, kMin>(
        w, w.scales, [&](uint32_t u, const Floats& d, const Floats& m) __attribute__((always_inline)) {
          const uint8_t* unit = w.codes + size_t{u} * Codes::kUnitBytes;
          uint8_t* to = tile + (size_t{u} * Codes::kWords * kTileRows + band * kBandRows) * 4;
          each_word<kBits, kBandVectors>(
              unit, [&](const Bytes(&code)[kBandVectors], uint32_t k) __attribute__((always_inline)) {
                for (int v = 0; v < kBandVectors; ++v)
                  store_bytes(to + k * 4 * kTileRows + v * kBytes, code[v]);
              });
          store16(scales + size_t{u} * kTileRows + band * kBandRows, d);
          if (kMin) store16(minima + size_t{u} * kTileRows + band * kBandRows, m);
        });
  });
}

// total[t][v] = the sums over a unit of a tile with token t, where codes are as in the tile.
template <int kBits, int kVectors, int kTokens>
inline void sum_tile_unit(const uint8_t* codes, const int8_t* q, uint32_t n_in,
                          Words (&total)[kTokens][kVectors]) {
  using Codes = BlockCodes<kBits>;
  // Calls take(code, t, v, word) for the words [k, end) of the codes and of the activations.
  const auto each = [&](uint32_t k, uint32_t end, auto take) __attribute__((always_inline)) {
    for (; k < end; ++k) {
      Bytes code[kVectors];
      for (int v = 0; v < kVectors; ++v) code[v] = load_bytes(codes + k * 4 * kTileRows + v * kBytes);
      for (int t = 0; t < kTokens; ++t) {
        const Bytes word = repeat_word(q + size_t{n_in} * t + 4 * k);
        for (int v = 0; v < kVectors; ++v) take(code[v], t, v, word);
      }
    }
  };
  for (int t = 0; t < kTokens; ++t)
    for (int v = 0; v < kVectors; ++v) total[t][v] = no_words();
  if constexpr (kWideSums) {
    each(
        0, Codes::kWords, [&](Bytes code, int t, int v, Bytes word) __attribute__((always_inline)) {
          total[t][v] = dot(total[t][v], code, word);
        });
  } else {
    for (uint32_t k = 0; k < Codes::kWords; k += Codes::kDots) {
      Sums sums[Codes::kPieces][kTokens][kVectors];
      for (int i = 0; i < Codes::kPieces; ++i)
        for (int t = 0; t < kTokens; ++t)
          for (int v = 0; v < kVectors; ++v) sums[i][t][v] = no_sums();
      each(
          k, k + Codes::kDots < Codes::kWords ? k + Codes::kDots : Codes::kWords,
          [&](Bytes code, int t, int v, Bytes word) __attribute__((always_inline)) {
            if constexpr (Codes::kPieces == 2) {
              sums[1][t][v] = dot(sums[1][t][v], both(shift_right<4>(code), all_bytes(0x0F)), word);
              code = both(code, all_bytes(0x0F));
            }
            sums[0][t][v] = dot(sums[0][t][v], code, word);
          });
      for (int t = 0; t < kTokens; ++t)
        for (int v = 0; v < kVectors; ++v) {
          total[t][v] = add_words(total[t][v], sums[0][t][v]);
          if constexpr (Codes::kPieces == 2)
            total[t][v] = add_up(total[t][v], times_16(add_words(no_words(), sums[1][t][v])));
        }
    }
  }
}

template <int kBits, bool kMin, int kVectors, int kTokens>
inline void block_tile_tokens(const BlockTile& w, uint32_t row, const UnitInputs& in, int32_t* sums) {
  using Codes = BlockCodes<kBits>;
  for (uint32_t u = 0; u < w.n_in / Codes::kUnit; ++u) {
    Words total[kTokens][kVectors];
    sum_tile_unit<kBits>(w.codes + (size_t{u} * Codes::kWords * kTileRows + row) * 4,
                         in.q + size_t{u} * Codes::kUnit, w.n_in, total);
    for (int t = 0; t < kTokens; ++t) {
      const int32_t q_sum = sum_of_unit<kBits>(in.sums + size_t{w.n_in} / 16 * t + u * (Codes::kUnit / 16));
      const float factor = in.factors[size_t{w.n_in} / 32 * t + u * Codes::kUnit / 32];
      for (int v = 0; v < kVectors; ++v) {
        const size_t at = size_t{u} * kTileRows + row + v * kVecLanes;
        const Vec d = load(w.scales + at), m = kMin ? load(w.minima + at) : d;
        const Words more = scaled_unit<kBits, kMin>(total[t][v], q_sum, d, m, factor);
        int32_t* to = sums + t * kTileRows + row + v * kVecLanes;
        store_words(to, u == 0 ? more : add_up(as_words(load_bytes(to)), more));
      }
    }
  }
}

inline void block_tile(const BlockTile& w, const UnitInputs& in, uint32_t n_tokens, int32_t* sums) {
  constexpr int kVectors = kTileVectors, kTokens = kWideSums ? kTileTokens : kTileTokens / 2;
  with_codes(w.bits, w.minima != nullptr, [&]<int kBits, bool kMin>() {
    for (uint32_t row = 0; row < kTileRows; row += kVectors * kVecLanes) {
      uint32_t t = 0;
      const auto block = [&](auto take, uint32_t tokens) {
        for (; t + tokens <= n_tokens; t += tokens)
          take(w, row, inputs_from(in, t, w.n_in, 16, 32), sums + t * kTileRows);
      };
      block(block_tile_tokens<kBits, kMin, kVectors, kTokens>, kTokens);
      if constexpr (kTokens > 4) block(block_tile_tokens<kBits, kMin, kVectors, 4>, 4);
      block(block_tile_tokens<kBits, kMin, kVectors, 1>, 1);
    }
  });
}
