// The activations of kernels.h. They are written once and included after float_loops.h, and need div(a, b).

// Calls act(x) for lanes of x [n], and multiplies with `times` where it is not null. Any n.
template <typename Act>
inline void activate(const float* x, const float* times, uint32_t n, float* y, Act act) {
  for (uint32_t i = 0; i < n; i += kLanes) {
    Floats v = load_some(x + i, n - i);
    for (Vec& lanes : v.vec) lanes = act(lanes);
    if (times) v = mul(v, load_some(times + i, n - i));
    store_some(y + i, v, n - i);
  }
}

// x / (1 + e^-by) where by has the sign of x: (max(x, 0) + min(x, 0) e^-|by|) / (1 + e^-|by|), one of whose
// summands is zero.
inline Vec gated_by(Vec x, Vec by) {
  const Vec minus_one = set1(-1.0F), zero = set1(0.0F);
  const Vec above = max(x, zero), below = mul(max(mul(x, minus_one), zero), minus_one);
  const Vec e = exp(mul(max(by, mul(by, minus_one)), minus_one));
  return div(add(above, mul(below, e)), add(e, set1(1.0F)));
}

inline void relu2(const float* x, const float* times, uint32_t n, float* y) {
  activate(x, times, n, y, [](Vec v) {
    const Vec positive = max(v, set1(0.0F));
    return mul(positive, positive);
  });
}

inline void silu(const float* x, const float* times, uint32_t n, float* y) {
  activate(x, times, n, y, [](Vec v) { return gated_by(v, v); });
}

// tanh(z) is (1 - e^-2z) / (1 + e^-2z) above zero, and minus that of -z below; one of the two is 0.
inline void cap(float* x, uint32_t n, float cap) {
  const auto tanh_of = [](Vec z) {
    const Vec e = exp(mul(max(z, set1(0.0F)), set1(-2.0F)));
    return div(add(set1(1.0F), mul(e, set1(-1.0F))), add(e, set1(1.0F)));
  };
  for (uint32_t i = 0; i < n; i += kLanes) {
    Floats v = load_some(x + i, n - i);
    for (Vec& lanes : v.vec) {
      const Vec z = mul(lanes, set1(1 / cap));
      const Vec tanh = add(tanh_of(z), mul(tanh_of(mul(z, set1(-1.0F))), set1(-1.0F)));
      lanes = fma(lanes, set1(0.0F), mul(tanh, set1(cap)));
    }
    store_some(x + i, v, n - i);
  }
}

// x (1 + tanh(z)) / 2 = x / (1 + e^-2z) with z = sqrt(2 / pi) (x + 0.044715 x^3)
inline void gelu(const float* x, const float* times, uint32_t n, float* y) {
  activate(x, times, n, y, [](Vec v) {
    const Vec inner = add(mul(mul(mul(v, v), set1(0.044715F)), v), v);
    return gated_by(v, mul(inner, set1(1.59576912F)));
  });
}

// 1 / (1 + e^-x) = e^min(x, 0) / (1 + e^-|x|)
inline void times_sigmoid(const float* x, uint32_t n, float* y) {
  const Vec minus_one = set1(-1.0F);
  activate(x, y, n, y, [&](Vec v) {
    const Vec below = mul(max(mul(v, minus_one), set1(0.0F)), minus_one);
    const Vec magnitude = max(v, mul(v, minus_one));
    return div(exp(below), add(exp(mul(magnitude, minus_one)), set1(1.0F)));
  });
}
