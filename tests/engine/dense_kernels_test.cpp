// Compares the kernels of matrices of blocks and of floats with their formulas. The integers of blocks must
// be equal; the sums of floats may differ by what f32 allows. The kernels of few tokens and of many must
// agree in every bit.
#include <cmath>
#include <numeric>
#include <span>

#include "tests/engine/dense.h"
#include "tests/engine/groups.h"

namespace bitnet {
namespace {

struct BlocksCase {
  uint32_t n_in;
  std::vector<TensorType> types;  // of the parts
};

const std::vector<BlocksCase> kBlocksCases = {
    {96, {TensorType::q8_0, TensorType::q5_0, TensorType::q4_0}},
    {832, {TensorType::q4_0, TensorType::q8_0, TensorType::q5_0}},
    {256, {TensorType::q4_k, TensorType::q6_k, TensorType::q5_k}},
    {768, {TensorType::q6_k, TensorType::q5_k, TensorType::q4_k}},
};

std::string describe(const BlocksCase& c) {
  return std::to_string(c.n_in) + " inputs, " + shown_name(c.types[0]) + " first";
}

class DenseKernels : public Kernels {
 protected:
  void SetUp() override {
    Kernels::SetUp();
    if (!IsSkipped() && backend->block_layout() != Layout::blocks) GTEST_SKIP() << "another layout";
  }

  // Builds that other variants of a software device have too, or nearly; each takes seconds to compile.
  bool others_show_it(bool subgroups_matter) const {
    const Variant& v = GetParam();
    if (!backend->device().software || !v.as_gpu) return false;
    return v.subgroup_size == 0 || v.subgroup_size > 16 || !subgroups_matter;
  }

  // Few tokens have the bits of many, wherever results go.
  void expect_equal_batches(Matrix w, const Quantised& q, uint32_t n) {
    w.bias = put(*backend, normal_floats(w.rows(), rng));
    for (const auto& [kind, act] : {std::pair{Out::Kind::store, Act::relu2},
                                    {Out::Kind::add, Act::relu2},
                                    {Out::Kind::gate, Act::silu},
                                    {Out::Kind::act, Act::gelu}}) {
      SCOPED_TRACE(static_cast<int>(kind));
      const auto many = product(w, q, kind, act, n), few = product(w, q, kind, act, 3),
                 one = product(w, q, kind, act, 1);
      EXPECT_TRUE(std::equal(few.begin(), few.end(), many.begin()));
      EXPECT_TRUE(std::equal(one.begin(), one.end(), many.begin()));
    }
  }
};

// Powers of two as s and scales of the parts keep the last step exact, so that equality shows the integers.
TEST_P(DenseKernels, ProductsEqualTheIntegers) {
  if (others_show_it(true)) GTEST_SKIP() << "others show the same";
  for (const BlocksCase& c : kBlocksCases) {
    const Blocks w =
        random_blocks(*backend, c.n_in, {{c.types[0], 65}, {c.types[1], 32}, {c.types[2], 3}}, rng);
    for (const uint32_t n : {3U, 35U}) {
      SCOPED_TRACE(describe(c) + ", tokens: " + std::to_string(n));
      RoundedRows q = random_rounded_rows(*backend, w.matrix, n, rng);
      q.fused = fuses(*backend);
      const auto found = product(w.matrix, q.device, Out::Kind::store, Act::relu2, n);
      for (uint32_t t = 0; t < n; ++t)
        for (uint32_t row = 0; row < w.matrix.rows(); ++row)
          ASSERT_EQ(found[t * w.matrix.rows() + row], blocks_result(w, row, q, t))
              << "token " << t << " row " << row;
    }
  }
}

TEST_P(DenseKernels, BiasesComeBeforeAllElse) {
  if (others_show_it(false)) GTEST_SKIP() << "others show the same";
  constexpr uint32_t kRows = 70, kTokens = 6;
  Blocks w = random_blocks(*backend, 512, {{TensorType::q4_k, kRows}, {TensorType::q4_k, kRows}}, rng);
  for (Matrix::Part& part : w.matrix.parts) part.scale *= 1e-7F;  // results around 1
  RoundedRows q = random_rounded_rows(*backend, w.matrix, kTokens, rng);
  q.fused = fuses(*backend);
  const std::vector<float> bias = normal_floats(2 * kRows, rng);
  w.matrix.bias = put(*backend, bias);
  const auto wanted = [&](uint32_t t, uint32_t row) {
    return double{blocks_result(w, row, q, t)} + bias[row];
  };
  const auto near = [](double value) { return 2e-6 * (std::abs(value) + 1); };
  const auto added = product(w.matrix, q.device, Out::Kind::add, Act::relu2, kTokens);
  for (uint32_t i = 0; i < kTokens * 2 * kRows; ++i) {
    const double value = 4 + wanted(i / (2 * kRows), i % (2 * kRows));
    ASSERT_NEAR(added[i], value, near(value));
  }
  for (const Act act : {Act::silu, Act::gelu}) {
    const auto all = product(w.matrix, q.device, Out::Kind::act, act, 2),
               gates = product(w.matrix, q.device, Out::Kind::gate, act, kTokens);
    for (uint32_t t = 0; t < kTokens; ++t)
      for (uint32_t row = 0; row < kRows; ++row) {
        const double value = activated_value(wanted(t, row), act), up = wanted(t, kRows + row);
        if (t < 2) {
          ASSERT_NEAR(all[t * 2 * kRows + row], value, near(value)) << wanted(t, row);
        }
        ASSERT_NEAR(gates[t * kRows + row], value * up, near(value * up)) << wanted(t, row);
      }
  }
}

TEST_P(DenseKernels, FewTokensHaveTheBitsOfMany) {
  if (others_show_it(false)) GTEST_SKIP() << "others show the same";
  Blocks w = random_blocks(*backend, 256, {{TensorType::q6_k, 70}, {TensorType::q6_k, 70}}, rng);
  for (Matrix::Part& part : w.matrix.parts) part.scale *= 0.7e-7F;
  expect_equal_batches(w.matrix, random_rounded_rows(*backend, w.matrix, 35, rng).device, 35);
}

TEST_P(DenseKernels, InputsAreRoundedByUnitsAndHaveSumsOf16) {
  if (others_show_it(false)) GTEST_SKIP() << "others show the same";
  constexpr uint32_t kFirst = 1, kRows = 2;
  for (const uint32_t n : {96U, 4096U}) {
    Matrix w;
    w.n_in = n;
    w.layout = Layout::blocks;
    w.input = Input::int8_units;
    std::vector<float> x = normal_floats(size_t{kFirst + kRows} * n, rng), weight = normal_floats(n, rng);
    for (size_t i = 0; i < x.size(); ++i) x[i] *= std::exp2(-static_cast<float>(i / 32 % 7));
    const BufferPtr device_x = put(*backend, x);
    const Norm norm = rms_of(put(*backend, weight), 1e-5F);
    const Quantised q{backend->allocate(kRows * n, BufferUse::device),
                      backend->allocate(kRows * 8, BufferUse::device),
                      nullptr,
                      backend->allocate(kRows * n / 4, BufferUse::device),
                      nullptr,
                      backend->allocate(kRows * n / 8, BufferUse::device)};
    run(*backend, [&](Recorder& r) { r.quantise(w, {*device_x, norm, q, kFirst}, kRows); });
    const auto got = get<int8_t>(*backend, *q.q, kRows * n);
    const auto sums = get<int32_t>(*backend, *q.sums16, kRows * n / 16);
    const auto scales = get<float>(*backend, *q.scales, kRows * n / 32);
    for (uint32_t t = 0; t < kRows; ++t) {
      const auto y = [&](uint32_t i) { return double{x[(kFirst + t) * n + i]} * weight[i]; };
      const auto largest = [&](uint32_t from, uint32_t to) {
        double most = 0;
        for (uint32_t i = from; i < to; ++i) most = std::max(most, std::abs(y(i)));
        return most;
      };
      for (uint32_t i = 0; i < n; ++i) {
        const uint32_t unit = i / 32 * 32;
        const double most = largest(unit, unit + 32);
        ASSERT_NEAR(got[t * n + i], y(i) * 127 / most, 0.501) << n << " inputs, row " << t << " " << i;
        if (i == unit) {
          ASSERT_NEAR(scales[(t * n + i) / 32], most / largest(0, n), 1e-6);
        }
        if (i % 16 == 0) {
          ASSERT_EQ(sums[(t * n + i) / 16], std::accumulate(&got[t * n + i], &got[t * n + i] + 16, 0));
        }
      }
    }
  }
}

// The layers of a token, in one program and step by step: of one kind, and of kinds that are mixed as in
// files of Q4_K_M.
TEST_P(DenseKernels, ATokenHasTheBitsOfItsSteps) {
  const Variant& v = GetParam();
  if (!v.as_gpu || v.dot != IntegerDot::never || v.subgroup_size % 64 != 0)
    if (backend->device().software) GTEST_SKIP() << "others show the same";
  constexpr uint32_t kEmbd = 512, kHeads = 768;
  const uint32_t n_ff = backend->device().software ? 1536 : 9216;  // more rows than workgroups take at once
  const TensorType q8 = TensorType::q8_0, q4 = TensorType::q4_k, q6 = TensorType::q6_k;
  for (const auto& types : {std::pair{q4, q6}, {q8, q8}, {TensorType::q5_0, TensorType::q5_0}}) {
    const TensorType qk = types.first, other = types.second;
    if (v.subgroup_size != 0 && backend->device().software && qk != q4) continue;  // which takes long
    if (qk == TensorType::q5_0 && backend->device().software && backend->device().subgroup_size > 8)
      continue;  // as Q8_0 there
    SCOPED_TRACE(shown_name(qk) + ", " + shown_name(other));
    const auto matrix = [&](uint32_t n_in, const std::vector<std::pair<TensorType, uint32_t>>& of) {
      Blocks b = random_blocks(*backend, n_in, of, rng);
      for (Matrix::Part& part : b.matrix.parts) part.scale *= 0.37F;
      if (qk == q8)
        b.matrix.rotation = {256, nullptr};  // which is a stage in front of each product of blocks
      return b;
    };
    const Blocks into = matrix(kEmbd, {{qk, 501}, {qk, 199}, {other, 68}}),
                 out = matrix(kHeads, {{qk, kEmbd}}), gate_up = matrix(kEmbd, {{qk, n_ff}, {qk, n_ff}}),
                 down = matrix(n_ff, {{other, kEmbd}});
    const Norm norm = rms_of(put(*backend, normal_floats(kEmbd, rng)), 1e-5F), none;
    Quantised q{backend->allocate(n_ff, BufferUse::device),
                backend->allocate(8, BufferUse::device),
                nullptr,
                backend->allocate(n_ff / 4, BufferUse::device),
                nullptr,
                backend->allocate(n_ff / 8, BufferUse::device)};
    q.turned = backend->allocate(n_ff * sizeof(float), BufferUse::device);
    const std::vector<float> start = normal_floats(kEmbd, rng);
    const auto token = [&](bool steps) {
      const BufferPtr x = put(*backend, start), o = put(*backend, std::vector<float>(kHeads)),
                      h = put(*backend, std::vector<float>(n_ff));
      run(*backend, [&](Recorder& r) {
        const auto linear = [&](const Blocks& w, const BufferPtr& from, const Norm& n, const Out& to) {
          const In in{*from, n, q};
          if (steps) r.Recorder::linear(w.matrix, in, to, 1);
          if (!steps) r.linear(w.matrix, in, to, 1);
        };
        for (int layer = 0; layer < 3; ++layer) {
          linear(into, x, norm, store(*o));
          linear(out, o, none, add(*x));
          linear(gate_up, x, norm, gate(*h, Act::silu));
          linear(down, h, none, add(*x));
        }
      });
      return get<float>(*backend, *x, kEmbd);
    };
    EXPECT_EQ(token(false), token(true));
  }
}

class FloatKernels : public DenseKernels {
 protected:
  void SetUp() override {
    DenseKernels::SetUp();
    const Variant& v = GetParam();
    if (IsSkipped() || !backend->device().software) return;
    if (v.dot != IntegerDot::never || v.subgroup_size > 16) GTEST_SKIP() << "others show the same";
  }

  Matrix matrix_of(TensorType type, uint32_t n_in, const std::vector<uint32_t>& rows) {
    Matrix w;
    w.n_in = n_in;
    w.layout = Layout::floats;
    w.input = Input::float_row;
    values.clear();
    for (size_t i = 0; i < rows.size(); ++i) {
      const FileType& t = *find_file_type(type);
      std::vector<std::byte> bytes(rows[i] * t.row_bytes(n_in));
      for (size_t at = 0; at < bytes.size(); at += t.block_bytes) {  // 2^-15 to 2^-2, of both signs
        const bool half = type == TensorType::f16;
        const uint32_t bits = half ? (rng() & 0x83FF) | (1 + rng() % 13) << 10
                                   : (rng() & 0x807FFFFF) | (112 + rng() % 13) << 23;
        std::memcpy(&bytes[at],
                    reinterpret_cast<const std::byte*>(&bits) + (t.block_bytes == 2 && !half ? 2 : 0),
                    t.block_bytes);
      }
      values.resize(values.size() + size_t{rows[i]} * n_in);
      float* to = &values[values.size() - size_t{rows[i]} * n_in];
      for (size_t r = 0; r < rows[i]; ++r)
        row_floats(type, &bytes[r * t.row_bytes(n_in)], n_in, to + r * n_in);
      w.parts[i] = {rows[i], 1.0F + static_cast<float>(i), type, 0, put(*backend, bytes), nullptr};
      for (float& v : std::span(to, size_t{rows[i]} * n_in)) v *= w.parts[i].scale;
    }
    return w;
  }
  std::vector<float> values;  // of the matrix that was made last, with its scales, [rows][n_in]
};

TEST_P(FloatKernels, ProductsAreThoseOfTheirFloats) {
  for (const auto& [type, n_in] :
       {std::pair{TensorType::f32, 200U}, {TensorType::f16, 1088U}, {TensorType::bf16, 64U}}) {
    const Matrix w = matrix_of(type, n_in, {65, 32, 3});
    const std::vector<float> x = normal_floats(size_t{19} * n_in, rng);
    const Quantised q{nullptr, nullptr, nullptr, nullptr, put(*backend, x)};
    const auto found = product(w, q, Out::Kind::store, Act::relu2, 19);
    for (uint32_t t = 0; t < 19; ++t)
      for (uint32_t row = 0; row < 100; ++row) {
        double wanted = 0, size = 0;
        for (uint32_t i = 0; i < n_in; ++i) {
          const double value = double{values[row * n_in + i]} * x[t * n_in + i];
          wanted += value;
          size += std::abs(value);
        }
        ASSERT_NEAR(found[t * 100 + row], wanted, 1e-6 * size) << shown_name(type) << " " << t << " " << row;
      }
  }
}

TEST_P(FloatKernels, FewTokensHaveTheBitsOfMany) {
  const Matrix w = matrix_of(TensorType::f16, 1088, {70, 70});
  const Quantised q{nullptr, nullptr, nullptr, nullptr, put(*backend, normal_floats(size_t{19} * 1088, rng))};
  expect_equal_batches(w, q, 19);
}

// The input is the normed vector, or the vector as it is.
TEST_P(FloatKernels, InputsAreNotRounded) {
  constexpr uint32_t kIn = 192, kFirst = 2;
  const Matrix w = matrix_of(TensorType::f32, kIn, {33});
  const std::vector<float> x = normal_floats((kFirst + 3) * kIn, rng), weight = normal_floats(kIn, rng);
  const BufferPtr device_x = put(*backend, x);
  for (const Norm& norm : {Norm{}, rms_of(put(*backend, weight), 1e-5F)})
    for (const uint32_t first : {0U, kFirst}) {
      const Quantised q{nullptr, nullptr, nullptr, nullptr,
                        backend->allocate(3 * kIn * 4, BufferUse::device)};
      const BufferPtr y = put(*backend, std::vector<float>(3 * 33));
      run(*backend, [&](Recorder& r) { r.linear(w, {*device_x, norm, q, first}, store(*y), 3); });
      const auto found = get<float>(*backend, *y, 3 * 33);
      for (uint32_t t = 0; t < 3; ++t) {
        const float* row = &x[(first + t) * kIn];
        double squares = 0;
        for (uint32_t i = 0; i < kIn; ++i) squares += double{row[i]} * row[i];
        const double inverse = norm ? 1 / std::sqrt(squares / kIn + 1e-5) : 1;
        for (uint32_t r = 0; r < 33; ++r) {
          double wanted = 0;
          for (uint32_t i = 0; i < kIn; ++i)
            wanted += values[r * kIn + i] * (row[i] * inverse * (norm ? weight[i] : 1.0F));
          ASSERT_NEAR(found[t * 33 + r], wanted, 1e-5) << t << " " << r;
        }
      }
    }
}

INSTANTIATE_TEST_SUITE_P(On, DenseKernels, testing::ValuesIn(kernel_variants()),
                         [](const auto& info) { return info.param.name; });
INSTANTIATE_TEST_SUITE_P(On, FloatKernels, testing::ValuesIn(kernel_variants()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace bitnet
