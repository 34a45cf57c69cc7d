// The gate of a feed-forward network. All kernels that include this give the same bits.
layout(constant_id = CONSTANT_ACTIVATION) const uint kActivation = ACTIVATION_RELU2;
layout(constant_id = CONSTANT_CLAMP) const float kClamp = 0.0;

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

// x / (1 + e^-z), where z has the sign of x.
float times_logistic(float x, float z) {
  float e = exp_below_0(-abs(z));
  precise float share = x >= 0.0 ? x : x * e;
  precise float result = share / (1.0 + e);
  return result;
}

// v / (1 + e^-gate)
float times_sigmoid(float v, float gate) {
  float e = exp_below_0(-abs(gate));
  precise float share = gate >= 0.0 ? v : v * e;
  precise float result = share / (1.0 + e);
  return result;
}

// GELU (Hendrycks & Gimpel 2016) in its form with tanh, x (1 + tanh(z / 2)) / 2 = x / (1 + e^-z).
float gelu(float x) {
  precise float square = x * x;
  precise float slope = fma(square, 0.0713548162726, 1.59576912161);  // 2 sqrt(2 / pi) (1 + 0.044715 x^2)
  precise float z = x * slope;
  return times_logistic(x, z);
}

float activated(float x) {
  if (kActivation == ACTIVATION_SILU) return times_logistic(x, x);
  if (kActivation == ACTIVATION_GELU) return gelu(x);
  float relu = max(x, 0.0);
  return relu * relu;
}

float gated(float gate, float up) {
  if (kClamp != 0.0) {
    gate = min(gate, kClamp);
    up = clamp(up, -kClamp, kClamp);
  }
  if (kActivation != ACTIVATION_RELU2) {
    precise float product = activated(gate) * up;
    return product;
  }
  float relu = max(gate, 0.0);
  return relu * relu * up;
}
