// Tests dense projections on each set of CPU kernels: blocks are what the formula gives, bit for bit, floats
// what a head gives, and a token gives the same in every batch.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "kernel_sets.h"
#include "tests/engine/blocks.h"
#include "tests/engine/kernels.h"

namespace bitnet {
namespace {

constexpr uint32_t kTokens = 40;

struct PartShape {
  TensorType type;
  uint32_t rows;
};
struct DenseCase {
  uint32_t n_in;
  std::vector<PartShape> parts;
  bool biased;
};

// A matrix on a device, and its parts in plain numbers.
struct MadeDense {
  Matrix w;
  std::vector<BlockWeights> blocks;
  std::vector<float> bias;
};

std::vector<float> normal_floats(size_t n, std::mt19937& rng) {
  std::normal_distribution<float> normal;
  std::vector<float> values(n);
  for (float& v : values) v = normal(rng);
  return values;
}

// The bytes of n random values of a float type.
std::vector<std::byte> float_bytes(TensorType type, size_t n, std::mt19937& rng) {
  std::vector<std::byte> bytes;
  for (const float v : normal_floats(n, rng)) {
    const auto bits = std::bit_cast<uint32_t>(v);
    uint16_t half = static_cast<uint16_t>(bits >> 16);
    if (type == TensorType::f16) cpu::kScalarKernels.to_halves(&v, 1, &half);
    const auto* from = type == TensorType::f32 ? reinterpret_cast<const std::byte*>(&bits)
                                               : reinterpret_cast<const std::byte*>(&half);
    bytes.insert(bytes.end(), from, from + (type == TensorType::f32 ? 4 : 2));
  }
  return bytes;
}

MadeDense make(Backend& b, const DenseCase& c, std::mt19937& rng) {
  MadeDense made;
  Matrix& w = made.w;
  w.n_in = c.n_in;
  const bool blocks = find_block_type(c.parts[0].type) != nullptr;
  w.layout = blocks ? b.block_layout() : Layout::floats;
  w.input = blocks ? Input::int8_units : Input::float_row;
  for (size_t i = 0; i < c.parts.size(); ++i) {
    Matrix::Part& part = w.parts[i];
    part.rows = c.parts[i].rows;
    part.type = c.parts[i].type;
    part.scale = 1;
    if (blocks) {
      const BlockWeights& of_part =
          made.blocks.emplace_back(random_blocks(part.type, part.rows, c.n_in, rng));
      const PackedWeights packed = pack_sixteens(of_part);
      part.fixed = of_part.fixed;
      part.scale /= part.fixed;
      part.codes = put(b, packed.codes);
      part.scales = put(b, packed.scales);
    } else {
      part.codes = put(b, float_bytes(part.type, size_t{part.rows} * c.n_in, rng));
    }
  }
  if (c.biased) {
    made.bias = normal_floats(w.rows(), rng);
    w.bias = put(b, made.bias);
  }
  return made;
}

struct Result {
  std::vector<int8_t> q;
  std::vector<float> info, y, scales;
};
Result run_linear(Backend& b, const Matrix& w, const std::vector<float>& x, const Norm& norm,
                  uint32_t first_row, uint32_t tokens, Out::Kind kind, Act act) {
  const bool blocks = w.layout != Layout::floats;
  const uint32_t n = w.n_in, n_out = kind == Out::Kind::gate ? w.rows() / 2 : w.rows();
  const auto room = [&](size_t bytes) { return b.allocate(bytes, BufferUse::device); };
  const Quantised q{room(size_t{tokens} * n),     room(size_t{tokens} * 8),     nullptr,
                    room(size_t{tokens} * n / 4), room(size_t{tokens} * n * 4), room(size_t{tokens} * n / 8)};
  const BufferPtr from = put(b, x), y = put(b, std::vector<float>(size_t{tokens} * n_out, 0.5F));
  run(b, [&](Recorder& r) { r.linear(w, {*from, norm, q, first_row}, {*y, kind, act}, tokens); });
  if (!blocks) return {{}, {}, get<float>(b, *y, size_t{tokens} * n_out), {}};
  return {get<int8_t>(b, *q.q, size_t{tokens} * n), get<float>(b, *q.info, size_t{tokens} * 2),
          get<float>(b, *y, size_t{tokens} * n_out), get<float>(b, *q.scales, size_t{tokens} * n / 32)};
}

double activated(double v, Act act) {
  if (act == Act::relu2) return v > 0 ? v * v : 0;
  const double by = act == Act::silu ? v : 2 * std::sqrt(2 / M_PI) * (v + 0.044715 * v * v * v);
  return v / (1 + std::exp(-by));
}

// W x + bias of a token, from its rounded input.
std::vector<float> product_of(const MadeDense& made, const Result& all, uint32_t token) {
  RoundedInput q{made.w.n_in, {}, {}, {}};
  q.q.assign(all.q.begin() + token * long{q.n}, all.q.begin() + (token + 1) * long{q.n});
  q.factors.assign(all.scales.begin() + token * long{q.n / 32},
                   all.scales.begin() + (token + 1) * long{q.n / 32});
  std::vector<float> y;
  for (const BlockWeights& part : made.blocks)
    for (uint32_t r = 0; r < part.rows; ++r) {
      const float sum =
          static_cast<float>(part.sum(r, q, 0)) * (1 / (part.fixed * all.info[token * size_t{2}]));
      y.push_back(made.bias.empty() ? sum : sum + made.bias[y.size()]);
    }
  return y;
}

class CpuDense : public testing::Test {
 protected:
  std::mt19937 rng{11};
};

constexpr TensorType Q8 = TensorType::q8_0, Q4 = TensorType::q4_0, Q4K = TensorType::q4_k,
                     Q6K = TensorType::q6_k;

TEST_F(CpuDense, BlocksAreThoseOfTheFormulaInEveryBatch) {
  for_each_kernel_set([&](Backend& b) {
    for (const DenseCase& c : {DenseCase{256, {{Q4K, 40}, {Q4K, 16}, {Q6K, 21}}, true},
                               {256, {{Q4, 80}, {Q4, 80}}, false},
                               {768, {{Q8, 56}, {Q8, 56}}, true},
                               {512, {{Q4K, 33}}, false}}) {
      SCOPED_TRACE(shown_name(c.parts[0].type) + " of " + std::to_string(c.n_in));
      const MadeDense made = make(b, c, rng);
      const std::vector<float> x = normal_floats(size_t{kTokens} * c.n_in, rng);
      const Norm norm = rms_of(put(b, normal_floats(c.n_in, rng)), 1e-5F);
      const uint32_t rows = made.w.rows();
      for (const auto& [kind, act] : {std::pair{Out::Kind::store, Act::silu},
                                      {Out::Kind::add, Act::silu},
                                      {Out::Kind::act, Act::gelu},
                                      {Out::Kind::gate, Act::gelu},
                                      {Out::Kind::gate, Act::relu2}}) {
        const bool gated = kind == Out::Kind::gate;
        if (gated && c.parts.size() != 2) continue;
        const uint32_t n_out = gated ? rows / 2 : rows;
        const Result all = run_linear(b, made.w, x, norm, 0, kTokens, kind, act);
        for (const uint32_t t : {0U, kTokens - 1}) {
          const std::vector<float> wanted = product_of(made, all, t);
          for (uint32_t r = 0; r < n_out; ++r) {
            const float got = all.y[t * n_out + r];
            if (kind == Out::Kind::store) {
              ASSERT_EQ(got, wanted[r]) << r;
            } else if (kind == Out::Kind::add) {
              ASSERT_EQ(got, 0.5F + wanted[r]) << r;
            } else {
              const double exact = activated(wanted[r], act) * (gated ? wanted[n_out + r] : 1);
              ASSERT_NEAR(got, exact, std::abs(exact) * 4e-6 + 1e-12) << r;
            }
          }
        }
        for (const uint32_t tokens : {1U, 3U, 4U, 17U}) {
          const uint32_t begin = kTokens - tokens;
          const Result some = run_linear(b, made.w, x, norm, begin, tokens, kind, act);
          EXPECT_TRUE(std::equal(some.y.begin(), some.y.end(), all.y.begin() + begin * ptrdiff_t{n_out}))
              << tokens;
        }
      }
    }
  });
}

TEST_F(CpuDense, FloatsAreThoseOfAHeadInEveryBatch) {
  for_each_kernel_set([&](Backend& b) {
    for (const TensorType type : {TensorType::f32, TensorType::f16, TensorType::bf16}) {
      SCOPED_TRACE(shown_name(type));
      const DenseCase c{320, {{type, 24}, {type, 24}}, true};
      const MadeDense made = make(b, c, rng);
      const std::vector<float> x = normal_floats(size_t{kTokens} * c.n_in, rng);
      const Result all = run_linear(b, made.w, x, {}, 0, kTokens, Out::Kind::store, Act::silu);
      const BufferPtr from = put(b, x), logits = put(b, std::vector<float>(size_t{kTokens} * 24));
      for (uint32_t part = 0; part < 2; ++part) {
        Table table;
        table.n_vocab = 24;
        table.n_embd = c.n_in;
        table.type = type;
        table.chunks = {{0, 24, made.w.parts[part].codes, nullptr}};
        run(b, [&](Recorder& r) { r.head(table, *from, *logits, kTokens); });
        const auto wanted = get<float>(b, *logits, size_t{kTokens} * 24);
        for (uint32_t t = 0; t < kTokens; ++t)
          for (uint32_t r = 0; r < 24; ++r)
            ASSERT_EQ(all.y[t * 48 + part * 24 + r], wanted[t * 24 + r] + made.bias[part * 24 + r]);
      }
      for (const uint32_t tokens : {1U, 3U, 4U, 17U})
        for (const auto& [kind, act] :
             {std::pair{Out::Kind::store, Act::silu}, {Out::Kind::gate, Act::gelu}}) {
          const uint32_t begin = kTokens - tokens, n_out = kind == Out::Kind::gate ? 24 : 48;
          const Result whole = run_linear(b, made.w, x, {}, 0, kTokens, kind, act);
          const Result some = run_linear(b, made.w, x, {}, begin, tokens, kind, act);
          EXPECT_TRUE(std::equal(some.y.begin(), some.y.end(), whole.y.begin() + begin * ptrdiff_t{n_out}))
              << tokens;
        }
    }
  });
}

TEST_F(CpuDense, InputsAreNormedBeforeTheyAreRounded) {
  for_each_kernel_set([&](Backend& b) {
    constexpr uint32_t n = 256;
    const MadeDense made = make(b, {n, {{Q8, 16}}, false}, rng);
    const std::vector<float> x = normal_floats(size_t{2} * n, rng), weight = normal_floats(n, rng),
                             bias = normal_floats(n, rng);
    for (const Norm::Kind kind : {Norm::Kind::none, Norm::Kind::rms, Norm::Kind::layer}) {
      const Norm norm{kind, kind == Norm::Kind::none ? nullptr : put(b, weight),
                      kind == Norm::Kind::layer ? put(b, bias) : nullptr, 1e-5F};
      const Result r = run_linear(b, made.w, x, norm, 0, 2, Out::Kind::store, Act::silu);
      for (uint32_t t = 0; t < 2; ++t) {
        double mean = 0, squares = 0;
        for (uint32_t i = 0; i < n; ++i) mean += x[t * n + i] / double{n};
        if (kind != Norm::Kind::layer) mean = 0;
        for (uint32_t i = 0; i < n; ++i) squares += std::pow(x[t * n + i] - mean, 2) / n;
        for (uint32_t i = 0; i < n; ++i) {
          const double normed = kind == Norm::Kind::none
                                    ? x[t * n + i]
                                    : (x[t * n + i] - mean) / std::sqrt(squares + 1e-5) * weight[i] +
                                          (kind == Norm::Kind::layer ? bias[i] : 0);
          const double s = r.info[t * 2] / r.scales[(t * n + i) / 32];
          ASSERT_NEAR(r.q[t * n + i], normed * s, 0.501) << i;
        }
      }
    }
  });
}

}  // namespace
}  // namespace bitnet
