// The loops of kernels.h over layout groups16, where 16 rows lie side by side. They are written once and
// included after float_loops.h and integer_loops.h, whose vectors they share: a vector holds kBytes / 4 rows,
// and four codes of each. They need besides:
//   floats_of(Words), rounded(Vec)   int32 to float, and float to int32 half to even
//   minus(a, b), all_words(x)        of int32
//   div(Vec, Vec)
// No lane of a sum meets another, so there is nothing to add up across lanes. As in integer_loops.h, the
// codes at shifts 2 and 6 are taken as four times the code and have sums of their own.

constexpr size_t kNext = 512;  // the best of 0 to 1536, by 4 % over none
constexpr int kToFirstCache = 3;
constexpr uint32_t kGroup = 64;  // inputs whose sum is rounded
constexpr int kBandVectors = 4 * kBandRows / kBytes;

// round_half_even(total * (scale * factor))
inline Words scaled_total(Vec total, Vec scale, float factor) {
  return rounded(mul(total, mul(scale, set1(factor))));
}

// The sum of a group of inputs that have a rest: below 2^22, so that nothing is rounded.
inline Vec with_rest(Words q, Words rest) {
  return add(mul(floats_of(q), set1(kRestSteps)), floats_of(rest));
}

// The sums of one group, for a band. kPlanes is 2 where inputs have a rest.
template <int kPlanes>
inline void group_of_rows(const uint8_t* codes, const UnitInputs& in, uint32_t group, const Vec* scales,
                          Words* sums) {
  constexpr int kVectors = kBandVectors;
  const Bytes low = all_bytes(0x03), high = all_bytes(0x0C);
  Sums one[kPlanes][kVectors], four[kPlanes][kVectors];
  for (int p = 0; p < kPlanes; ++p)
    for (int v = 0; v < kVectors; ++v) one[p][v] = four[p][v] = no_sums();
  for (uint32_t i = 0; i < kGroup; i += 16) {
    Bytes bits[kVectors], upper[kVectors];
    for (int v = 0; v < kVectors; ++v) {
      const uint8_t* at = codes + i * (kBandRows / 4) + v * kBytes;
      if (kBytes * v % 64 == 0) {
        __builtin_prefetch(at + kAhead, 0, kToSecondCache);
        __builtin_prefetch(at + kNext, 0, kToFirstCache);
      }
      bits[v] = load_bytes(at);
      upper[v] = shift_right<4>(bits[v]);
    }
    for (int p = 0; p < kPlanes; ++p) {
      const int8_t* meets = (p == 0 ? in.q : in.rest) + size_t{group} * kGroup + i;  // shifts 6, 4, 2, 0
      const Bytes q0 = repeat_word(meets), q1 = repeat_word(meets + 4), q2 = repeat_word(meets + 8),
                  q3 = repeat_word(meets + 12);
      for (int v = 0; v < kVectors; ++v) {
        one[p][v] = dot(dot(one[p][v], both(bits[v], low), q3), both(upper[v], low), q1);
        four[p][v] = dot(dot(four[p][v], both(bits[v], high), q2), both(upper[v], high), q0);
      }
    }
  }
  const auto total = [&](int p, int v) {
    return add_words(shift_words<2>(add_words(no_words(), four[p][v])), one[p][v]);
  };
  for (int v = 0; v < kVectors; ++v) {
    const Words last = minus(total(kPlanes - 1, v), all_words(in.sums[group]));
    const Vec exact = kPlanes == 2 ? with_rest(total(0, v), last) : floats_of(last);
    sums[v] = add_up(sums[v], scaled_total(exact, scales[v], in.factors[group]));
  }
}

template <int kPlanes>
inline void band_of_rows(const GroupRows& w, const uint8_t* codes, const uint16_t* scales,
                         const UnitInputs& in, int32_t* out) {
  Words sums[kBandVectors];
  Vec scale[kBandVectors];
  for (int v = 0; v < kBandVectors; ++v) sums[v] = no_words();
  const uint32_t groups = w.n_in / kGroup, groups_a_scale = w.scale_every / kGroup;
  for (uint32_t group = 0; group < groups; scales += kBandRows) {
    __builtin_prefetch(scales + kAhead / kGroup * 4, 0, kToSecondCache);
    for (int v = 0; v < kBandVectors; ++v) scale[v] = mul(load_halves(scales + v * kVecLanes), set1(w.fixed));
    for (uint32_t i = 0; i < groups_a_scale; ++i, ++group, codes += kGroup * kBandRows / 4)
      group_of_rows<kPlanes>(codes, in, group, scale, sums);
  }
  for (int v = 0; v < kBandVectors; ++v) store_words(out + v * kVecLanes, sums[v]);
}

// A band is in the first cache for all tokens.
inline void group_rows(const GroupRows& w, uint32_t n_bands, const UnitInputs& in, uint32_t n_tokens,
                       size_t stride, int32_t* sums) {
  const size_t band_bytes = size_t{w.n_in} * kBandRows / 4, band_scales = w.n_in / w.scale_every * kBandRows;
  for (uint32_t b = 0; b < n_bands; ++b)
    for (uint32_t t = 0; t < n_tokens; ++t)
      (in.rest ? band_of_rows<2> : band_of_rows<1>)(w, w.codes + b * band_bytes, w.scales + b * band_scales,
                                                    inputs_from(in, t, w.n_in, 64, 64),
                                                    sums + t * stride + b * kBandRows);
}

inline void unpack_bands(const uint8_t* const* bands, uint32_t n_in, uint8_t* tile) {
  constexpr uint32_t kStep = 4 * kTileRows, kBand = 4 * kBandRows;
  const Bytes low = all_bytes(0x03);
  for (uint32_t i = 0; i < n_in / 16; ++i)
    for (uint32_t band = 0; band < kTileRows / kBandRows; ++band)
      for (uint32_t v = 0; v < kBand; v += kBytes) {
        const Bytes bits = load_bytes(bands[band] + size_t{i} * kBand + v);
        uint8_t* to = tile + size_t{i} * 4 * kStep + band * kBand + v;
        store_bytes(to, both(shift_right<6>(bits), low));
        store_bytes(to + kStep, both(shift_right<4>(bits), low));
        store_bytes(to + 2 * kStep, both(shift_right<2>(bits), low));
        store_bytes(to + 3 * kStep, both(bits, low));
      }
}

inline void unpack_scales(const uint16_t* const* bands, uint32_t n, float fixed, float* scales) {
  for (uint32_t i = 0; i < n; ++i)
    for (uint32_t band = 0; band < kTileRows / kBandRows; ++band)
      store16(scales + (i * kTileRows / kBandRows + band) * kBandRows,
              mul(load_halves16(bands[band] + size_t{i} * kBandRows), all(fixed)));
}

// The products of a group's codes, for some tokens.
template <int kVectors, int kTokens>
inline void group_products(const uint8_t* codes, const int8_t* q, size_t n_in,
                           Words (&total)[kTokens][kVectors]) {
  Sums block[kTokens][kVectors];
  for (int t = 0; t < kTokens; ++t)
    for (int v = 0; v < kVectors; ++v) block[t][v] = no_sums();
  for (uint32_t i = 0; i < kGroup / 4; ++i) {
    Bytes code[kVectors];
    for (int v = 0; v < kVectors; ++v) code[v] = load_bytes(codes + i * 4 * kTileRows + v * kBytes);
    for (int t = 0; t < kTokens; ++t) {
      const Bytes word = repeat_word(q + n_in * static_cast<size_t>(t) + 4 * i);
      for (int v = 0; v < kVectors; ++v) block[t][v] = dot(block[t][v], code[v], word);
    }
  }
  for (int t = 0; t < kTokens; ++t)
    for (int v = 0; v < kVectors; ++v) total[t][v] = add_words(no_words(), block[t][v]);
}

// Not inlined: beside others its sums would not stay in registers.
template <int kPlanes, int kVectors, int kTokens>
__attribute__((noinline)) void group_tile_block(const GroupTile& w, uint32_t row, const UnitInputs& in,
                                                int32_t* sums) {
  constexpr uint32_t kStep = 4 * kTileRows;
  const uint32_t groups = w.n_in / kGroup, groups_a_scale = w.scale_every / kGroup;
  for (uint32_t group = 0; group < groups; ++group) {
    const uint8_t* codes = w.codes + size_t{group} * (kGroup / 4) * kStep + 4 * row;
    const float* scales = w.scales + size_t{group / groups_a_scale} * kTileRows + row;
    Words total[kPlanes][kTokens][kVectors];
    for (int p = 0; p < kPlanes; ++p)
      group_products(codes, (p == 0 ? in.q : in.rest) + group * kGroup, w.n_in, total[p]);
    for (int t = 0; t < kTokens; ++t)
      for (int v = 0; v < kVectors; ++v) {
        const size_t unit = size_t{groups} * t + group;
        const Words last = minus(total[kPlanes - 1][t][v], all_words(in.sums[unit]));
        const Vec exact = kPlanes == 2 ? with_rest(total[0][t][v], last) : floats_of(last);
        int32_t* to = sums + t * kTileRows + row + v * kVecLanes;
        const Words more = scaled_total(exact, load(scales + v * kVecLanes), in.factors[unit]);
        store_words(to, group == 0 ? more : add_up(as_words(load_bytes(to)), more));
      }
  }
}

template <int kPlanes>
inline void group_tile_tokens(const GroupTile& w, const UnitInputs& in, uint32_t n_tokens, int32_t* sums) {
  for (uint32_t row = 0; row < kTileRows; row += kTileVectors * kVecLanes) {
    uint32_t t = 0;
    const auto block = [&](auto take, uint32_t tokens) {
      for (; t + tokens <= n_tokens; t += tokens)
        take(w, row, inputs_from(in, t, w.n_in, 64, 64), sums + t * kTileRows);
    };
    block(group_tile_block<kPlanes, kTileVectors, kTileTokens>, kTileTokens);
    if constexpr (kTileTokens > 4) block(group_tile_block<kPlanes, kTileVectors, 4>, 4);
    block(group_tile_block<kPlanes, kTileVectors, 1>, 1);
  }
}

inline void group_tile(const GroupTile& w, const UnitInputs& in, uint32_t n_tokens, int32_t* sums) {
  (in.rest ? group_tile_tokens<2> : group_tile_tokens<1>)(w, in, n_tokens, sums);
}

// What a lane of the gate's sums and one of up's stand for.
inline Vec lane_values(const int32_t* sums, int32_t q_sum, float factor) {
  return mul(floats_of(minus(as_words(load_bytes(sums)), all_words(q_sum))), set1(factor));
}

inline void relu2_lanes(const int32_t* gate, const int32_t* up, int32_t q_sum, float gate_factor,
                        float up_factor, float* y) {
  for (int i = 0; i < kLanes; i += kVecLanes) {
    const Vec relu = max(lane_values(gate + i, q_sum, gate_factor), set1(0.0F));
    store(y + i, mul(mul(relu, relu), lane_values(up + i, q_sum, up_factor)));
  }
}

// silu(g) = (max(g, 0) + min(g, 0) e^-|g|) / (1 + e^-|g|), one of whose summands is zero.
inline void silu_lanes(const int32_t* gate, const int32_t* up, int32_t q_sum, float gate_factor,
                       float up_factor, float* y) {
  for (int i = 0; i < kLanes; i += kVecLanes) {
    const Vec g = lane_values(gate + i, q_sum, gate_factor), minus_one = set1(-1.0F), zero = set1(0.0F);
    const Vec above = max(g, zero), below = mul(max(mul(g, minus_one), zero), minus_one);
    const Vec e = exp(mul(max(g, mul(g, minus_one)), minus_one));
    const Vec silu = div(add(above, mul(below, e)), add(e, set1(1.0F)));
    store(y + i, mul(silu, lane_values(up + i, q_sum, up_factor)));
  }
}

// What kOfLanes makes of all sums; the last ones are filled up with zeros.
template <auto kOfLanes>
inline void gated_lanes(const int32_t* gate, const int32_t* up, uint32_t n, int32_t q_sum, float gate_factor,
                        float up_factor, float* y) {
  uint32_t i = 0;
  for (; i + kLanes <= n; i += kLanes) kOfLanes(gate + i, up + i, q_sum, gate_factor, up_factor, y + i);
  if (i == n) return;
  int32_t gates[kLanes] = {}, ups[kLanes] = {};
  float last[kLanes];
  for (uint32_t j = 0; i + j < n; ++j) {
    gates[j] = gate[i + j];
    ups[j] = up[i + j];
  }
  kOfLanes(gates, ups, q_sum, gate_factor, up_factor, last);
  for (uint32_t j = 0; i + j < n; ++j) y[i + j] = last[j];
}

inline void gate_sums(const int32_t* gate, const int32_t* up, uint32_t n, int32_t q_sum, float gate_factor,
                      float up_factor, float* y) {
  gated_lanes<relu2_lanes>(gate, up, n, q_sum, gate_factor, up_factor, y);
}

inline void silu_sums(const int32_t* gate, const int32_t* up, uint32_t n, int32_t q_sum, float gate_factor,
                      float up_factor, float* y) {
  gated_lanes<silu_lanes>(gate, up, n, q_sum, gate_factor, up_factor, y);
}
