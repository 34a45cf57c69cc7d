// A Gated DeltaNet in two steps: the convolution with the norms of q and k, by heads, and the heads of
// values, each of which goes from token to token.
#include <algorithm>
#include <cmath>

#include "norms.h"
#include "recorder.h"

namespace bitnet::cpu {
namespace {

constexpr uint32_t kGatesAUnit = 4096;

// {e^(softplus(a + time_bias) * decay), sigmoid(b)}; in double, since they are few.
void gates_of(const float* gates, const float* time_bias, const float* decay, uint32_t n_head, uint32_t head,
              float* to) {
  const double x = double{gates[head]} + time_bias[head], b = gates[n_head + head];
  const double softplus = std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x)));
  to[0] = static_cast<float>(std::exp(softplus * decay[head]));
  to[1] = static_cast<float>(1 / (1 + std::exp(-b)));
}

// Calls f(begin, end) for the tokens up to where a state is kept, and for those from there on.
template <typename F>
void for_parts(uint32_t keep, uint32_t n, F f) {
  if (keep != 0) f(0, keep);
  f(keep, n);
}

}  // namespace

void CpuRecorder::delta_net(const Buffer& qkvz, const Buffer& gates, const DeltaInput& in,
                            const DeltaState& state, const DeltaScratch& scratch, const Buffer& o,
                            const DeltaShape& shape, uint32_t n, uint32_t keep) {
  const DeltaShape s = shape;
  const uint32_t dim = s.head_dim, channels = s.channels(), row = channels + s.inner();
  auto* mixed = data_of<float>(*scratch.mixed);
  step(s.channels() / dim,
       [&k = k_, &input = input_, s, n, keep, dim, channels, row, mixed, qkvz = data_of<const float>(qkvz),
        weights = data_of<const float>(*in.conv), conv = data_of<float>(*state.conv),
        epsilon = in.norm.epsilon](uint32_t head, CacheLine*) {
         const uint32_t first = head * dim;
         const size_t state_floats = size_t{s.n_conv - 1} * channels;
         for_parts(keep, n, [&](uint32_t begin, uint32_t end) {
           k.convolve({.x = qkvz + size_t{begin} * row + first,
                       .x_row = row,
                       .n_tokens = end - begin,
                       .n_channels = dim,
                       .weights = weights + size_t{first} * s.n_conv,
                       .n_conv = s.n_conv,
                       .before = conv + (input.position + begin) % 2 * state_floats + first,
                       .after = conv + (input.position + end) % 2 * state_floats + first,
                       .state_row = channels,
                       .out = mixed + size_t{begin} * channels + first,
                       .out_row = channels});
         });
         if (head >= 2 * s.n_head_k) return;
         const float scale = head < s.n_head_k ? 1 / std::sqrt(static_cast<float>(dim)) : 1;
         for (uint32_t t = 0; t < n; ++t) {
           float* x = mixed + size_t{t} * channels + first;
           k.normalise(x, nullptr, dim, scale / std::sqrt(k.sum_of_squares(x, dim) + epsilon), x);
         }
       });
  step(
      s.n_head_v,
      [&k = k_, &input = input_, s, n, keep, dim, channels, row, mixed, qkvz = data_of<const float>(qkvz),
       gates = data_of<const float>(gates), of_tokens = data_of<float>(*scratch.gates),
       time_bias = data_of<const float>(*in.time_bias), decay = data_of<const float>(*in.decay),
       norm = RowNorm(in.norm), heads = data_of<float>(*state.heads),
       o = data_of<float>(o)](uint32_t head, CacheLine* memory) {
        const uint32_t of_key = head % s.n_head_k, times = s.n_head_v / s.n_head_k;
        const uint32_t place = s.grouped ? of_key * times + head / s.n_head_k : head;
        float* out = o + size_t{place} * dim;
        for (uint32_t t = 0; t < n; ++t)
          gates_of(gates + size_t{t} * 2 * s.n_head_v, time_bias, decay, s.n_head_v, head,
                   of_tokens + (size_t{t} * s.n_head_v + head) * 2);
        const size_t state_floats = size_t{s.inner()} * dim, of_head = size_t{head} * dim * dim;
        for_parts(keep, n, [&](uint32_t begin, uint32_t end) {
          const float* of_first = mixed + size_t{begin} * channels;
          k.delta({.before = heads + (input.position + begin) % 2 * state_floats + of_head,
                   .after = heads + (input.position + end) % 2 * state_floats + of_head,
                   .head_dim = dim,
                   .n_tokens = end - begin,
                   .q = of_first + size_t{of_key} * dim,
                   .k = of_first + size_t{s.n_head_k + of_key} * dim,
                   .v = of_first + size_t{2 * s.n_head_k + head} * dim,
                   .row = channels,
                   .gates = of_tokens + (size_t{begin} * s.n_head_v + head) * 2,
                   .gates_row = size_t{2} * s.n_head_v,
                   .out = out + size_t{begin} * s.inner(),
                   .out_row = s.inner(),
                   .scratch = reinterpret_cast<float*>(memory)});
        });
        for (uint32_t t = 0; t < n; ++t) {
          float* x = out + size_t{t} * s.inner();
          norm.run(k, x, dim, x);
          k.silu(qkvz + size_t{t} * row + channels + size_t{head} * dim, x, dim, x);
        }
      },
      size_t{dim} * kDeltaColumns * sizeof(float));
}

void CpuRecorder::multiply_sigmoid(const Buffer& y, const Buffer& gate, uint32_t n_values) {
  step(ceil_div(n_values, kGatesAUnit), [&k = k_, y = data_of<float>(y), gate = data_of<const float>(gate),
                                         n_values](uint32_t unit, CacheLine*) {
    const uint32_t begin = unit * kGatesAUnit;
    k.times_sigmoid(gate + begin, std::min(n_values - begin, kGatesAUnit), y + begin);
  });
}

}  // namespace bitnet::cpu
