// Inputs of projections become integers. The loops are written once and included after integer_loops.h, whose
// vectors they share. They need besides:
//   min(Vec, Vec)                    of which the second is taken where the first is no number, as in max
//   rounded(Vec)                     to int32, half to even
//   shift_words<n>(Words)            of int32, with their sign
//   store_low_bytes(to, Words[kVecs])  the lowest byte of each of 16

// y * s in 16 lanes, rounded and within [least, most]
inline void round16(const float* x, const float* weight, uint32_t i, float inverse, float s, float least,
                    float most, Words (&out)[kVecs]) {
  const Floats y = mul(normalised(x, weight, i, inverse), all(s));
  for (int j = 0; j < kVecs; ++j) out[j] = rounded(min(max(y.vec[j], set1(least)), set1(most)));
}

inline int32_t quantise(const float* x, const float* weight, uint32_t n, float inverse, float s, int8_t* q) {
  Words sum = no_words();
  for (uint32_t i = 0; i < n; i += kLanes) {
    Words words[kVecs];
    round16(x, weight, i, inverse, s, -128, 127, words);
    store_low_bytes(q + i, words);
    for (int j = 0; j < kVecs; ++j) sum = add_up(sum, words[j]);
  }
  return total(sum);
}

inline int32_t quantise16(const float* x, const float* weight, uint32_t n, float inverse, float s,
                          int8_t* q) {
  constexpr float kMost = 32512;  // 256 * 127, so that the first plane is within int8
  Words sum = no_words();
  for (uint32_t i = 0; i < n; i += kLanes) {
    Words words[kVecs], high[kVecs];
    round16(x, weight, i, inverse, s, -kMost, kMost, words);
    store_low_bytes(q + n + i, words);
    for (int j = 0; j < kVecs; ++j) {
      high[j] = shift_words<8>(add_up(words[j], all_words(128)));
      sum = add_up(sum, words[j]);
    }
    store_low_bytes(q + i, high);
  }
  return total(sum);
}

inline void sums_of_groups(const int8_t* q, uint32_t n, uint32_t planes, int32_t* sums) {
  for (uint32_t i = 0; i < n; i += 64) {
    int32_t sum[2] = {0, 0};
    for (uint32_t p = 0; p < planes; ++p)
      for (uint32_t j = 0; j < 64; ++j) sum[p] += q[size_t{n} * p + i + j];
    sums[i / 64] = planes == 2 ? 256 * sum[0] + sum[1] : sum[0];
  }
}
