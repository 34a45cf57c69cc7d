// Gated DeltaNet against its formulas in double, and that a token has the same bits whatever batch it is in.
#include <bit>
#include <cmath>
#include <limits>

#include "tests/engine/groups.h"

namespace bitnet {
namespace {

constexpr float kPoison = std::numeric_limits<float>::quiet_NaN();
constexpr float kEpsilon = 1e-6F;

// What a layer and its tokens are, on the host.
struct DeltaLayer {
  DeltaShape shape;
  uint32_t n = 0;
  std::vector<float> conv, time_bias, decay, weight, qkvz, gates, inputs, heads;

  DeltaLayer(const DeltaShape& s, uint32_t tokens, std::mt19937& rng) : shape(s), n(tokens) {
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
  explicit Reference(const DeltaLayer& layer) : l_(layer), heads_(layer.heads.begin(), layer.heads.end()) {}

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

  const DeltaLayer& l_;
  std::vector<double> heads_;
};

class DeltaKernels : public Kernels {
 protected:
  // These kernels do not multiply int8. For Vulkan they have three builds.
  bool is_repeated() const {
    const Variant& v = GetParam();
    const bool other_subgroups = v.subgroup_size != 0 && v.subgroup_size != 8;
    return v.cpu_kernels.empty() && (v.dot != IntegerDot::never || other_subgroups);
  }
  void SetUp() override {
    if (is_repeated()) GTEST_SKIP() << "it is the same kernel";
    Kernels::SetUp();
  }

  // Runs the tokens of the layer in batches that end at `cuts`, the first of them at `position`. Where `keep`
  // is not 0, there are no cuts, and `kept` becomes the state behind so many tokens.
  Result result(const DeltaLayer& l, uint32_t position, std::vector<uint32_t> cuts, uint32_t keep = 0,
                Result* kept = nullptr) {
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
          b, [&](Recorder& r) { r.delta_net(*qkvz, *gates, input, state, scratch, *o, s, n, keep); },
          position + first);
      const auto batch = get<float>(b, *o, size_t{n} * s.inner());
      found.o.insert(found.o.end(), batch.begin(), batch.end());
      first = end;
    }
    const auto of_slot = [&](const BufferPtr& buffer, size_t values, uint32_t behind) {
      const auto both = get<float>(b, *buffer, 2 * values);
      const size_t at = (position + behind) % 2 * values;
      return std::vector<float>(both.begin() + ptrdiff_t(at), both.begin() + ptrdiff_t(at + values));
    };
    const auto read_state = [&](Result& to, uint32_t behind) {
      to.inputs = of_slot(state.conv, l.inputs.size(), behind);
      to.heads = of_slot(state.heads, l.heads.size(), behind);
    };
    read_state(found, l.n);
    if (kept) read_state(*kept, keep);
    return found;
  }

  void expect_formulas(const DeltaLayer& l, const Result& found) {
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
  if (GetParam().subgroup_size != 0) GTEST_SKIP() << "its bits are those of another build";
  for (const DeltaShape& shape : kShapes)
    for (const uint32_t n : {1U, 2U, 7U}) {
      SCOPED_TRACE(std::to_string(shape.head_dim) + " features, " + std::to_string(n) + " tokens");
      const DeltaLayer layer(shape, n, rng);
      expect_formulas(layer, result(layer, n % 3, {}));
    }
  const DeltaLayer layer({1, 2, 32, 4}, 300, rng);
  expect_formulas(layer, result(layer, 5, {}));
}

TEST_P(DeltaKernels, ATokenHasTheSameBitsWhereverBatchesAreCut) {
  for (const DeltaShape& shape : kShapes) {
    SCOPED_TRACE(shape.head_dim);
    const DeltaLayer layer(shape, 9, rng);
    const Result whole = result(layer, 0, {});
    EXPECT_EQ(result(layer, 0, {1, 2, 3, 4, 5, 6, 7, 8}), whole);
    EXPECT_EQ(result(layer, 7, {2, 3, 8}), whole);
    for (const uint32_t keep : {2U, 8U}) {
      Result kept;
      EXPECT_EQ(result(layer, keep / 2, {}, keep, &kept), whole);
      DeltaLayer until = layer;
      until.n = keep;
      Result alone = result(until, 0, {});
      alone.o.clear();
      EXPECT_EQ(kept, alone) << "behind " << keep;
    }
  }
  const DeltaLayer layer({1, 1, 64, 4}, 300, rng);
  const Result whole = result(layer, 2, {});
  EXPECT_EQ(result(layer, 2, {64}), whole);
  EXPECT_EQ(result(layer, 3, {64, 65, 255}), whole);
}

// Gates so large and so small that exponentials over- and underflow.
TEST_P(DeltaKernels, GatesMayBeHugeAndTiny) {
  DeltaLayer layer({1, 2, 64, 4}, 12, rng);
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

// Two layers of a DeltaNet and its projections, token for token as a chain where the device can, have the
// bits of a batch, which has a kernel for each step. The gates are products of floats, or groups like the
// others.
class DeltaChains : public Kernels {
 protected:
  static constexpr uint32_t kEmbd = 256;

  Input input = Input::int8_units;  // of what is not floats
  bool rotated = false;             // the same

  Matrix groups(uint32_t n_in, std::vector<uint32_t> rows) {
    Matrix m;
    m.n_in = n_in;
    m.layout = backend->group_layout();
    m.input = input;
    m.scale_every = 128;
    m.fixed = 16;
    uint32_t all = 0;
    for (size_t i = 0; i < rows.size(); all += rows[i++]) m.parts[i] = {rows[i], 0x1p-6F / m.fixed};
    std::vector<uint8_t> codes(size_t{all} * n_in);
    for (uint8_t& code : codes) code = static_cast<uint8_t>(rng() % 3);
    const uint32_t n_scales = n_in / m.scale_every;
    std::vector<uint16_t> scales(size_t{all} * n_scales);
    for (uint16_t& s : scales) s = static_cast<uint16_t>(0x3000 + rng() % 0x0800);
    const Groups g = packed_groups(m.layout, all, n_in, codes.data(), n_scales, scales.data());
    m.codes = put(*backend, g.codes);
    m.scales = put(*backend, g.scales);
    if (rotated) m.rotation = random_rotation(*backend, n_in, rng);
    return m;
  }
  Matrix floats(uint32_t rows) {  // one part F32 and one BF16
    Matrix m;
    m.n_in = kEmbd;
    m.layout = Layout::floats;
    m.input = Input::float_row;
    const std::vector<float> w = normal_floats(size_t{rows} * kEmbd, rng, 0, 0.05F);
    std::vector<uint16_t> half(w.size());
    for (size_t i = 0; i < w.size(); ++i)
      half[i] = static_cast<uint16_t>(std::bit_cast<uint32_t>(w[i]) >> 16);
    m.parts[0] = {rows, 1, TensorType::f32, 0, put(*backend, w), nullptr};
    m.parts[1] = {rows, 0.5F, TensorType::bf16, 0, put(*backend, half), nullptr};
    return m;
  }

  struct Step {
    Matrix qkvz, gates, out;
    Norm norm;
    DeltaInput input;
    DeltaState state;
  };
  Step step(const DeltaShape& s, bool float_gates) {
    Step l;
    l.qkvz = groups(kEmbd, {s.channels(), s.inner()});
    l.gates = float_gates ? floats(s.n_head_v) : groups(kEmbd, {s.n_head_v, s.n_head_v});
    l.out = groups(s.inner(), {kEmbd});
    l.norm = rms_of(put(*backend, normal_floats(kEmbd, rng, 1, 0.2F)), 1e-5F);
    std::vector<float> decay = normal_floats(s.n_head_v, rng);
    for (float& d : decay) d = -std::exp(d);
    l.input = {put(*backend, normal_floats(size_t{s.channels()} * s.n_conv, rng)),
               put(*backend, normal_floats(s.n_head_v, rng)), put(*backend, decay),
               rms_of(put(*backend, normal_floats(s.head_dim, rng, 1, 0.2F)), kEpsilon)};
    l.state = {put(*backend, std::vector<float>(2 * size_t{s.n_conv - 1} * s.channels())),
               put(*backend, std::vector<float>(2 * size_t{s.inner()} * s.head_dim))};
    return l;
  }

  // The residual stream behind the layers, and the states of the last.
  std::vector<float> run_layers(std::vector<Step>& layers, const DeltaShape& s, const std::vector<float>& x,
                                uint32_t batch) {
    Backend& b = *backend;
    const auto scratch = [&](uint64_t bytes) { return b.allocate(bytes, BufferUse::device); };
    const size_t n_all = x.size() / kEmbd, widest = std::max<size_t>(kEmbd, s.inner());
    for (const Step& l : layers)
      for (const BufferPtr& state : {l.state.conv, l.state.heads}) {
        const std::vector<float> zeros(state->size() / sizeof(float));
        b.upload(*state, 0, std::as_bytes(std::span(zeros)));
      }
    b.finish_uploads();
    std::vector<float> found;
    for (size_t first = 0; first < n_all; first += batch) {
      const uint32_t n = batch;
      const Quantised q{
          scratch(n * widest),     scratch(n * 8),           scratch(n * widest / 16), nullptr,
          scratch(n * widest * 4), scratch(n * widest / 16), scratch(n * widest * 4),  scratch(n * widest),
          scratch(n * 8),          scratch(n * widest / 16)};
      const BufferPtr rows = put(b, std::vector<float>(x.begin() + ptrdiff_t(first * kEmbd),
                                                       x.begin() + ptrdiff_t((first + n) * kEmbd)));
      const BufferPtr qkvz = scratch(n * 4 * (s.channels() + s.inner())), gates = scratch(n * 8 * s.n_head_v),
                      o = scratch(n * 4 * s.inner());
      const DeltaScratch between{scratch(n * 4 * s.channels()), scratch(n * 8 * s.n_head_v)};
      run(
          b,
          [&](Recorder& r) {
            for (Step& l : layers) {
              r.linear(l.qkvz, {*rows, l.norm, q}, store(*qkvz), n);
              r.linear(l.gates, {*rows, l.norm, q}, store(*gates), n);
              r.delta_net(*qkvz, *gates, l.input, l.state, between, *o, s, n, 0);
              r.linear(l.out, {*o, Norm(), q}, add(*rows), n);
            }
          },
          static_cast<uint32_t>(first));
      const auto some = get<float>(b, *rows, size_t{n} * kEmbd);
      found.insert(found.end(), some.begin(), some.end());
    }
    const Buffer& heads = *layers.back().state.heads;
    const auto memory = get<float>(b, heads, heads.size() / sizeof(float));
    const size_t at = n_all % 2 * (memory.size() / 2);
    found.insert(found.end(), memory.begin() + ptrdiff_t(at),
                 memory.begin() + ptrdiff_t(at + memory.size() / 2));
    return found;
  }
};
INSTANTIATE_TEST_SUITE_P(On, DeltaChains, testing::ValuesIn(kernel_variants()),
                         [](const auto& info) { return info.param.name; });

TEST_P(DeltaChains, AChainWithDeltaNetsHasTheBitsOfABatch) {
  const Variant& v = GetParam();
  if (v.name != "GpuEmulated") GTEST_SKIP() << "the others show no more";
  struct Case {
    DeltaShape shape;
    bool float_gates;
    Input input;
    bool rotated;
  };
  // Heads of 256 features are too wide for a stage. The gates of 20 heads are more than a workgroup makes.
  for (const Case& c : {Case{{2, 20, 32, 4}, true, Input::int8_units, false},
                        {{1, 2, 128, 2, true}, false, Input::int16_units, false},
                        {{2, 4, 128, 4}, true, Input::int16_units, true},
                        {{1, 1, 256, 4}, true, Input::int8_units, false}}) {
    const auto& [shape, float_gates, of_groups, is_rotated] = c;
    SCOPED_TRACE(std::to_string(shape.head_dim) + (float_gates ? ", gates of floats" : "") +
                 (is_rotated ? ", rotated" : ""));
    input = of_groups;
    rotated = is_rotated;
    std::vector<Step> layers;
    for (int i = 0; i < 2; ++i) layers.push_back(step(shape, float_gates));
    const std::vector<float> x = normal_floats(6 * kEmbd, rng);
    const std::vector<float> whole = run_layers(layers, shape, x, 6);
    for (const float v : whole) ASSERT_TRUE(std::isfinite(v));
    EXPECT_EQ(run_layers(layers, shape, x, 1), whole);
  }
}

}  // namespace
}  // namespace bitnet
