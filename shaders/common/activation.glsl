// The gate of a feed-forward network. All kernels that include this give the same bits.
layout(constant_id = CONSTANT_ACTIVATION) const uint kActivation = ACTIVATION_RELU2;

// e^x for x <= 0, as exp() of engine/cpu/float_loops.h computes it: with x = n ln 2 + r, e^r is its Taylor
// sum to r^7.
float exp_below_0(float x) {
  precise float n = roundEven(max(x, -87.0) * 1.44269504);
  precise float r = fma(n, -0.693145752, max(x, -87.0));  // ln 2 in two parts, the first of 15 bits
  r = fma(n, -1.42860677e-6, r);
  precise float sum = fma(1.0 / 5040.0, r, 1.0 / 720.0);
  sum = fma(sum, r, 1.0 / 120.0);
  sum = fma(sum, r, 1.0 / 24.0);
  sum = fma(sum, r, 1.0 / 6.0);
  sum = fma(sum, r, 0.5);
  sum = fma(sum, r, 1.0);
  sum = fma(sum, r, 1.0);
  sum *= intBitsToFloat(int(n) + 127 << 23);
  return sum;
}

float gated(float gate, float up) {
  if (kActivation == ACTIVATION_SILU) {
    float e = exp_below_0(-abs(gate));
    precise float share = gate >= 0.0 ? gate : gate * e;
    precise float silu = share / (1.0 + e);
    precise float product = silu * up;
    return product;
  }
  float relu = max(gate, 0.0);
  return relu * relu * up;
}
