// The float loops of kernels.h. They are written once over 16 lanes, and each kernels_*.cpp includes them
// inside its own namespace after it has defined:
//   Vec                a native vector of kVecLanes floats
//   load, store, set1, add, mul, fma(a, b, c) = a * b + c, max, round (half to even), pow2 (2^n, n whole)
//   load_halves, store_halves (F16, half to even)
// and defines afterwards:
//   add_lanes(Floats)  the sum over 16 lanes as a tree: i + (i + 8), then + 4, + 2, + 1
//   add_lanes_of_16(Floats[16])  where kVecs is 1: those of each, a lane for each
// There is no include guard and no include in here: the includer has them, outside its namespace.

constexpr int kLanes = 16;
constexpr int kVecs = kLanes / kVecLanes;

struct Floats {
  Vec vec[kVecs];
};

inline float add_lanes(Floats v);
inline Floats add_lanes_of_16(const Floats (&v)[16]);

inline Floats load16(const float* from) {
  Floats v;
  for (int i = 0; i < kVecs; ++i) v.vec[i] = load(from + i * kVecLanes);
  return v;
}
inline void store16(float* to, Floats v) {
  for (int i = 0; i < kVecs; ++i) store(to + i * kVecLanes, v.vec[i]);
}
inline Floats load_halves16(const uint16_t* from) {
  Floats v;
  for (int i = 0; i < kVecs; ++i) v.vec[i] = load_halves(from + i * kVecLanes);
  return v;
}
inline Floats all(float x) {
  Floats v;
  for (int i = 0; i < kVecs; ++i) v.vec[i] = set1(x);
  return v;
}
inline Floats add(Floats a, Floats b) {
  for (int i = 0; i < kVecs; ++i) a.vec[i] = add(a.vec[i], b.vec[i]);
  return a;
}
inline Floats mul(Floats a, Floats b) {
  for (int i = 0; i < kVecs; ++i) a.vec[i] = mul(a.vec[i], b.vec[i]);
  return a;
}
inline Floats fma(Floats a, Floats b, Floats c) {
  for (int i = 0; i < kVecs; ++i) a.vec[i] = fma(a.vec[i], b.vec[i], c.vec[i]);
  return a;
}
inline Floats max(Floats a, Floats b) {
  for (int i = 0; i < kVecs; ++i) a.vec[i] = max(a.vec[i], b.vec[i]);
  return a;
}

// The first `count` of 16 lanes; the rest is zero.
inline Floats load_some(const float* from, uint32_t count) {
  if (count >= kLanes) return load16(from);
  float lanes[kLanes] = {};
  for (uint32_t i = 0; i < count; ++i) lanes[i] = from[i];
  return load16(lanes);
}
inline Floats load_some_halves(const uint16_t* from, uint32_t count) {
  if (count >= kLanes) return load_halves16(from);
  uint16_t lanes[kLanes] = {};
  for (uint32_t i = 0; i < count; ++i) lanes[i] = from[i];
  return load_halves16(lanes);
}
inline void store_some(float* to, Floats v, uint32_t count) {
  if (count >= kLanes) return store16(to, v);
  float lanes[kLanes];
  store16(lanes, v);
  for (uint32_t i = 0; i < count; ++i) to[i] = lanes[i];
}

inline float largest_lane(Floats v) {
  float lanes[kLanes];
  store16(lanes, v);
  float largest = lanes[0];
  for (int i = 1; i < kLanes; ++i) largest = lanes[i] > largest ? lanes[i] : largest;
  return largest;
}

// e^x for x <= 0, within 2 units of the last place; below -87 it is e^-87, which is next to nothing. With x =
// n ln 2 + r, e^r is its Taylor sum to r^7, whose remainder at |r| <= ln 2 / 2 is below 2^-26. Of NaN it is
// NaN, since max gives its second operand where one is.
inline Vec exp(Vec x) {
  x = max(set1(-87.0F), x);
  const Vec n = round(mul(x, set1(1.44269504F)));
  Vec r = fma(n, set1(-0.693145752F), x);  // ln 2 in two parts, the first of 15 bits
  r = fma(n, set1(-1.42860677e-6F), r);
  Vec sum = set1(1.0F / 5040);
  constexpr float kTaylor[] = {1.0F / 720, 1.0F / 120, 1.0F / 24, 1.0F / 6, 0.5F, 1.0F, 1.0F};
  for (const float c : kTaylor) sum = fma(sum, r, set1(c));
  return mul(sum, pow2(n));
}

constexpr int kFloatSums = 4;
constexpr uint32_t kFloatStep = kLanes * kFloatSums;
// The hardware reads ahead within a page; this prefetch reaches the next pages. It brings them to the second
// cache, since the first can wait for only a few requests at a time.
constexpr size_t kAhead = 8192;
constexpr int kToSecondCache = 2;

inline Floats add_four(const Floats (&sums)[kFloatSums]) {
  return add(add(sums[0], sums[1]), add(sums[2], sums[3]));
}
inline float add_sums_up(const Floats (&sums)[kFloatSums]) { return add_lanes(add_four(sums)); }

// Rows of numbers of 16 bits, of which load gives 16 lanes. n is a multiple of kLanes.
template <typename Load>
inline void rows_of_16_bits(const uint16_t* rows, uint32_t n, uint32_t n_rows, const float* y, float* out,
                            Load load) {
  for (uint32_t r = 0; r < n_rows; ++r, rows += n) {
    Floats sums[kFloatSums] = {all(0), all(0), all(0), all(0)};
    uint32_t i = 0;
    for (; i + kFloatStep <= n; i += kFloatStep) {
      for (int j = 0; j < kFloatSums; ++j) {
        if (j % 2 == 0)  // a line of 64 bytes
          __builtin_prefetch(reinterpret_cast<const char*>(rows + i + j * kLanes) + kAhead, 0,
                             kToSecondCache);
        sums[j] = fma(load(rows + i + j * kLanes), load16(y + i + j * kLanes), sums[j]);
      }
    }
    for (int j = 0; i < n; ++j, i += kLanes) sums[j] = fma(load(rows + i), load16(y + i), sums[j]);
    out[r] = add_sums_up(sums);
  }
}

inline void half_rows(const uint16_t* rows, uint32_t n, uint32_t n_rows, const float* y, float* out) {
  rows_of_16_bits(rows, n, n_rows, y, out, [](const uint16_t* from) { return load_halves16(from); });
}

inline void float_rows(const float* rows, uint32_t n, uint32_t n_rows, const float* y, float* out) {
  for (uint32_t r = 0; r < n_rows; ++r, rows += n) {
    Floats sums[kFloatSums] = {all(0), all(0), all(0), all(0)};
    uint32_t i = 0;
    for (; i + kFloatStep <= n; i += kFloatStep)
      for (int j = 0; j < kFloatSums; ++j)
        sums[j] = fma(load16(rows + i + j * kLanes), load16(y + i + j * kLanes), sums[j]);
    for (int j = 0; i < n; ++j, i += kLanes) sums[j] = fma(load16(rows + i), load16(y + i), sums[j]);
    out[r] = add_sums_up(sums);
  }
}

inline void to_floats(const uint16_t* from, uint32_t n, float* to) {
  uint32_t i = 0;
  for (; i + kLanes <= n; i += kLanes) store16(to + i, load_halves16(from + i));
  if (i < n) store_some(to + i, load_some_halves(from + i, n - i), n - i);
}

inline void to_halves(const float* from, uint32_t n, uint16_t* to) {
  uint32_t i = 0;
  for (; i + kVecLanes <= n; i += kVecLanes) store_halves(to + i, load(from + i));
  if (i == n) return;
  float lanes[kLanes] = {};
  uint16_t halves[kLanes];
  for (uint32_t j = 0; i + j < n; ++j) lanes[j] = from[i + j];
  store_halves(halves, load(lanes));
  for (uint32_t j = 0; i + j < n; ++j) to[i + j] = halves[j];
}

inline Int8Row int8_row(const float* row, uint32_t n, int8_t* codes) {
  Floats largest = all(0), norm = all(0), error = all(0);
  for (uint32_t i = 0; i < n; i += kLanes) {
    const Floats w = load16(row + i);
    norm = fma(w, w, norm);
    largest = max(largest, max(w, mul(w, all(-1.0F))));
  }
  const float most = largest_lane(largest), squares = add_lanes(norm);
  constexpr float kMost = 65504;
  if (!(most <= kMost) || !(squares <= kMost * kMost * static_cast<float>(n))) {
    for (uint32_t i = 0; i < n; ++i) codes[i] = 0;
    return {0, __builtin_inff(), __builtin_inff()};
  }
  constexpr float kLeast = 0x1p-40F;  // below it the scale or a square may not be a normal number
  if (most < kLeast) {
    for (uint32_t i = 0; i < n; ++i) codes[i] = 0;
    const float bound = most * __builtin_sqrtf(static_cast<float>(n)) * 1.01F;
    return {0, bound, bound};
  }
  const float scale = most / 127, inverse = 127 / most;
  for (uint32_t i = 0; i < n; i += kLanes) {
    const Floats w = load16(row + i);
    Floats code = mul(w, all(inverse));
    for (Vec& v : code.vec) v = min(max(round(v), set1(-127)), set1(127));
    const Floats with_bits = add(code, all(0x1.8p23F));  // of which the lowest byte is the code
    uint32_t bits[kLanes];
    __builtin_memcpy(bits, &with_bits, sizeof bits);
    for (int j = 0; j < kLanes; ++j) codes[i + j] = static_cast<int8_t>(bits[j]);
    const Floats rest = fma(code, all(-scale), w);
    error = fma(rest, rest, error);
  }
  // The errors of sums of n / 16 + 4 roundings, squares and roots are far below 1e-2. `rest` itself is off by
  // at most 2^-23 of w where the product is rounded by itself.
  const float w_norm = __builtin_sqrtf(squares) * 1.01F;
  return {scale, w_norm, __builtin_sqrtf(add_lanes(error)) * 1.01F + w_norm * 0x1p-22F};
}

inline float sum_of_squares(const float* x, uint32_t n) {
  Floats sums[kFloatSums] = {all(0), all(0), all(0), all(0)};
  uint32_t i = 0;
  for (; i + kFloatStep <= n; i += kFloatStep)
    for (int j = 0; j < kFloatSums; ++j) {
      const Floats v = load16(x + i + j * kLanes);
      sums[j] = fma(v, v, sums[j]);
    }
  for (int j = 0; i < n; ++j, i += kLanes) {
    const Floats v = load16(x + i);
    sums[j] = fma(v, v, sums[j]);
  }
  return add_sums_up(sums);
}

inline Floats normalised(const float* x, const float* weight, uint32_t i, float inverse) {
  const Floats y = mul(load16(x + i), all(inverse));
  return weight ? mul(y, load16(weight + i)) : y;
}

inline void normalise(const float* x, const float* weight, uint32_t n, float inverse, float* y) {
  for (uint32_t i = 0; i < n; i += kLanes) store16(y + i, normalised(x, weight, i, inverse));
}

inline float largest_normalised(const float* x, const float* weight, uint32_t n, float inverse) {
  Floats largest[kFloatSums] = {all(0), all(0), all(0), all(0)};
  const auto take = [&](Floats& to, uint32_t i) {
    const Floats y = normalised(x, weight, i, inverse);
    to = max(to, max(y, mul(y, all(-1.0F))));
  };
  uint32_t i = 0;
  for (; i + kFloatStep <= n; i += kFloatStep)
    for (int j = 0; j < kFloatSums; ++j) take(largest[j], i + j * kLanes);
  for (; i < n; i += kLanes) take(largest[0], i);
  return largest_lane(max(max(largest[0], largest[1]), max(largest[2], largest[3])));
}

inline void scale_sums(const int32_t* sums, uint32_t n, int32_t q_sum, float factor, float* y) {
  for (uint32_t i = 0; i < n; ++i) y[i] = static_cast<float>(sums[i] - q_sum) * factor;
}

inline void add_sums(const int32_t* sums, uint32_t n, int32_t q_sum, float factor, float* y) {
  for (uint32_t i = 0; i < n; ++i) y[i] += static_cast<float>(sums[i] - q_sum) * factor;
}

inline void norm_head(float* head, const float* weight, uint32_t n, float epsilon) {
  Floats squares = all(0);
  for (uint32_t i = 0; i < n; i += kLanes) {
    const Floats v = load_some(head + i, n - i);
    squares = fma(v, v, squares);
  }
  const float inverse = 1 / __builtin_sqrtf(add_lanes(squares) / static_cast<float>(n) + epsilon);
  for (uint32_t i = 0; i < n; i += kLanes) {
    const Floats y = mul(load_some(head + i, n - i), all(inverse));
    store_some(head + i, weight ? mul(y, load_some(weight + i, n - i)) : y, n - i);
  }
}

inline void rotate(float* head, const float* rotation, uint32_t rope_dim) {
  const uint32_t half = rope_dim / 2;
  for (uint32_t i = 0; i < half; ++i) {
    const float c = rotation[2 * i], s = rotation[2 * i + 1], low = head[i], high = head[i + half];
    head[i] = low * c - high * s;
    head[i + half] = high * c + low * s;
  }
}

// Where the row of a key begins in the cache.
inline size_t row_of(const AttentionWork& work, uint32_t key) {
  const uint32_t i = work.first + key;
  return (i < work.rows ? i : i - work.rows) * work.row;
}

// Computes the scores of kHeads heads with every key: scores [kHeads][stride]. Where heads are whole vectors
// no loop has to look how much is left of one, so that sums stay in registers.
template <int kHeads, bool kWhole>
inline void scores_of(const AttentionWork& work, const float* queries, float* scores, size_t stride) {
  const uint32_t dim = work.head_dim;
  for (uint32_t key = 0; key < work.n_keys; ++key) {
    const uint16_t* k = work.keys + row_of(work, key);
    Floats sums[kHeads];
    for (int h = 0; h < kHeads; ++h) sums[h] = all(0);
    for (uint32_t i = 0; i < dim; i += kLanes) {
      const Floats values = kWhole ? load_halves16(k + i) : load_some_halves(k + i, dim - i);
      for (int h = 0; h < kHeads; ++h) sums[h] = fma(load16(queries + h * kMostHeadDim + i), values, sums[h]);
    }
    for (int h = 0; h < kHeads; ++h) scores[h * stride + key] = add_lanes(sums[h]);
  }
}

// out[h][first ...] = sum over the keys of weight * value, for kVectors vectors of features. One may be less
// than whole.
template <int kHeads, int kVectors>
inline void values_of(const AttentionWork& work, uint32_t first, const float* weights, size_t stride,
                      const float* totals, float* out) {
  Floats sums[kHeads][kVectors];
  for (int h = 0; h < kHeads; ++h)
    for (int v = 0; v < kVectors; ++v) sums[h][v] = all(0);
  for (uint32_t key = 0; key < work.n_keys; ++key) {
    const uint16_t* values = work.values + row_of(work, key) + first;
    Floats weight[kHeads];
    for (int h = 0; h < kHeads; ++h) weight[h] = all(weights[h * stride + key]);
    for (int v = 0; v < kVectors; ++v) {
      const Floats value =
          kVectors > 1 ? load_halves16(values + v * kLanes) : load_some_halves(values, work.head_dim - first);
      for (int h = 0; h < kHeads; ++h) sums[h][v] = fma(weight[h], value, sums[h][v]);
    }
  }
  for (int h = 0; h < kHeads; ++h)
    for (int v = 0; v < kVectors; ++v) {
      const uint32_t at = first + v * kLanes;
      store_some(out + h * work.head_dim + at, mul(sums[h][v], all(1 / totals[h])), work.head_dim - at);
    }
}

template <int kHeads>
inline void attention_heads(const AttentionWork& work, uint32_t head) {
  const size_t stride = (size_t{work.n_keys} + kLanes - 1) / kLanes * kLanes;
  float* queries = work.scratch;  // scaled, padded with zeros
  float* scores = work.scratch + kMostHeads * kMostHeadDim;
  float* out = work.out + head * work.head_dim;
  for (int h = 0; h < kHeads; ++h)
    for (uint32_t i = 0; i < work.head_dim; i += kLanes)
      store16(
          queries + h * kMostHeadDim + i,
          mul(load_some(work.queries + (head + h) * work.head_dim + i, work.head_dim - i), all(work.scale)));
  (work.head_dim % kLanes == 0 ? scores_of<kHeads, true> : scores_of<kHeads, false>)(work, queries, scores,
                                                                                     stride);

  float totals[kHeads];
  for (int h = 0; h < kHeads; ++h) {
    float* s = scores + h * stride;
    for (size_t i = work.n_keys; i < stride; ++i) s[i] = -__builtin_inff();
    Floats largest = load16(s);
    for (size_t i = kLanes; i < stride; i += kLanes) largest = max(largest, load16(s + i));
    const Vec minus_largest = set1(-largest_lane(largest));
    Floats sum = all(0);
    for (size_t i = 0; i < stride; i += kLanes) {
      Floats weight = load16(s + i);
      for (int j = 0; j < kVecs; ++j) weight.vec[j] = exp(add(weight.vec[j], minus_largest));
      store16(s + i, weight);
      sum = add(sum, weight);
    }
    totals[h] = add_lanes(sum);
  }

  constexpr int kVectors = 4;
  uint32_t first = 0;
  for (; first + kVectors * kLanes <= work.head_dim; first += kVectors * kLanes)
    values_of<kHeads, kVectors>(work, first, scores, stride, totals, out);
  for (; first < work.head_dim; first += kLanes)
    values_of<kHeads, 1>(work, first, scores, stride, totals, out);
}

inline void attention(const AttentionWork& work) {
  constexpr uint32_t kHeads = kVecs == 1 ? 4 : kVecs == 2 ? 2 : 1;  // what the registers hold
  static_assert(kHeads <= kMostHeads);
  uint32_t head = 0;
  for (; head + kHeads <= work.n_heads; head += kHeads) attention_heads<kHeads>(work, head);
  for (; head < work.n_heads; ++head) attention_heads<1>(work, head);
}

inline LargestLogit largest_logit(const float* logits, uint32_t n) {
  constexpr float kLowest = -3.4e38F;
  constexpr uint32_t kExponent = 0x7F800000, kMinusInfinity = 0xFF800000;
  LargestLogit best{kLowest, 0x7FFFFFFF, 0, false};
  uint32_t broken = 0;
  for (uint32_t i = 0; i < n;
       ++i) {  // by the bits: a masked token is -Inf, anything else not finite is a fault
    uint32_t bits;
    __builtin_memcpy(&bits, logits + i, sizeof bits);
    broken |= static_cast<uint32_t>((bits & kExponent) == kExponent && bits != kMinusInfinity);
  }
  best.non_finite = broken != 0;
  if (best.non_finite) return best;
  Floats largest = all(kLowest);
  uint32_t i = 0;
  for (; i + kLanes <= n; i += kLanes) largest = max(largest, load16(logits + i));
  best.largest = largest_lane(largest);
  for (; i < n; ++i) best.largest = logits[i] > best.largest ? logits[i] : best.largest;
  if (best.largest <= kLowest) return best;
  for (best.index = 0; logits[best.index] != best.largest;) ++best.index;
  Floats sum = all(0);
  const Vec minus_largest = set1(-best.largest);
  for (i = 0; i < n; i += kLanes) {
    Floats v = load_some(logits + i, n - i);
    float lanes[kLanes];
    for (int j = 0; j < kVecs; ++j) v.vec[j] = exp(add(v.vec[j], minus_largest));
    if (i + kLanes <= n) {
      sum = add(sum, v);
      continue;
    }
    store16(lanes, v);
    for (uint32_t j = n - i; j < kLanes; ++j) lanes[j] = 0;
    sum = add(sum, load16(lanes));
  }
  best.sum_exp = add_lanes(sum);
  return best;
}
