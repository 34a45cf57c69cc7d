// A Gated DeltaNet on the CPU: every set of kernels has the same bits, whatever the batch. That these are
// near to the formulas is shown by delta_kernels_test.cpp.
#include <cmath>
#include <random>
#include <vector>

#include "kernel_sets.h"

namespace bitnet {
namespace {

struct Net {
  DeltaShape shape;
  uint32_t n = 7;
  std::vector<float> qkvz, gates, conv, time_bias, decay, norm;

  explicit Net(const DeltaShape& s) : shape(s) {
    std::mt19937 rng(s.n_head_v * 8 + s.n_conv);
    std::normal_distribution<float> normal;
    const auto fill = [&](std::vector<float>& v, size_t count, float deviation) {
      v.resize(count);
      for (float& x : v) x = deviation * normal(rng);
    };
    fill(qkvz, size_t{n} * (s.channels() + s.inner()), 1);
    fill(gates, size_t{n} * 2 * s.n_head_v, 2);
    fill(conv, size_t{s.channels()} * s.n_conv, 0.5F);
    fill(time_bias, s.n_head_v, 1);
    fill(decay, s.n_head_v, 1);
    for (float& d : decay) d = -std::abs(d);
    fill(norm, s.head_dim, 1);
  }

  // Runs batches of so many tokens and returns o [n][inner], with the state of the last position behind it.
  std::vector<float> run(Backend& backend, uint32_t batch) const {
    const auto buffer = [&](const std::vector<float>& values) {
      BufferPtr b = backend.allocate(values.size() * sizeof(float), BufferUse::device);
      backend.upload(*b, 0, std::as_bytes(std::span(values)));
      return b;
    };
    const auto zeros = [&](size_t n) { return buffer(std::vector<float>(n)); };
    const size_t conv_floats = size_t{shape.n_conv - 1} * shape.channels();
    const size_t head_floats = size_t{shape.inner()} * shape.head_dim, row = shape.channels() + shape.inner();
    const DeltaState state{zeros(2 * conv_floats), zeros(2 * head_floats)};
    const DeltaScratch scratch{zeros(size_t{n} * shape.channels()), zeros(size_t{n} * 2 * shape.n_head_v)};
    const DeltaInput in{buffer(conv), buffer(time_bias), buffer(decay), rms_of(buffer(norm), kEpsilon)};
    const BufferPtr o = zeros(size_t{n} * shape.inner());
    std::vector<float> all;
    for (uint32_t first = 0; first < n; first += batch) {
      const uint32_t some = std::min(batch, n - first);
      const auto rows = [&](const std::vector<float>& v, size_t width) {
        return buffer({v.begin() + static_cast<ptrdiff_t>(first * width),
                       v.begin() + static_cast<ptrdiff_t>((first + some) * width)});
      };
      const BufferPtr x = rows(qkvz, row), g = rows(gates, 2 * shape.n_head_v);
      const auto program =
          backend.record([&](Recorder& r) { r.delta_net(*x, *g, in, state, scratch, *o, shape, some, 0); });
      const std::vector<int32_t> tokens(some);
      backend.run(*program, first, tokens);
      download(backend, *o, 0, size_t{some} * shape.inner(), all);
    }
    download(backend, *state.conv, n % 2 * conv_floats, conv_floats, all);
    download(backend, *state.heads, n % 2 * head_floats, head_floats, all);
    return all;
  }

  static void download(Backend& backend, const Buffer& from, size_t first, size_t count,
                       std::vector<float>& to) {
    to.resize(to.size() + count);
    backend.download(from, first * sizeof(float), std::as_writable_bytes(std::span(to).last(count)));
  }

  static constexpr float kEpsilon = 1e-6F;
};

TEST(CpuDeltaNet, EverySetOfKernelsHasTheSameBits) {
  for (const DeltaShape& shape : {DeltaShape{2, 6, 64, 4}, DeltaShape{1, 2, 32, 2, true}}) {
    SCOPED_TRACE(shape.head_dim);
    const Net net(shape);
    std::vector<float> wanted;
    for_each_kernel_set([&](Backend& backend) {
      const std::vector<float> at_once = net.run(backend, net.n);
      EXPECT_EQ(net.run(backend, 2), at_once);
      if (backend.device().arithmetic.find("without fused") != std::string::npos) return;
      if (wanted.empty()) wanted = at_once;
      EXPECT_EQ(at_once, wanted);
    });
  }
}

TEST(CpuDeltaNet, GatesMultiplyBySigmoid) {
  std::vector<float> gate, y;
  for (int i = 0; i < 1001; ++i)
    gate.push_back(0.2F * static_cast<float>(i - 500)), y.push_back(1 + 0.01F * i);
  for (const cpu::KernelChoice& choice : cpu::kernel_choices()) {
    if (!choice.supported) continue;
    SCOPED_TRACE(choice.kernels->name);
    std::vector<float> got = y, reference = y;
    choice.kernels->times_sigmoid(gate.data(), 1001, got.data());
    cpu::kScalarKernels.times_sigmoid(gate.data(), 1001, reference.data());
    for (size_t i = 0; i < y.size(); ++i) {
      const double wanted = y[i] / (1 + std::exp(-double{gate[i]}));
      EXPECT_NEAR(got[i], wanted, 1e-6 * wanted + 1e-36) << gate[i];
      if (std::string(choice.kernels->name) == "sse4") continue;
      EXPECT_EQ(got[i], reference[i]) << gate[i];
    }
  }
}

}  // namespace
}  // namespace bitnet
