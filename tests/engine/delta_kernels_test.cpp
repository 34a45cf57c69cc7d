// Gated DeltaNet against its formulas in double, and that a token has the same bits whatever batch it is in.
#include <cmath>

#include "tests/engine/kernels.h"

namespace bitnet {
namespace {

constexpr float kPoison = std::numeric_limits<float>::quiet_NaN();
constexpr float kEpsilon = 1e-6F;

// What a layer and its tokens are, on the host.
struct Layer {
  DeltaShape shape;
  uint32_t n = 0;
  std::vector<float> conv, time_bias, decay, weight, qkvz, gates, inputs, heads;

  Layer(const DeltaShape& s, uint32_t tokens, std::mt19937& rng) : shape(s), n(tokens) {
    const auto fill = [&](std::vector<float>& to, size_t count, float mean, float size) {
      std::normal_distribution<float> normal(mean, size);
      to.resize(count);
      for (float& v : to) v = normal(rng);
    };
    fill(conv, size_t{s.channels()} * s.n_conv, 0, 0.7F);
    fill(time_bias, s.n_head_v, 0, 1);
    fill(decay, s.n_head_v, 0, 1);
    for (float& v : decay) v = -std::exp(v - 2);  // memories of a few tokens to some hundred
    fill(weight, s.head_dim, 1, 0.2F);
    fill(qkvz, size_t{n} * (s.channels() + s.inner()), 0, 1);
    fill(gates, size_t{n} * 2 * s.n_head_v, 0, 1.5F);
    fill(inputs, size_t{s.n_conv - 1} * s.channels(), 0, 1);
    fill(heads, size_t{s.n_head_v} * s.head_dim * s.head_dim, 0, 0.3F);
  }
};

double silu(double x) { return x / (1 + std::exp(-x)); }
double softplus(double x) { return x > 30 ? x : std::log1p(std::exp(x)); }

struct Result {
  std::vector<float> o, inputs, heads;  // and the state behind the last token
  bool operator==(const Result&) const = default;
};

// The formulas of Recorder::delta_net.
class Reference {
 public:
  explicit Reference(const Layer& layer) : l_(layer), heads_(layer.heads.begin(), layer.heads.end()) {}

  std::vector<double> outputs() {
    std::vector<double> all;
    for (uint32_t t = 0; t < l_.n; ++t) token(t, all);
    return all;
  }
  const std::vector<double>& heads() const { return heads_; }

 private:
  double input(uint32_t channel, int64_t t) const {
    const DeltaShape& s = l_.shape;
    if (t >= 0) return l_.qkvz[static_cast<size_t>(t) * (s.channels() + s.inner()) + channel];
    return l_.inputs[static_cast<size_t>(t + s.n_conv - 1) * s.channels() + channel];
  }
  std::vector<double> head(uint32_t first, uint32_t t) const {
    const DeltaShape& s = l_.shape;
    std::vector<double> values(s.head_dim);
    for (uint32_t i = 0; i < s.head_dim; ++i) {
      double sum = 0;
      for (uint32_t j = 0; j < s.n_conv; ++j)
        sum += double{l_.conv[size_t{first + i} * s.n_conv + j]} *
               input(first + i, int64_t{t} + j - (s.n_conv - 1));
      values[i] = silu(sum);
    }
    return values;
  }
  static void normalise(std::vector<double>& v) {
    double squares = 0;
    for (const double x : v) squares += x * x;
    for (double& x : v) x /= std::sqrt(squares + kEpsilon);
  }
  void token(uint32_t t, std::vector<double>& all) {
    const DeltaShape& s = l_.shape;
    const uint32_t d = s.head_dim;
    const size_t base = all.size();
    all.resize(base + s.inner());
    for (uint32_t h = 0; h < s.n_head_v; ++h) {
      const uint32_t key = h % s.n_head_k;
      std::vector<double> q = head(key * d, t), k = head((s.n_head_k + key) * d, t),
                          v = head((2 * s.n_head_k + h) * d, t), o(d);
      normalise(q);
      normalise(k);
      for (double& x : q) x /= std::sqrt(static_cast<double>(d));
      const float* gates = &l_.gates[size_t{t} * 2 * s.n_head_v];
      const double decay = std::exp(softplus(double{gates[h]} + l_.time_bias[h]) * l_.decay[h]);
      const double strength = 1 / (1 + std::exp(-double{gates[s.n_head_v + h]}));
      double* memory = &heads_[size_t{h} * d * d];
      double squares = 0;
      for (uint32_t c = 0; c < d; ++c) {
        double found = 0;
        for (uint32_t r = 0; r < d; ++r) found += (memory[r * d + c] *= decay) * k[r];
        for (uint32_t r = 0; r < d; ++r)
          o[c] += (memory[r * d + c] += k[r] * strength * (v[c] - found)) * q[r];
        squares += o[c] * o[c] / d;
      }
      const uint32_t to = s.grouped ? h % s.n_head_k * (s.n_head_v / s.n_head_k) + h / s.n_head_k : h;
      for (uint32_t c = 0; c < d; ++c) {
        const double z = l_.qkvz[size_t{t} * (s.channels() + s.inner()) + s.channels() + h * d + c];
        all[base + to * d + c] = o[c] / std::sqrt(squares + kEpsilon) * l_.weight[c] * silu(z);
      }
    }
  }

  const Layer& l_;
  std::vector<double> heads_;
};

class DeltaKernels : public Kernels {
 protected:
  // These kernels do not multiply int8. For Vulkan they have two builds.
  bool is_repeated() const {
    const Variant& v = GetParam();
    return v.cpu_kernels.empty() && (v.dot != IntegerDot::never || v.subgroup_size != 0);
  }
  void SetUp() override {
    if (is_repeated()) GTEST_SKIP() << "it is the same kernel";
    if (!GetParam().cpu_kernels.empty()) GTEST_SKIP() << "the CPU has none yet";
    Kernels::SetUp();
  }

  // Runs the tokens of the layer in batches that end at `cuts`, the first of them at `position`.
  Result result(const Layer& l, uint32_t position, std::vector<uint32_t> cuts) {
    Backend& b = *backend;
    const DeltaShape& s = l.shape;
    const DeltaInput input{put(b, l.conv), put(b, l.time_bias), put(b, l.decay),
                           rms_of(put(b, l.weight), kEpsilon)};
    const auto in_slot = [&](const std::vector<float>& values) {  // the other slot is poison
      std::vector<float> both(2 * values.size(), kPoison);
      std::copy(values.begin(), values.end(), both.begin() + ptrdiff_t(position % 2 * values.size()));
      return put(b, both);
    };
    const DeltaState state{in_slot(l.inputs), in_slot(l.heads)};
    cuts.push_back(l.n);
    Result found;
    const size_t width = s.channels() + s.inner();
    uint32_t first = 0;
    for (const uint32_t end : cuts) {
      const uint32_t n = end - first;
      const auto rows = [&](const std::vector<float>& of, size_t row) {
        return put(
            b, std::vector<float>(of.begin() + ptrdiff_t(first * row), of.begin() + ptrdiff_t(end * row)));
      };
      const auto poisoned = [&](size_t values) { return put(b, std::vector<float>(values, kPoison)); };
      const BufferPtr qkvz = rows(l.qkvz, width), gates = rows(l.gates, size_t{2} * s.n_head_v),
                      o = poisoned(size_t{n} * s.inner());
      const DeltaScratch scratch{poisoned(size_t{n} * s.channels()), poisoned(size_t{n} * s.n_head_v * 2)};
      run(
          b, [&](Recorder& r) { r.delta_net(*qkvz, *gates, input, state, scratch, *o, s, n); },
          position + first);
      const auto batch = get<float>(b, *o, size_t{n} * s.inner());
      found.o.insert(found.o.end(), batch.begin(), batch.end());
      first = end;
    }
    const auto of_slot = [&](const BufferPtr& buffer, size_t values) {
      const auto both = get<float>(b, *buffer, 2 * values);
      const size_t at = (position + l.n) % 2 * values;
      return std::vector<float>(both.begin() + ptrdiff_t(at), both.begin() + ptrdiff_t(at + values));
    };
    found.inputs = of_slot(state.conv, l.inputs.size());
    found.heads = of_slot(state.heads, l.heads.size());
    return found;
  }

  void expect_formulas(const Layer& l, const Result& found) {
    Reference reference(l);
    const std::vector<double> o = reference.outputs();
    for (size_t i = 0; i < o.size(); ++i) ASSERT_NEAR(found.o[i], o[i], 2e-4 * (1 + std::abs(o[i]))) << i;
    const std::vector<double>& heads = reference.heads();
    for (size_t i = 0; i < heads.size(); ++i)
      ASSERT_NEAR(found.heads[i], heads[i], 2e-5 * (1 + std::abs(heads[i]))) << i;
    const DeltaShape& s = l.shape;
    std::vector<float> inputs = l.inputs;
    for (uint32_t t = 0; t < l.n; ++t) {
      inputs.erase(inputs.begin(), inputs.begin() + s.channels());
      const auto row = l.qkvz.begin() + ptrdiff_t{t} * (s.channels() + s.inner());
      inputs.insert(inputs.end(), row, row + s.channels());
    }
    EXPECT_EQ(found.inputs, inputs);
  }
};
INSTANTIATE_TEST_SUITE_P(On, DeltaKernels, testing::ValuesIn(kernel_variants()),
                         [](const auto& info) { return info.param.name; });

// Heads of q and k, heads of v, features, inputs of the convolution, and whether the result is in groups.
constexpr DeltaShape kShapes[] = {{2, 6, 128, 4, true},
                                  {2, 4, 64, 4, false},
                                  {3, 3, 32, 2, false},
                                  {1, 2, 256, 8, true},
                                  {1, 3, 96, 3, true}};

TEST_P(DeltaKernels, TokensAreTheirFormulas) {
  for (const DeltaShape& shape : kShapes)
    for (const uint32_t n : {1U, 2U, 7U}) {
      SCOPED_TRACE(std::to_string(shape.head_dim) + " features, " + std::to_string(n) + " tokens");
      const Layer layer(shape, n, rng);
      expect_formulas(layer, result(layer, n % 3, {}));
    }
  const Layer layer({1, 2, 32, 4}, 300, rng);
  expect_formulas(layer, result(layer, 5, {}));
}

TEST_P(DeltaKernels, ATokenHasTheSameBitsWhereverBatchesAreCut) {
  for (const DeltaShape& shape : kShapes) {
    SCOPED_TRACE(shape.head_dim);
    const Layer layer(shape, 9, rng);
    const Result whole = result(layer, 0, {});
    EXPECT_EQ(result(layer, 0, {1, 2, 3, 4, 5, 6, 7, 8}), whole);
    EXPECT_EQ(result(layer, 7, {2, 3, 8}), whole);
  }
  const Layer layer({1, 1, 64, 4}, 300, rng);
  const Result whole = result(layer, 2, {});
  EXPECT_EQ(result(layer, 2, {64}), whole);
  EXPECT_EQ(result(layer, 3, {64, 65, 255}), whole);
}

// Gates so large and so small that exponentials over- and underflow.
TEST_P(DeltaKernels, GatesMayBeHugeAndTiny) {
  Layer layer({1, 2, 64, 4}, 12, rng);
  const float gates[] = {1e4F, -1e4F, 88, -88, 200, -200, 3e38F, -3e38F, 0, 20, -20, -30};
  for (uint32_t t = 0; t < layer.n; ++t)
    for (uint32_t i = 0; i < 4; ++i) layer.gates[t * 4 + i] = gates[(t + i * 5) % 12];
  layer.decay = {-16, -0.001F};
  const Result found = result(layer, 1, {});
  expect_formulas(layer, found);
  EXPECT_EQ(result(layer, 0, {1, 2, 3, 5}), found);
  layer.decay = {0, -1e30F};
  expect_formulas(layer, result(layer, 1, {4}));
}

TEST_P(DeltaKernels, ValuesAreMultipliedBySigmoids) {
  std::vector<float> y(1003), gate(y.size());
  std::normal_distribution<float> normal;
  for (size_t i = 0; i < y.size(); ++i) {
    y[i] = normal(rng);
    gate[i] = i < 8 ? (i % 2 == 0 ? 1.0F : -1.0F) * std::pow(10.0F, static_cast<float>(i)) : 4 * normal(rng);
  }
  const BufferPtr device_y = put(*backend, y), device_gate = put(*backend, gate);
  run(*backend,
      [&](Recorder& r) { r.multiply_sigmoid(*device_y, *device_gate, static_cast<uint32_t>(y.size())); });
  const auto found = get<float>(*backend, *device_y, y.size());
  for (size_t i = 0; i < y.size(); ++i)
    ASSERT_NEAR(found[i], y[i] / (1 + std::exp(-double{gate[i]})), 1e-6 * std::abs(y[i])) << i;
}

}  // namespace
}  // namespace bitnet
