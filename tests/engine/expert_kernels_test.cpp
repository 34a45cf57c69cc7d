// Experts: which ones are chosen, that each gives what its own matrix gives, and that a token has the same
// bits in a batch as alone.
#include <numeric>

#include "tests/engine/kernels.h"

namespace bitnet {
namespace {

constexpr uint32_t kExperts = 5, kUsed = 3, kEmbd = 128, kFf = 64;
constexpr uint16_t kScale = 0x2C00;  // 1 / 16 as F16
const Norm kNone;

// Matrices of experts, and those of each alone. Those of experts lie as the loader has them: stacked by part,
// in Layout::groups by expert.
struct Stack {
  Matrix experts;
  std::vector<Matrix> alone;

  Stack(Backend& b, uint32_t n_in, std::vector<uint32_t> rows, std::mt19937& rng) {
    const Layout layout = b.group_layout();
    const uint32_t of_expert = std::accumulate(rows.begin(), rows.end(), 0U);
    std::vector<std::vector<uint8_t>> parts;
    for (const uint32_t n : rows) {
      parts.emplace_back(size_t{kExperts} * n * n_in);
      for (uint8_t& code : parts.back()) code = static_cast<uint8_t>(rng() % 3);
    }
    std::vector<uint8_t> stacked, by_expert;
    for (const auto& part : parts) stacked.insert(stacked.end(), part.begin(), part.end());
    for (uint32_t e = 0; e < kExperts; ++e) {
      std::vector<uint8_t> own;
      for (const auto& part : parts) {
        const size_t n = part.size() / kExperts;
        own.insert(own.end(), part.begin() + e * n, part.begin() + (e + 1) * n);
      }
      by_expert.insert(by_expert.end(), own.begin(), own.end());
      alone.push_back(matrix(b, n_in, rows, 1, of_expert, own));
    }
    experts = matrix(b, n_in, rows, kExperts, of_expert, layout == Layout::groups ? by_expert : stacked);
    experts.n_expert = kExperts;
    experts.addresses = b.addresses_of(experts);
    b.finish_uploads();
  }

  static Matrix matrix(Backend& b, uint32_t n_in, const std::vector<uint32_t>& rows, uint32_t times,
                       uint32_t all_rows, const std::vector<uint8_t>& codes) {
    Matrix m;
    m.n_in = n_in;
    m.layout = b.group_layout();
    m.scale_every = n_in;
    m.fixed = 16;
    for (size_t i = 0; i < rows.size(); ++i) m.parts[i] = {rows[i] * times, 0x1p-5F / m.fixed};
    const std::vector<uint16_t> scales(size_t{times} * all_rows, kScale);
    const Groups g = packed_groups(m.layout, times * all_rows, n_in, codes.data(), 1, scales.data());
    m.codes = put(b, g.codes);
    m.scales = put(b, g.scales);
    return m;
  }
};

class ExpertKernels : public Kernels {
 protected:
  Picked picked(const std::vector<float>& logits) {
    const size_t pairs = logits.size() / kExperts * kUsed;
    return {kExperts,
            kUsed,
            put(*backend, logits),
            zeros(pairs),
            zeros(pairs),
            zeros(picked_words(kExperts, pairs)),
            zeros(pairs * kEmbd)};
  }
  BufferPtr zeros(size_t n) { return put(*backend, std::vector<float>(n)); }
  Quantised inputs(size_t rows) {
    return {zeros(rows * kEmbd / 4), zeros(rows * 2), zeros(rows * kEmbd / 64), nullptr, nullptr,
            zeros(rows * kEmbd / 64)};
  }
  // x with what the experts of its tokens add to it
  std::vector<float> add(const Stack& up, const Stack& down, const std::vector<float>& x, const Picked& p) {
    const auto n = static_cast<uint32_t>(x.size() / kEmbd);
    const BufferPtr on_device = put(*backend, x), h = zeros(size_t{n} * kUsed * kFf);
    const Quantised q = inputs(size_t{n} * (kUsed + 1));
    run(*backend, [&](Recorder& r) {
      r.route({}, p, n);
      r.linear_of_experts(up.experts, {*on_device, kNone, q}, gate(*h, Act::silu), p, n);
      r.linear_of_experts(down.experts, {*h, kNone, q}, bitnet::add(*on_device), p, n);
    });
    return get<float>(*backend, *on_device, x.size());
  }
  // What expert e gives for a token
  std::vector<float> alone(const Stack& up, const Stack& down, const std::vector<float>& x, uint32_t e) {
    const BufferPtr on_device = put(*backend, x), h = zeros(kFf), y = zeros(kEmbd);
    const Quantised q = inputs(1);
    run(*backend, [&](Recorder& r) {
      r.quantise(up.alone[e], {*on_device, kNone, q}, 1);
      r.product(up.alone[e], q, gate(*h, Act::silu), 1);
      r.quantise(down.alone[e], {*h, kNone, q}, 1);
      r.product(down.alone[e], q, store(*y), 1);
    });
    return get<float>(*backend, *y, kEmbd);
  }
};

TEST_P(ExpertKernels, TheLikeliestAreChosen) {
  for (const Routing routing :
       {Routing{}, Routing{true, true, 1}, Routing{false, false, 2.5F}, Routing{true, false, 1}}) {
    std::vector<float> logits = normal_floats(40 * kExperts, rng);
    logits[1] = logits[3] = logits[4] = 9;  // of equal ones the lower ids
    logits[kExperts] = logits[kExperts + 1] = logits[kExperts + 2] = logits[kExperts + 3] = 9;
    const Picked p = picked(logits);
    run(*backend, [&](Recorder& r) { r.route(routing, p, 40); });
    const auto ids = get<uint32_t>(*backend, *p.ids, 40 * kUsed);
    const auto weights = get<float>(*backend, *p.weights, 40 * kUsed);
    for (size_t t = 0; t < 40; ++t) {
      const float* l = &logits[t * kExperts];
      std::vector<uint32_t> order(kExperts);
      std::iota(order.begin(), order.end(), 0U);
      std::stable_sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) { return l[a] > l[b]; });
      std::sort(order.begin(), order.begin() + kUsed);
      double all = 0, chosen = 0;
      const auto share = [&](uint32_t e) {
        return routing.sigmoid ? 1 / (1 + std::exp(-double{l[e]})) : std::exp(double{l[e]});
      };
      for (uint32_t e = 0; e < kExperts; ++e) all += share(e);
      for (uint32_t i = 0; i < kUsed; ++i) chosen += share(order[i]);
      const double by = routing.normed ? chosen : routing.sigmoid ? 1 : all;
      for (uint32_t i = 0; i < kUsed; ++i) {
        ASSERT_EQ(ids[t * kUsed + i], order[i]) << "token " << t;
        ASSERT_NEAR(weights[t * kUsed + i], share(order[i]) / by * routing.scale, 1e-6) << "token " << t;
      }
    }
  }
}

TEST_P(ExpertKernels, ATokenHasWhatItsExpertsGiveAloneAndTheSameBitsInABatch) {
  constexpr uint32_t kTokens = 70;
  const Stack up(*backend, kEmbd, {kFf, kFf}, rng), down(*backend, kFf, {kEmbd}, rng);
  const std::vector<float> x = normal_floats(kTokens * kEmbd, rng),
                           logits = normal_floats(kTokens * kExperts, rng);
  const Picked p = picked(logits);
  const std::vector<float> found = add(up, down, x, p);
  const auto ids = get<uint32_t>(*backend, *p.ids, kTokens * kUsed);
  const auto weights = get<float>(*backend, *p.weights, kTokens * kUsed);
  for (const size_t t : {0U, 1U, 41U, kTokens - 1}) {
    SCOPED_TRACE(t);
    const std::vector<float> row(x.begin() + t * kEmbd, x.begin() + (t + 1) * kEmbd);
    const Picked own = picked({logits.begin() + t * kExperts, logits.begin() + (t + 1) * kExperts});
    const std::vector<float> single = add(up, down, row, own);
    EXPECT_TRUE(std::equal(single.begin(), single.end(), found.begin() + t * kEmbd));
    std::vector<double> wanted(row.begin(), row.end());
    for (uint32_t i = 0; i < kUsed; ++i) {
      const std::vector<float> y = alone(up, down, row, ids[t * kUsed + i]);
      for (uint32_t k = 0; k < kEmbd; ++k) wanted[k] += double{weights[t * kUsed + i]} * y[k];
    }
    for (uint32_t k = 0; k < kEmbd; ++k) ASSERT_NEAR(single[k], wanted[k], 1e-5) << k;
  }
}

// Two layers of experts, whose steps are stages of decode for one token: F32 routers, and inputs in units of
// 64. The experts lie in host memory, and the device has places for copies of a few, which change with their
// use.
TEST_P(ExpertKernels, AChainWithExpertsHasTheBitsOfABatch) {
  if (GetParam().name != "GpuEmulated")
    GTEST_SKIP() << "subgroups of 16 have the stages, which compile for long";
  constexpr uint32_t kAll = 37, kOf = 11, kWide = 192, kRows = 384, kTokens = 5;
  struct Layer {
    Matrix router, up, down;
    Norm norm;
  };
  const auto of_experts = [&](uint32_t n_in, std::vector<uint32_t> rows) {
    const size_t all_rows = size_t{kAll} * std::accumulate(rows.begin(), rows.end(), 0U);
    std::vector<uint8_t> codes(all_rows * n_in);
    for (uint8_t& code : codes) code = static_cast<uint8_t>(rng() % 3);
    std::vector<uint16_t> scales(all_rows * n_in / 64);
    for (uint16_t& scale : scales) scale = static_cast<uint16_t>(kScale + rng() % 512);
    Matrix m;
    m.n_in = n_in;
    m.layout = backend->group_layout();
    m.input = Input::int8_units;
    m.scale_every = 64;
    m.fixed = 16;
    for (size_t i = 0; i < rows.size(); ++i) m.parts[i] = {rows[i] * kAll, 0x1p-5F / m.fixed};
    const Groups g = packed_groups(m.layout, static_cast<uint32_t>(all_rows), n_in, codes.data(), n_in / 64,
                                   scales.data());
    const auto in_host = [&](const auto& values) {
      const auto bytes = std::as_bytes(std::span(values));
      BufferPtr buffer = backend->allocate(bytes.size(), BufferUse::host_weights);
      backend->upload(*buffer, 0, bytes);
      return buffer;
    };
    m.codes = in_host(g.codes);
    m.scales = in_host(g.scales);
    m.n_expert = kAll;
    m.addresses = backend->addresses_of(m);
    backend->finish_uploads();
    return m;
  };
  std::vector<Layer> layers(2);
  backend->make_expert_places(kOf + 1);
  for (Layer& layer : layers) {
    layer.router.n_in = kWide;
    layer.router.layout = Layout::floats;
    layer.router.input = Input::float_row;
    layer.router.parts[0] = {kAll, 0.25F, TensorType::f32, 0,
                             put(*backend, normal_floats(kAll * kWide, rng))};
    layer.up = of_experts(kWide, {kRows, kRows});
    layer.down = of_experts(kRows, {kWide});
    layer.norm = {Norm::Kind::rms, put(*backend, normal_floats(kWide, rng)), nullptr, 1e-5F};
  }
  const Routing routing{true, true, 1.5F};
  const auto add = [&](const std::vector<float>& x) {
    const auto n = static_cast<uint32_t>(x.size() / kWide);
    const size_t rows = size_t{n} * (kOf + 1);
    const BufferPtr on_device = put(*backend, x), h = zeros(size_t{n} * kOf * kRows);
    const Picked p{kAll, kOf, zeros(size_t{n} * kAll), zeros(size_t{n} * kOf), zeros(size_t{n} * kOf),
                   zeros(picked_words(kAll, n * kOf)), zeros(size_t{n} * kOf * kWide)};
    const Quantised q{zeros(rows * kRows / 4), zeros(rows * 2), zeros(rows * kRows / 64), nullptr,
                      zeros(size_t{n} * kWide), zeros(rows * kRows / 64)};
    run(*backend, [&](Recorder& r) {
      for (const Layer& layer : layers) {
        const In in{*on_device, layer.norm, q};
        r.linear(layer.router, in, store(*p.logits), n);
        r.route(routing, p, n);
        r.linear_of_experts(layer.up, in, gate(*h, Act::silu, 0.5F), p, n);
        r.linear_of_experts(layer.down, {*h, kNone, q}, bitnet::add(*on_device), p, n);
      }
    });
    return get<float>(*backend, *on_device, x.size());
  };
  const std::vector<float> x = normal_floats(kTokens * kWide, rng), found = add(x);
  for (uint32_t t = 0; t < 5 * kTokens; ++t) {
    SCOPED_TRACE(t);
    const size_t row = t % kTokens * size_t{kWide};
    const std::vector<float> single = add({x.begin() + row, x.begin() + row + kWide});
    EXPECT_TRUE(std::equal(single.begin(), single.end(), found.begin() + row));
    EXPECT_FALSE(std::equal(single.begin(), single.end(), x.begin() + row));
  }
  EXPECT_EQ(backend->expert_reads().uses, 5 * kTokens * layers.size() * 2 * kOf);
  EXPECT_GT(backend->expert_reads().copies, 0U);
}

INSTANTIATE_TEST_SUITE_P(Each, ExpertKernels, testing::ValuesIn(kernel_variants()),
                         testing::PrintToStringParamName());

}  // namespace
}  // namespace bitnet
