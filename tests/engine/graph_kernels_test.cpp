// Compares the kernels between the projections with plain C++ in double on the same numbers: norms, the
// embedding of tokens and positions, the steps that only gemma has, and what comes of the logits.
#include <bit>
#include <cmath>

#include "tests/engine/kernels.h"

namespace bitnet {
namespace {

class GraphKernels : public Kernels {
 protected:
  // Most of these kernels have one build, which need not be tested again with each build of the others.
  bool is_repeated() const {
    const Variant& v = GetParam();
    return v.cpu_kernels.empty() && (v.as_gpu || v.dot != IntegerDot::never);
  }
};
INSTANTIATE_TEST_SUITE_P(On, GraphKernels, testing::ValuesIn(kernel_variants()),
                         [](const auto& info) { return info.param.name; });

struct NormCase {
  Norm::Kind kind;
  bool weighted;
};
constexpr NormCase kNorms[] = {
    {Norm::Kind::none, false}, {Norm::Kind::rms, true}, {Norm::Kind::rms, false}, {Norm::Kind::layer, true}};

struct TestNorm {
  TestNorm(Backend& b, const NormCase& c, uint32_t n, std::mt19937& rng)
      : weight(c.weighted ? normal_floats(n, rng, 1, 0.2F) : std::vector<float>(n, 1.0F)), bias(n) {
    device.kind = c.kind;
    device.epsilon = 1e-3F;
    if (c.weighted) device.weight = put(b, weight);
    if (c.kind != Norm::Kind::layer) return;
    bias = normal_floats(n, rng);
    device.bias = put(b, bias);
  }

  std::vector<double> of(std::vector<double> x) const {
    if (!device) return x;
    double mean = 0, squares = 0;
    for (const double v : x) mean += v / static_cast<double>(x.size());
    if (device.kind == Norm::Kind::rms) mean = 0;
    for (const double v : x) squares += (v - mean) * (v - mean);
    const double inverse = 1 / std::sqrt(squares / static_cast<double>(x.size()) + device.epsilon);
    for (size_t i = 0; i < x.size(); ++i) x[i] = (x[i] - mean) * inverse * weight[i] + bias[i];
    return x;
  }

  std::vector<float> weight, bias;
  Norm device;
};

std::vector<double> row_of(const std::vector<float>& x, size_t row, size_t n) {
  return {x.begin() + ptrdiff_t(row * n), x.begin() + ptrdiff_t((row + 1) * n)};
}

// Of blocks that are powers of 2 and of 4, with and without signs, there and back, also in place. The bits
// are those of butterflies in floats, neighbours first.
TEST_P(GraphKernels, RotationsAreWalshHadamardTransforms) {
  if (is_repeated()) GTEST_SKIP() << "it is the same kernel";
  struct Case {
    uint32_t block, blocks;
    bool has_signs, in_place;
  };
  for (const auto& [block, blocks, has_signs, in_place] :
       {Case{2, 5, true, false}, {128, 3, true, true}, {1024, 2, true, false}, {2048, 1, false, true}}) {
    const uint32_t n = block * blocks, rows = 3;
    std::vector<float> signs(n);
    for (float& s : signs) s = has_signs && rng() % 2 == 0 ? -1.0F : 1.0F;
    const Rotation rotation{block, has_signs ? put(*backend, signs) : nullptr};
    const auto x = normal_floats(size_t{rows} * n, rng);
    for (const auto turn : {Recorder::Turn::there, Recorder::Turn::back}) {
      SCOPED_TRACE(testing::Message()
                   << "blocks of " << block << (turn == Recorder::Turn::back ? ", back" : ""));
      const BufferPtr from = put(*backend, x),
                      y = in_place ? from : put(*backend, std::vector<float>(x.size()));
      run(*backend, [&](Recorder& r) { r.rotate(*from, rotation, turn, n, *y, rows); });
      const auto found = get<float>(*backend, *y, x.size());
      std::vector<float> wanted = x;
      for (size_t i = 0; i < x.size() && turn == Recorder::Turn::there; ++i) wanted[i] *= signs[i % n];
      for (uint32_t h = 1; h < block; h *= 2)
        for (size_t i = 0; i < x.size(); ++i)
          if ((i & h) == 0) {
            const float a = wanted[i], b = wanted[i + h];
            wanted[i] = a + b, wanted[i + h] = a - b;
          }
      for (size_t i = 0; i < x.size(); ++i) {
        wanted[i] *= 1 / std::sqrt(static_cast<float>(block));
        if (turn == Recorder::Turn::back) wanted[i] *= signs[i % n];
      }
      for (size_t i = 0; i < x.size(); ++i) ASSERT_EQ(found[i], wanted[i]) << i;
      std::vector<double> squares(2);
      for (size_t i = 0; i < x.size(); ++i) squares[0] += x[i] * x[i], squares[1] += found[i] * found[i];
      EXPECT_NEAR(squares[1] / squares[0], 1, 1e-5);
    }
  }
}

// The mean is large against what varies, so that a variance of sums of squares would have few digits.
TEST_P(GraphKernels, NormsAreTheirFormulas) {
  if (GetParam().dot != IntegerDot::never) GTEST_SKIP() << "it is the same kernel";
  const uint32_t n = 384, rows = 3;
  for (const NormCase& c : kNorms) {
    SCOPED_TRACE("norm " + std::to_string(static_cast<int>(c.kind)) + (c.weighted ? " with weights" : ""));
    const TestNorm norm(*backend, c, n, rng);
    const auto x = normal_floats(size_t{rows} * n, rng, 20), start = normal_floats(size_t{2} * n, rng);
    const BufferPtr device_x = put(*backend, x), y = put(*backend, start), sum = put(*backend, start);
    run(*backend, [&](Recorder& r) {
      r.norm(*device_x, 1, norm.device, n, *y, 2);
      if (norm.device) r.add_normed(*device_x, norm.device, n, *sum, 2);
    });
    const auto found = get<float>(*backend, *y, size_t{2} * n),
               added = get<float>(*backend, *sum, size_t{2} * n);
    for (size_t t = 0; t < 2; ++t) {
      const auto wanted = norm.of(row_of(x, t + 1, n)), more = norm.of(row_of(x, t, n));
      for (size_t i = 0; i < n; ++i) {
        ASSERT_NEAR(found[t * n + i], wanted[i], 2e-5) << "row " << t << " feature " << i;
        if (norm.device) {
          ASSERT_NEAR(added[t * n + i], start[t * n + i] + more[i], 2e-5) << "row " << t << " feature " << i;
        }
      }
    }
  }
}

TEST_P(GraphKernels, RoundedInputsHaveTheNormOfTheirFormula) {
  if (GetParam().dot != IntegerDot::never) GTEST_SKIP() << "it is the same kernel";
  const uint32_t n = 384, rows = 3;
  for (const NormCase& c : kNorms)
    for (const Input input : {Input::int8_row, Input::int8_units}) {
      SCOPED_TRACE("norm " + std::to_string(static_cast<int>(c.kind)) + (c.weighted ? " with weights" : "") +
                   (input == Input::int8_row ? ", rounded by rows" : ", by units"));
      const TestNorm norm(*backend, c, n, rng);
      const auto x = normal_floats(size_t{rows} * n, rng, 3);
      const BufferPtr device_x = put(*backend, x);
      Matrix w;
      w.n_in = n;
      w.input = input;
      w.layout = input == Input::int8_row ? Layout::trits : backend->group_layout();
      const size_t unit = input == Input::int8_row ? n : unit_of_input(w);
      const Quantised q{backend->allocate(rows * n, BufferUse::device),
                        backend->allocate(rows * 8, BufferUse::device),
                        backend->allocate(rows * n / 64 * 4, BufferUse::device),
                        nullptr,
                        nullptr,
                        backend->allocate(rows * n / 64 * 4, BufferUse::device)};
      run(*backend, [&](Recorder& r) { r.quantise(w, {*device_x, norm.device, q, 1}, rows - 1); });
      const auto codes = get<int8_t>(*backend, *q.q, (rows - 1) * n);
      const auto info = get<float>(*backend, *q.info, size_t{2} * (rows - 1));
      for (size_t t = 0; t + 1 < rows; ++t) {
        const auto wanted = norm.of(row_of(x, t + 1, n));
        const auto most = [&](size_t from, size_t to) {
          double largest = 0;
          for (size_t i = from; i < to; ++i) largest = std::max(largest, std::abs(wanted[i]));
          return largest;
        };
        ASSERT_NEAR(info[2 * t], 127 / most(0, n), 127 / most(0, n) * 1e-5);
        for (size_t i = 0; i < n; ++i) {
          const double s = 127 / most(i / unit * unit, i / unit * unit + unit);
          ASSERT_NEAR(codes[t * n + i], wanted[i] * s, 0.501) << "row " << t << " feature " << i;
        }
      }
    }
}

TEST_P(GraphKernels, InputsOfFloatsAreNormedAndNotRounded) {
  if (is_repeated()) GTEST_SKIP() << "it is the same kernel";
  const uint32_t n = 256, rows = 2;
  const TestNorm norm(*backend, kNorms[3], n, rng);
  const auto x = normal_floats(size_t{rows} * n, rng);
  const BufferPtr device_x = put(*backend, x);
  Matrix w;
  w.n_in = n;
  w.layout = Layout::floats;
  w.input = Input::float_row;
  Quantised q;
  q.y = backend->allocate(n * sizeof(float), BufferUse::device);
  run(*backend, [&](Recorder& r) { r.quantise(w, {*device_x, norm.device, q, 1}, 1); });
  const auto found = get<float>(*backend, *q.y, n);
  const auto wanted = norm.of(row_of(x, 1, n));
  for (size_t i = 0; i < n; ++i) ASSERT_NEAR(found[i], wanted[i], 1e-5) << "feature " << i;
  run(*backend, [&](Recorder& r) { r.quantise(w, {*device_x, {}, q, 1}, 1); });
  EXPECT_EQ(get<float>(*backend, *q.y, n), std::vector<float>(x.begin() + n, x.end()));
}

// The table is F32 or has codes of three values with scales of their own.
TEST_P(GraphKernels, EmbeddingsAreScaledAndHavePositions) {
  if (is_repeated()) GTEST_SKIP() << "it is the same kernel";
  const uint32_t n_vocab = 5, n_embd = 256, n_ctx = 8, position = 3;
  const std::vector<int32_t> tokens = {4, 0, 2};
  const auto n = static_cast<uint32_t>(tokens.size());
  const auto places = normal_floats(size_t{n_ctx} * n_embd, rng);
  const BufferPtr positions = put(*backend, places);
  for (const bool ternary : {false, true}) {
    std::vector<float> values = normal_floats(size_t{n_vocab} * n_embd, rng);
    Table table;
    table.n_vocab = n_vocab;
    table.n_embd = n_embd;
    table.type = TensorType::f32;
    if (ternary) {
      table.scale_every = 128;
      table.scale = 0.5F;
      std::vector<uint8_t> codes(values.size());
      for (size_t i = 0; i < codes.size(); ++i) {
        codes[i] = static_cast<uint8_t>(rng() % 3);
        values[i] = (codes[i] - 1.0F) * 0.5F * (i / 128 % 2 == 0 ? 1.0F : 1.5F);
      }
      std::vector<uint16_t> scales;
      for (uint32_t row = 0; row < n_vocab; ++row) scales.insert(scales.end(), {0x3C00, 0x3E00});  // 1, 1.5
      const Groups g =
          packed_groups(backend->group_layout(), n_vocab, n_embd, codes.data(), 2, scales.data());
      table.chunks = {{0, n_vocab, put(*backend, g.codes), put(*backend, g.scales)}};
    } else {
      table.chunks = {{0, n_vocab, put(*backend, values), nullptr}};
    }
    const BufferPtr scaled = put(*backend, std::vector<float>(size_t{n} * n_embd)),
                    placed = put(*backend, std::vector<float>(size_t{n} * n_embd));
    run(
        *backend,
        [&](Recorder& r) {
          r.embed(table, {16.0F, nullptr}, *scaled, n);
          r.embed(table, {2.0F, positions.get()}, *placed, n);
        },
        position, tokens);
    const auto found = get<float>(*backend, *scaled, size_t{n} * n_embd),
               found_placed = get<float>(*backend, *placed, size_t{n} * n_embd);
    for (size_t t = 0; t < n; ++t)
      for (size_t i = 0; i < n_embd; ++i) {
        const float value = values[static_cast<size_t>(tokens[t]) * n_embd + i];
        ASSERT_EQ(found[t * n_embd + i], 16 * value) << "token " << t << " feature " << i;
        ASSERT_EQ(found_placed[t * n_embd + i], 2 * value + places[(position + t) * n_embd + i])
            << "token " << t << " feature " << i;
      }
  }
}

TEST_P(GraphKernels, WhatLayersGetOfEachTokenIsCombined) {
  if (is_repeated()) GTEST_SKIP() << "it is the same kernel";
  const uint32_t n = 3, n_slices = 5, width = 64, slice = 2;
  const TestNorm norm(*backend, kNorms[1], width, rng);
  const size_t row = n_slices * width;
  const auto projected = normal_floats(n * row, rng), embedded = normal_floats(n * row, rng),
             g = normal_floats(size_t{n} * width, rng);
  const BufferPtr y = put(*backend, projected), e = put(*backend, embedded), gated = put(*backend, g);
  run(*backend, [&](Recorder& r) {
    r.combine_per_layer(*y, norm.device, 0.25F, *e, 8, n_slices, width, n);
    r.multiply(*gated, *y, width, row, slice * width, n);
    r.scale(*gated, 0.75F, n * width - 1);
  });
  const auto found = get<float>(*backend, *y, n * row),
             product = get<float>(*backend, *gated, size_t{n} * width);
  for (size_t i = 0; i < n * n_slices; ++i) {
    auto scaled = row_of(projected, i, width);
    for (double& v : scaled) v *= 0.25;
    const auto normed = norm.of(scaled);
    for (size_t j = 0; j < width; ++j) {
      const double wanted = (normed[j] + embedded[i * width + j] * 8) / std::sqrt(2.0);
      ASSERT_NEAR(found[i * width + j], wanted, 1e-5) << "slice " << i << " feature " << j;
    }
  }
  for (size_t t = 0; t < n; ++t)
    for (size_t j = 0; j < width; ++j) {
      const double factor = t * width + j + 1 == n * width ? 1 : 0.75;
      ASSERT_NEAR(product[t * width + j],
                  double{g[t * width + j]} * found[t * row + slice * width + j] * factor, 1e-5)
          << "token " << t << " feature " << j;
    }
}

TEST_P(GraphKernels, LogitsAreCappedAndSuppressed) {
  if (is_repeated()) GTEST_SKIP() << "it is the same kernel";
  const uint32_t n_vocab = 1003, rows = 2;
  auto logits = normal_floats(size_t{rows} * n_vocab, rng, 0, 40);
  for (size_t i = 0; i < 100; ++i) logits[i] = std::ldexp(1.0F, -static_cast<int>(i) / 4);
  logits[200] = 1e30F;
  logits[201] = -1e30F;
  logits[202] = NAN;
  const BufferPtr capped = put(*backend, logits), only = put(*backend, logits),
                  ids = put(*backend, std::vector<int32_t>{7, 1002});
  run(*backend, [&](Recorder& r) {
    r.finish_logits(*capped, n_vocab, 30, ids.get(), 2, rows);
    r.finish_logits(*only, n_vocab, 0, ids.get(), 2, rows);
  });
  const auto found = get<float>(*backend, *capped, logits.size()),
             kept = get<float>(*backend, *only, logits.size());
  for (size_t i = 0; i < logits.size(); ++i) {
    const bool gone = i % n_vocab == 7 || i % n_vocab == 1002;
    if (gone || i == 202) {
      ASSERT_EQ(std::bit_cast<uint32_t>(found[i]) >= 0x7F800000U, true) << i;
      ASSERT_EQ(std::isnan(found[i]), !gone) << i;
      ASSERT_EQ(std::isnan(kept[i]), !gone) << i;
      continue;
    }
    ASSERT_EQ(kept[i], logits[i]) << i;
    const double wanted = 30 * std::tanh(double{logits[i]} / 30);
    const double least = GetParam().cpu_kernels.empty() ? 0 : 2;  // the CPU has few digits near 0
    ASSERT_NEAR(found[i], wanted, 1e-6 * std::max(least, std::abs(wanted))) << i;
  }
}

// With inputs of 1 and a scale, a gate is any number that is wanted.
TEST_P(GraphKernels, GatesAreGelu) {
  if (is_repeated()) GTEST_SKIP() << "it is the same kernel";
  const uint32_t n_in = 128, n_ff = 128;
  for (const uint32_t n : {1U, 40U}) {
    const Ternary w = random_ternary(*backend, n_in, {{n_ff, 1.0F}, {n_ff, 0.25F}}, rng);
    std::vector<int8_t> q(size_t{n} * n_in);
    std::vector<uint32_t> info;
    std::vector<int32_t> sums(n);
    for (uint32_t t = 0; t < n; ++t) {
      for (uint32_t i = 0; i < n_in; ++i) {
        q[t * n_in + i] = static_cast<int8_t>(rng() % 5 - 2);
        sums[t] += q[t * n_in + i];
      }
      info.insert(info.end(), {std::bit_cast<uint32_t>(4.0F), static_cast<uint32_t>(sums[t])});
    }
    const Quantised device{put(*backend, q), put(*backend, info), nullptr};
    const BufferPtr y = backend->allocate(size_t{n} * n_ff * sizeof(float), BufferUse::device);
    run(*backend, [&](Recorder& r) { r.product(w.matrix, device, gate(*y, Act::gelu), n); });
    const auto found = get<float>(*backend, *y, size_t{n} * n_ff);
    const auto dot = [&](uint32_t t, uint32_t row) {
      double sum = 0;
      for (uint32_t i = 0; i < n_in; ++i) sum += w.weights[row * n_in + i] * q[t * n_in + i];
      return sum / 4;
    };
    for (uint32_t t = 0; t < n; ++t)
      for (uint32_t row = 0; row < n_ff; ++row) {
        const double x = dot(t, row), up = dot(t, n_ff + row) / 4,
                     tanh = std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)),
                     wanted = 0.5 * x * (1 + tanh) * up;
        ASSERT_NEAR(found[t * n_ff + row], wanted, 1e-6 * std::max(1.0, std::abs(x * up)))
            << "token " << t << " row " << row;
      }
  }
}

}  // namespace
}  // namespace bitnet
