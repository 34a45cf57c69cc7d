// The loops of a Gated DeltaNet of kernels.h. They are written once and included after float_loops_acts.h.

inline void convolve(const ConvolutionWork& w) {
  const uint32_t n_before = w.n_conv - 1;
  for (uint32_t c = 0; c < w.n_channels; c += kLanes) {
    Floats inputs[kMostConv], weights[kMostConv];  // the oldest first
    for (uint32_t j = 0; j < w.n_conv; ++j) {
      float lanes[kLanes];
      for (int i = 0; i < kLanes; ++i) lanes[i] = w.weights[(c + i) * w.n_conv + j];
      weights[j] = load16(lanes);
    }
    for (uint32_t j = 0; j < n_before; ++j) inputs[j] = load16(w.before + j * w.state_row + c);
    for (uint32_t t = 0; t < w.n_tokens; ++t) {
      inputs[n_before] = load16(w.x + t * w.x_row + c);
      Floats sum = mul(weights[0], inputs[0]);
      for (uint32_t j = 1; j < w.n_conv; ++j) sum = fma(weights[j], inputs[j], sum);
      for (uint32_t j = 0; j < n_before; ++j) inputs[j] = inputs[j + 1];
      for (Vec& lanes : sum.vec) lanes = gated_by(lanes, lanes);
      store16(w.out + t * w.out_row + c, sum);
    }
    for (uint32_t j = 0; j < n_before; ++j) store16(w.after + j * w.state_row + c, inputs[j]);
  }
}

// Columns [first, first + kVectors * kLanes) of a head. With S before a token and g = e^decay,
//   u = strength (v - g S^T k),  S' = g S + k u^T,  o = S'^T q
// where a column of S needs nothing of the others.
template <int kVectors>
inline void delta_columns(const DeltaWork& w, uint32_t first) {
  constexpr uint32_t kWidth = kVectors * kLanes;
  const uint32_t dim = w.head_dim;
  const float* from = w.before + first;
  size_t from_row = dim;
  for (uint32_t t = 0; t < w.n_tokens; ++t) {
    const bool is_last = t + 1 == w.n_tokens;
    const float *k = w.k + t * w.row, *q = w.q + t * w.row;
    const float decay = w.gates[t * w.gates_row], strength = w.gates[t * w.gates_row + 1];
    Floats sums[kVectors];
    for (Floats& sum : sums) sum = all(0);
    for (uint32_t i = 0; i < dim; ++i) {
      const Floats of_row = all(k[i]);
      for (int c = 0; c < kVectors; ++c) {
        const Floats s = load16(from + i * from_row + c * kLanes);
        if (t == 0) store16(w.scratch + i * kWidth + c * kLanes, s);
        sums[c] = fma(of_row, s, sums[c]);
      }
    }
    Floats change[kVectors];
    for (int c = 0; c < kVectors; ++c) {
      const Floats v = load16(w.v + t * w.row + first + c * kLanes);
      change[c] = mul(all(strength), fma(all(-decay), sums[c], v));
      sums[c] = all(0);
    }
    float* to = is_last ? w.after + first : w.scratch;
    const size_t to_row = is_last ? dim : kWidth;
    for (uint32_t i = 0; i < dim; ++i) {
      const Floats of_k = all(k[i]), of_q = all(q[i]);
      for (int c = 0; c < kVectors; ++c) {
        const Floats kept = mul(all(decay), load16(w.scratch + i * kWidth + c * kLanes));
        const Floats s = fma(of_k, change[c], kept);
        store16(to + i * to_row + c * kLanes, s);
        sums[c] = fma(of_q, s, sums[c]);
      }
    }
    for (int c = 0; c < kVectors; ++c) store16(w.out + t * w.out_row + first + c * kLanes, sums[c]);
    from = w.scratch;
    from_row = kWidth;
  }
}

inline void delta(const DeltaWork& w) {
  for (uint32_t first = 0; first < w.head_dim; first += kDeltaColumns)
    delta_columns<kDeltaColumns / kLanes>(w, first);
}
