// Inputs of projections become integers. The loops are written once and included after integer_loops.h, whose
// vectors they share. They need besides:
//   min(Vec, Vec)                    of which the second is taken where the first is no number, as in max
//   rounded(Vec)                     to int32, half to even
//   store_low_bytes(to, Words[kVecs])  the lowest byte of each of 16
//   max_lanes(Floats)                the largest lane, where each is a number

// Rounds 16 lanes within [least, 127].
inline void round16(const Floats& y, float least, Words (&out)[kVecs]) {
  for (int j = 0; j < kVecs; ++j) out[j] = rounded(min(max(y.vec[j], set1(least)), set1(127)));
}

inline int32_t quantise(const float* x, const float* weight, uint32_t n, float inverse, float s, int8_t* q) {
  Words sum = no_words();
  for (uint32_t i = 0; i < n; i += kLanes) {
    Words words[kVecs];
    round16(mul(normalised(x, weight, i, inverse), all(s)), -128, words);
    store_low_bytes(q + i, words);
    for (int j = 0; j < kVecs; ++j) sum = add_up(sum, words[j]);
  }
  return total(sum);
}

inline Floats magnitude(const Floats& v) { return max(v, mul(v, all(-1.0F))); }

template <uint32_t kUnit>
inline void quantise_each(const float* x, const float* weight, uint32_t n, int8_t* q, float* m,
                          float* squares) {
  for (uint32_t i = 0; i < n; i += kUnit) {
    Floats v[kUnit / kLanes], largest = all(kLeastMagnitude);
    for (uint32_t j = 0; j < kUnit / kLanes; ++j) {
      v[j] = load16(x + i + j * kLanes);
      if (weight) v[j] = mul(v[j], load16(weight + i + j * kLanes));
      largest = max(magnitude(v[j]), largest);
    }
    const float most = max_lanes(largest);
    const Floats s = all(127 / most);
    for (uint32_t j = 0; j < kUnit / kLanes; ++j) {
      Words words[kVecs];
      round16(mul(v[j], s), -127, words);
      store_low_bytes(q + i + j * kLanes, words);
    }
    m[i / kUnit] = most;
    squares[i / kUnit] = squares_of_unit(x + i, kUnit);
  }
}

inline void quantise_units(const float* x, const float* weight, uint32_t n, uint32_t unit, int8_t* q,
                           float* m, float* squares) {
  (unit == 32 ? quantise_each<32> : quantise_each<64>)(x, weight, n, q, m, squares);
}

inline void sums_of_64(const int8_t* q, uint32_t n, int32_t* sums) {
  const Bytes one = all_bytes(1);
  for (uint32_t i = 0; i < n; i += 64) {
    Sums sum = no_sums();
    for (uint32_t j = 0; j < 64; j += kBytes) sum = dot(sum, one, load_bytes(q + i + j));
    sums[i / 64] = total(add_words(no_words(), sum));
  }
}

inline void sums_of_16(const int8_t* q, uint32_t n, int32_t* sums) {
  const Bytes one = all_bytes(1);
  uint32_t i = 0;
  for (; i + 64 <= n; i += 64) {
    int32_t fours[16];
    for (uint32_t j = 0; j < 64; j += kBytes)
      store_words(fours + j / 4, add_words(no_words(), dot(no_sums(), one, load_bytes(q + i + j))));
    for (uint32_t j = 0; j < 16; j += 4)
      sums[(i + 4 * j) / 16] = fours[j] + fours[j + 1] + fours[j + 2] + fours[j + 3];
  }
  for (; i < n; i += 16) {  // half of that
    int32_t sum = 0;
    for (uint32_t j = i; j < i + 16; ++j) sum += q[j];
    sums[i / 16] = sum;
  }
}
