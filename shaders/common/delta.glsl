// What the kernels of Gated DeltaNet share (Recorder::delta_net in engine/backend.h). All kernels that
// include this give the same bits, since each sum has one order:
//   the convolution  from the oldest input of a channel to the newest
//   a head's squares in kShares shares, the i-th of which has the features i, i + kShares and so on, and then
//                    the shares in a tree (common/head_norm.glsl)
//   S^T k and S^T q  kParts parts of rows; in each of them every fourth row, and then these sums in a tree
// Expects the push constants of DeltaPush as `push`, activation.glsl and head_norm.glsl.
#ifndef DELTA_EPSILON
#define DELTA_EPSILON push.epsilon
#endif

layout(constant_id = CONSTANT_DELTA_DIM) const uint kDeltaDim = 128;
layout(constant_id = CONSTANT_CONV) const uint kConv = 4;

const uint kParts = 4;  // invocations that share a column of S

uint channels() { return (2 * push.n_head_k + push.n_head_v) * kDeltaDim; }
uint qkvz_width() { return channels() + push.n_head_v * kDeltaDim; }

float sum_of_four(vec4 v) {
  precise float sum = (v.x + v.y) + (v.z + v.w);
  return sum;
}

// log(1 + e) for 0 <= e <= 1, as 2 artanh(e / (2 + e)).
float log_1_and(float e) {
  precise float s = e / (2.0 + e);
  precise float square = s * s;
  precise float series = fma(square, 1.0 / 17.0, 1.0 / 15.0);
  series = fma(square, series, 1.0 / 13.0);
  series = fma(square, series, 1.0 / 11.0);
  series = fma(square, series, 1.0 / 9.0);
  series = fma(square, series, 1.0 / 7.0);
  series = fma(square, series, 1.0 / 5.0);
  series = fma(square, series, 1.0 / 3.0);
  precise float cube = square * s;
  precise float log = 2.0 * fma(cube, series, s);
  return log;
}

// e^(log(1 + e^x) * decay)
float decay_of(float a, float bias, float decay) {
  precise float x = a + bias;
  precise float softplus = max(x, 0.0) + log_1_and(exp_below_0(-abs(x)));
  precise float g = softplus * decay;
  return exp_below_0(min(g, 0.0));
}

float sigmoid(float x) {
  float e = exp_below_0(-abs(x));
  precise float share = (x >= 0.0 ? 1.0 : e) / (1.0 + e);
  return share;
}

// 1 / sqrt(sum of squares + epsilon)
float inverse_length(vec4 shares[kShares / 4]) { return inverse_of_head(shares, 1.0, DELTA_EPSILON); }

// What a head gives: its norm times silu(z).
float gated_output(float o, float inverse, float weight, float z) {
  precise float result = normed(o, inverse, weight) * times_logistic(z, z);
  return result;
}

// Where the result of a head lies.
uint output_head(uint head) {
  uint groups = push.n_head_v / push.n_head_k;
  return push.grouped == 0 ? head : head % push.n_head_k * groups + head / push.n_head_k;
}
