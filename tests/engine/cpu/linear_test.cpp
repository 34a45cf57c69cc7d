// Tests projections in groups on each set of CPU kernels: they are what the formula gives, bit for bit, and a
// token gives the same in every batch.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>

#include "kernel_sets.h"
#include "tests/engine/kernels.h"

namespace bitnet {
namespace {

struct Shape {
  uint32_t n_in, scale_every;
  std::vector<uint32_t> rows;  // of each part
  Input input;
  bool normed;
};

// A matrix, and the same in plain numbers.
struct Made {
  Shape shape;
  std::vector<uint8_t> codes;    // [rows][n_in]
  std::vector<uint16_t> scales;  // [rows][n_in / scale_every]
  std::vector<float> weight;     // of the norm
  uint32_t rows = 0;
  float fixed = 0;
};

constexpr float kEpsilon = 1e-5F;
constexpr uint32_t kTokens = 100;

Made make(const Shape& shape, std::mt19937& rng) {
  Made m{shape, {}, {}, {}, 0, 0};
  m.rows = std::accumulate(shape.rows.begin(), shape.rows.end(), 0U);
  m.codes.resize(size_t{m.rows} * shape.n_in);
  for (uint8_t& c : m.codes) c = static_cast<uint8_t>(rng() % 3);
  const uint32_t n_scales = shape.n_in / shape.scale_every;
  m.scales.resize(size_t{m.rows} * n_scales);
  for (uint16_t& s : m.scales) s = static_cast<uint16_t>((rng() & 0x8000) | (0x0100 + rng() % 0x2000));
  double largest = 0;
  for (uint32_t r = 0; r < m.rows; ++r)
    largest = std::max(largest, bound_of_scales(&m.scales[r * n_scales], n_scales, shape.scale_every));
  m.fixed = fixed_for(largest * steps_of(shape.input));
  std::normal_distribution<float> normal(1, 0.2F);
  if (shape.normed)
    for (uint32_t i = 0; i < shape.n_in; ++i) m.weight.push_back(normal(rng));
  return m;
}

// W x of one token by the formula; x is what the kernel rounded, since the sum of its squares has an order.
std::vector<float> product_of(const Made& m, const int8_t* q, const int8_t* rest, const float* factors,
                              float s) {
  const uint32_t n = m.shape.n_in;
  std::vector<float> y;
  for (uint32_t r = 0; r < m.rows; ++r) {
    int32_t sum = 0;
    for (uint32_t g = 0; g < n; g += 64) {
      int64_t total = 0;
      for (uint32_t i = g; i < g + 64; ++i)
        total += (int64_t{m.codes[size_t{r} * n + i]} - 1) *
                 (m.shape.input == Input::int16_units ? 254 * q[i] + rest[i] : q[i]);
      const float scale =
          from_half(m.scales[(size_t{r} * n + g) / m.shape.scale_every]) * m.fixed * factors[g / 64];
      sum += static_cast<int32_t>(std::nearbyint(static_cast<float>(total) * scale));
    }
    y.push_back(static_cast<float>(sum) * (1 / m.fixed / s));
  }
  return y;
}

class CpuLinear : public testing::Test {
 protected:
  Matrix upload(Backend& b, const Made& m) {
    const uint32_t n = m.shape.n_in, n_scales = n / m.shape.scale_every;
    Matrix w;
    w.n_in = n;
    w.layout = b.group_layout();
    w.input = m.shape.input;
    w.scale_every = m.shape.scale_every;
    w.fixed = m.fixed;
    for (size_t i = 0; i < m.shape.rows.size(); ++i) w.parts[i] = {m.shape.rows[i], 1 / m.fixed};
    const Groups g = packed_groups(w.layout, m.rows, n, m.codes.data(), n_scales, m.scales.data());
    w.codes = put(b, g.codes);
    w.scales = put(b, g.scales);
    return w;
  }

  // The input of `tokens` tokens, rounded; and the product with y as it is before.
  struct Result {
    std::vector<int8_t> q, rest_q;
    std::vector<float> info, factors, y;
  };
  Result run_linear(Backend& b, const Made& m, const Matrix& w, const std::vector<float>& x,
                    uint32_t first_row, uint32_t tokens, Out::Kind kind, Act act) {
    const uint32_t n = m.shape.n_in;
    const uint32_t n_out = kind == Out::Kind::gate ? m.rows / 2 : m.rows;
    const Norm norm = m.shape.normed ? rms_of(put(b, m.weight), kEpsilon) : Norm{};
    Quantised q{b.allocate(size_t{tokens} * n, BufferUse::device),
                b.allocate(size_t{tokens} * 8, BufferUse::device),
                b.allocate(size_t{tokens} * (n / 64) * 4, BufferUse::device)};
    q.scales = b.allocate(size_t{tokens} * (n / 64) * 4, BufferUse::device);
    q.rest_q = b.allocate(size_t{tokens} * n, BufferUse::device);
    const BufferPtr from = put(b, x), y = put(b, std::vector<float>(size_t{tokens} * n_out, 0.5F));
    run(b, [&](Recorder& r) { r.linear(w, {*from, norm, q, first_row}, {*y, kind, act}, tokens); });
    return {get<int8_t>(b, *q.q, size_t{tokens} * n),
            get<int8_t>(b, *q.rest_q, size_t{tokens} * n),
            get<float>(b, *q.info, size_t{tokens} * 2),
            get<float>(b, *q.scales, size_t{tokens} * (n / 64)),
            get<float>(b, *y, size_t{tokens} * n_out)};
  }

  std::mt19937 rng{11};
};

float silu(float g) {
  const float e = std::exp(-std::abs(g));
  return (g >= 0 ? g : g * e) / (1 + e);
}

const Shape kShapes[] = {
    {512, 256, {48}, Input::int8_units, true},       {192, 64, {48, 16, 32}, Input::int8_units, true},
    {256, 128, {64, 64}, Input::int8_units, false},  {256, 256, {80, 80}, Input::int8_row, true},
    {256, 128, {48, 48}, Input::int16_units, true},  {192, 64, {40}, Input::int16_units, false},
    {1536, 64, {1000 + 5}, Input::int8_units, true},  // rows that fill no band, as of a head
};

TEST_F(CpuLinear, ProductsInGroupsAreThoseOfTheFormulaInEveryBatch) {
  std::normal_distribution<float> normal;
  for (const Shape& shape : kShapes) {
    const Made m = make(shape, rng);
    const uint32_t n = shape.n_in;
    std::vector<float> x(size_t{kTokens} * n);
    for (float& v : x) v = normal(rng);

    for (const cpu::KernelChoice& choice : cpu::kernel_choices()) {
      if (!choice.supported) continue;
      SCOPED_TRACE(std::string(choice.kernels->name) + ", " + std::to_string(n) + " inputs");
      EngineOptions options;
      options.kernels = share({.cpu_kernels = choice.kernels->name});
      options.threads = 3;
      const auto backend = open_cpu(options);
      const Matrix w = upload(*backend, m);
      for (const auto& [kind, act] : {std::pair{Out::Kind::store, Act::silu},
                                      {Out::Kind::add, Act::silu},
                                      {Out::Kind::gate, Act::silu},
                                      {Out::Kind::gate, Act::relu2}}) {
        const bool gated = kind == Out::Kind::gate;
        if (gated && (shape.rows.size() != 2)) continue;
        const uint32_t n_out = gated ? m.rows / 2 : m.rows;
        const Result all = run_linear(*backend, m, w, x, 0, kTokens, kind, act);
        for (const uint32_t t : {0U, 1U, kTokens - 1}) {
          const float* factors = &all.factors[size_t{t} * (n / 64)];
          const std::vector<float> wanted = product_of(m, &all.q[size_t{t} * n], &all.rest_q[size_t{t} * n],
                                                       factors, all.info[size_t{t} * 2]);
          for (uint32_t r = 0; r < n_out; ++r) {
            const float got = all.y[t * n_out + r], g = wanted[r];
            if (kind == Out::Kind::store) {
              ASSERT_EQ(got, g) << r;
            }
            if (kind == Out::Kind::add) {
              ASSERT_EQ(got, 0.5F + g) << r;
            }
            if (!gated) continue;
            const float up = wanted[n_out + r];
            const float exact = (act == Act::relu2 ? std::max(g, 0.0F) * std::max(g, 0.0F) : silu(g)) * up;
            ASSERT_NEAR(got, exact, std::abs(exact) * 1e-6F) << r;
          }
        }
        for (const uint32_t tokens : {1U, 2U, 3U, 4U, 13U})
          for (const uint32_t begin : {0U, kTokens - tokens}) {
            const Result some = run_linear(*backend, m, w, x, begin, tokens, kind, act);
            EXPECT_TRUE(std::equal(some.y.begin(), some.y.end(), all.y.begin() + begin * ptrdiff_t{n_out}))
                << tokens << " tokens from " << begin;
          }
      }
    }
  }
}

// A projection whose inputs were made in units by those who computed them, and the same that rounds them
// itself; the units of rows end within those of inputs.
TEST_F(CpuLinear, InputsThatWereMadeInUnitsHaveTheBitsOfThoseThatWereNot) {
  const Made gate_up = make({256, 64, {1088, 1088}, Input::int8_units, false}, rng),
             down = make({1088, 64, {256}, Input::int8_units, true}, rng);
  std::normal_distribution<float> normal;
  std::vector<float> x(256);
  for (float& v : x) v = normal(rng);
  const auto compare = [&](Backend& b, Input input) {
    Matrix first = upload(b, gate_up), second = upload(b, down);
    first.input = second.input = input;
    const auto room = [&](size_t bytes) { return b.allocate(bytes, BufferUse::device); };
    Quantised q{room(1088), room(8), room(68)};
    q.scales = room(68);
    q.rest_q = room(1088);
    const BufferPtr from = put(b, x), h = room(1088 * sizeof(float)), y = put(b, x);
    const Norm norm = rms_of(put(b, down.weight), kEpsilon), none;
    const auto make_h = [&](Recorder& r) { r.linear(first, {*from, none, q}, gate(*h, Act::silu), 1); };
    const auto add_to_y = [&](Recorder& r) { r.linear(second, {*h, norm, q}, add(*y), 1); };
    run(b, make_h);
    run(b, add_to_y);
    const auto wanted = get<float>(b, *y, x.size());
    const auto both = b.record([&](Recorder& r) { make_h(r), add_to_y(r); });
    for (int repeat = 0; repeat < 3; ++repeat) {
      b.upload(*y, 0, std::as_bytes(std::span(x)));
      b.run(*both, 0, {});
      EXPECT_EQ(get<float>(b, *y, x.size()), wanted);
    }
  };
  for_each_kernel_set([&](Backend& b) {
    for (const Input input : {Input::int8_units, Input::int16_units}) compare(b, input);
  });
}

// However it is rounded, alone and in a batch.
TEST_F(CpuLinear, ARowWithWhatIsNoNumberGivesNone) {
  constexpr uint32_t kBad = 2, kSome = 5;
  for (const Input input : {Input::int8_row, Input::int8_units, Input::int16_units})
    for (const bool normed : {false, true}) {
      const Made m = make({256, 128, {48, 48}, input, normed}, rng);
      const std::vector<float> whole = normal_floats(size_t{kSome} * 256, rng);
      for (const float bad :
           {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
        std::vector<float> x = whole;
        x[kBad * 256 + 77] = bad;
        for_each_kernel_set([&](Backend& b) {
          const Matrix w = upload(b, m);
          for (const Out::Kind kind : {Out::Kind::store, Out::Kind::add, Out::Kind::gate}) {
            const uint32_t n_out = kind == Out::Kind::gate ? 48 : 96;
            const std::vector<float> wanted = run_linear(b, m, w, whole, 0, kSome, kind, Act::relu2).y;
            const std::vector<float> all = run_linear(b, m, w, x, 0, kSome, kind, Act::relu2).y;
            const std::vector<float> alone = run_linear(b, m, w, x, kBad, 1, kind, Act::relu2).y;
            for (uint32_t i = 0; i < all.size(); ++i) {
              if (i / n_out != kBad)
                ASSERT_EQ(all[i], wanted[i]) << i;
              else
                ASSERT_FALSE(std::isfinite(all[i]) || std::isfinite(alone[i % n_out])) << i;
            }
          }
        });
      }
    }
}

}  // namespace
}  // namespace bitnet
