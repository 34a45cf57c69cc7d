// Compares each kernel with plain C++ on the same numbers: integers and F16 roundings must be equal, the rest
// may differ by what f32 sums allow. This runs on the first Vulkan device, with and without the integer dot
// product and with subgroups of every size, and on the CPU with the kernels of every instruction set it has.
#include "tests/engine/kernels.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "engine/cpu/kernels.h"

namespace bitnet {
namespace {

struct QuantisedRows {
  std::vector<int8_t> q;
  std::vector<float> s;
  std::vector<int32_t> sum;
  Quantised device;
};

QuantisedRows random_rows(Backend& b, uint32_t n, uint32_t features, std::mt19937& rng) {
  QuantisedRows rows;
  rows.q.resize(size_t{n} * features);
  for (int8_t& v : rows.q) v = static_cast<int8_t>(static_cast<int>(rng() % 256) - 128);
  std::vector<uint32_t> info;
  for (uint32_t t = 0; t < n; ++t) {
    rows.s.push_back(0.25F * static_cast<float>(t + 1));
    rows.sum.push_back(0);
    for (uint32_t i = 0; i < features; ++i) rows.sum[t] += rows.q[size_t{t} * features + i];
    info.push_back(std::bit_cast<uint32_t>(rows.s[t]));
    info.push_back(static_cast<uint32_t>(rows.sum[t]));
  }
  rows.device = {put(b, rows.q), put(b, info), nullptr};
  return rows;
}

int32_t exact_dot(const Ternary& t, uint32_t row, const QuantisedRows& rows, uint32_t token) {
  int32_t sum = 0;
  for (uint32_t i = 0; i < t.matrix.n_in; ++i)
    sum += t.weights[size_t{row} * t.matrix.n_in + i] * rows.q[size_t{token} * t.matrix.n_in + i];
  return sum;
}

INSTANTIATE_TEST_SUITE_P(On, Kernels, testing::ValuesIn(kernel_variants()),
                         [](const auto& info) { return info.param.name; });

// Powers of two as scales and s keep the last step exact, so that equality shows the integers themselves.
TEST_P(Kernels, TernaryProductsEqualTheIntegers) {
  for (const auto& [n_in, rows] :
       {std::pair{128U, 128U}, {384U, 200U}, {896U, 65U}, {2560U, 130U}, {6912U, 64U}})
    for (const uint32_t n : {1U, 3U, 5U, 33U, 70U}) {
      const Ternary w = random_ternary(*backend, n_in, {{rows, 1.0F}, {rows / 2, 2.0F}, {3, 0.5F}}, rng);
      QuantisedRows q = random_rows(*backend, n, n_in, rng);
      const uint32_t n_out = w.matrix.rows();
      const BufferPtr y = put(*backend, std::vector<float>(size_t{n} * n_out, -1.0F));
      const BufferPtr added = put(*backend, std::vector<float>(size_t{n} * n_out, 4.0F));
      run(*backend, [&](Recorder& r) {
        r.product(w.matrix, q.device, store(*y), n);
        r.product(w.matrix, q.device, add(*added), n);
      });
      const auto got = get<float>(*backend, *y, size_t{n} * n_out);
      const auto got_added = get<float>(*backend, *added, size_t{n} * n_out);
      for (uint32_t t = 0; t < n; ++t)
        for (uint32_t row = 0; row < n_out; ++row) {
          const float scale = row < rows ? 1.0F : row < rows + rows / 2 ? 2.0F : 0.5F;
          const float wanted = static_cast<float>(exact_dot(w, row, q, t)) * (scale / q.s[t]);
          const size_t at = size_t{t} * n_out + row;
          if (q.s[t] == std::exp2(std::round(std::log2(q.s[t])))) {
            ASSERT_EQ(got[at], wanted) << n_in << "x" << n_out << " token " << t << " row " << row;
            ASSERT_EQ(got_added[at], 4.0F + wanted);
          } else {
            ASSERT_FLOAT_EQ(got[at], wanted) << n_in << "x" << n_out << " token " << t << " row " << row;
          }
        }
    }
}

TEST_P(Kernels, GateUpIsReluSquaredTimesUp) {
  for (const uint32_t n : {1U, 4U, 40U}) {
    const uint32_t n_in = 256, n_ff = 384;
    const Ternary w = random_ternary(*backend, n_in, {{n_ff, 0.5F}, {n_ff, 0.25F}}, rng);
    QuantisedRows q = random_rows(*backend, n, n_in, rng);
    const BufferPtr y = backend->allocate(size_t{n} * n_ff * sizeof(float), BufferUse::device);
    run(*backend, [&](Recorder& r) { r.product(w.matrix, q.device, gate(*y, Act::relu2), n); });
    const auto got = get<float>(*backend, *y, size_t{n} * n_ff);
    for (uint32_t t = 0; t < n; ++t)
      for (uint32_t row = 0; row < n_ff; ++row) {
        const double gate = std::max(0.0, exact_dot(w, row, q, t) * 0.5 / q.s[t]);
        const double wanted = gate * gate * (exact_dot(w, n_ff + row, q, t) * 0.25 / q.s[t]);
        ASSERT_NEAR(got[size_t{t} * n_ff + row], wanted, std::abs(wanted) * 1e-6);
      }
  }
}

TEST_P(Kernels, NormQuantisesLikeTheFormula) {
  std::normal_distribution<float> normal;
  for (const uint32_t n : {128U, 384U, 6912U}) {
    const uint32_t rows = 4;
    std::vector<float> x(size_t{rows} * n), weight(n);
    for (float& v : x) v = normal(rng);
    for (size_t i = size_t{3} * n; i < x.size(); ++i)
      x[i] *= 1e-9F;  // of which the norm makes less than 1e-5
    for (float& v : weight) v = 1 + 0.1F * normal(rng);
    std::fill_n(x.begin() + 2 * n, n, 0.0F);  // a row of zeros must not divide by zero
    const BufferPtr device_x = put(*backend, x);
    const Norm norm = rms_of(put(*backend, weight), 1e-5F);
    Matrix shape;
    shape.n_in = n;
    Quantised q{backend->allocate(size_t{rows} * n, BufferUse::device),
                backend->allocate(rows * 8, BufferUse::device), nullptr};
    const BufferPtr y = backend->allocate(size_t{2} * n * sizeof(float), BufferUse::device);
    run(*backend, [&](Recorder& r) {
      r.quantise(shape, {*device_x, norm, q}, rows);
      r.norm(*device_x, 1, norm, n, *y, 2);
    });
    const auto got = get<int8_t>(*backend, *q.q, size_t{rows} * n);
    const auto info = get<uint32_t>(*backend, *q.info, size_t{2} * rows);
    const auto normed = get<float>(*backend, *y, size_t{2} * n);
    for (uint32_t t = 0; t < rows; ++t) {
      double squares = 0, largest = 0;
      for (uint32_t i = 0; i < n; ++i) squares += double{x[size_t{t} * n + i]} * x[size_t{t} * n + i];
      const double inverse = 1 / std::sqrt(squares / n + 1e-5);
      for (uint32_t i = 0; i < n; ++i)
        largest = std::max(largest, std::abs(x[size_t{t} * n + i] * inverse * weight[i]));
      const double s = 127 / std::max(1e-30, largest);
      int32_t sum = 0;
      for (uint32_t i = 0; i < n; ++i) {
        const double exact = x[size_t{t} * n + i] * inverse * weight[i] * s;
        const int8_t value = got[size_t{t} * n + i];
        sum += value;
        // The rounding may go the other way only where f32 cannot tell on which side of the tie the value is.
        ASSERT_LE(std::abs(value - exact), 0.5 + 1e-3) << n << " row " << t << " feature " << i;
        if (t == 1 || t == 2) {
          ASSERT_NEAR(normed[size_t{t - 1} * n + i], exact / s, 1e-5);
        }
      }
      EXPECT_NEAR(std::bit_cast<float>(info[2 * t]), s, s * 1e-5);
      EXPECT_EQ(static_cast<int32_t>(info[2 * t + 1]), sum);
    }
  }
}

// Keys are rotated on their way into the cache, values are not, and both are rounded half to even. Without a
// rotation (cos 1, sin 0) the rounding alone is seen.
TEST_P(Kernels, CacheRoundsHalfToEven) {
  const AttentionShape shape{1, 1, 8, 8};
  const std::vector<float> values = {1.0F,
                                     1.00048828125F /* tie, down */,
                                     1.00146484375F /* tie, up */,
                                     65504.0F,
                                     65520.0F /* to infinity */,
                                     5.9604645e-8F /* smallest */,
                                     2.9802322e-8F /* tie to 0 */,
                                     -6.097555e-5F /* largest subnormal */};
  std::vector<float> qkv(24, 0.5F);
  std::copy(values.begin(), values.end(), qkv.begin() + 8);
  std::copy(values.begin(), values.end(), qkv.begin() + 16);
  std::vector<float> rotation;
  for (int i = 0; i < 4 * 4; ++i) rotation.insert(rotation.end(), {1.0F, 0.0F});
  const BufferPtr device_qkv = put(*backend, qkv), table = put(*backend, rotation);
  const BufferPtr k = put(*backend, std::vector<uint16_t>(32)), v = put(*backend, std::vector<uint16_t>(32));
  run(
      *backend, [&](Recorder& r) { r.rope_store_kv(*device_qkv, {}, *table, *k, *v, shape, 1); }, 2);
  const std::vector<uint16_t> wanted = {0x3C00, 0x3C00, 0x3C02, 0x7BFF, 0x7C00, 0x0001, 0x0000, 0x83FF};
  for (const auto& cache : {get<uint16_t>(*backend, *k, 32), get<uint16_t>(*backend, *v, 32)}) {
    EXPECT_EQ(std::vector<uint16_t>(cache.begin() + 16, cache.begin() + 24), wanted);
    EXPECT_TRUE(std::all_of(cache.begin(), cache.begin() + 16, [](uint16_t h) { return h == 0; }));
  }
}

// A batch of tokens follows a few cached ones. It needs rotation, grouped heads, causality and several chunks
// of keys.
TEST_P(Kernels, AttentionEqualsTheSoftmax) {
  std::normal_distribution<float> normal;
  for (const AttentionShape& shape : {AttentionShape{4, 2, 64, 64}, AttentionShape{5, 1, 128, 128},
                                      AttentionShape{2, 2, 80, 48}, AttentionShape{2, 1, 256, 256}}) {
    const uint32_t n_ctx = 300, n = 280, pairs = shape.head_dim / 2;
    const size_t width = (shape.n_head + 2 * shape.n_head_kv) * shape.head_dim;
    std::vector<float> qkv(n * width), rotation;
    for (float& x : qkv) x = normal(rng);
    for (uint32_t p = 0; p < n_ctx; ++p)
      for (uint32_t i = 0; i < shape.rope_dim / 2; ++i) {
        const double angle = p * std::pow(10000.0, -2.0 * i / shape.rope_dim);
        rotation.push_back(static_cast<float>(std::cos(angle)));
        rotation.push_back(static_cast<float>(std::sin(angle)));
      }
    const BufferPtr device_qkv = put(*backend, qkv), table = put(*backend, rotation);
    const size_t row = shape.n_head_kv * shape.head_dim;
    const BufferPtr k = put(*backend, std::vector<uint16_t>(n_ctx * row));
    const BufferPtr v = put(*backend, std::vector<uint16_t>(n_ctx * row));
    const BufferPtr o =
        backend->allocate(size_t{n} * shape.n_head * shape.head_dim * sizeof(float), BufferUse::device);
    run(*backend, [&](Recorder& r) {
      r.rope_store_kv(*device_qkv, {}, *table, *k, *v, shape, n);
      r.attention(*device_qkv, *k, *v, *o, shape, n);
    });
    const auto got = get<float>(*backend, *o, size_t{n} * shape.n_head * shape.head_dim);
    const auto keys = get<uint16_t>(*backend, *k, n_ctx * row),
               values = get<uint16_t>(*backend, *v, n_ctx * row);

    const auto rotated = [&](uint32_t t, uint32_t head, uint32_t i) -> double {
      const float* x = &qkv[t * width + head * shape.head_dim];
      const uint32_t half = shape.rope_dim / 2;
      if (i >= shape.rope_dim) return x[i];
      const double c = rotation[2 * (t * half + i % half)], s = rotation[2 * (t * half + i % half) + 1];
      return i < half ? x[i] * c - x[i + half] * s : x[i] * c + x[i - half] * s;
    };
    for (const uint32_t t : {0U, 1U, 127U, 128U, 279U})
      for (uint32_t head = 0; head < shape.n_head; ++head) {
        const uint32_t kv = head / (shape.n_head / shape.n_head_kv);
        for (uint32_t i = 0; i < shape.head_dim; ++i)
          ASSERT_NEAR(from_half(keys[t * row + kv * shape.head_dim + i]), rotated(t, shape.n_head + kv, i),
                      4e-3);
        std::vector<double> weights(t + 1), wanted(shape.head_dim, 0.0);
        double total = 0;
        for (uint32_t key = 0; key <= t; ++key) {
          double score = 0;
          for (uint32_t i = 0; i < shape.head_dim; ++i)
            score += rotated(t, head, i) * from_half(keys[key * row + kv * shape.head_dim + i]);
          total += weights[key] = std::exp(score / std::sqrt(double(shape.head_dim)));
        }
        for (uint32_t key = 0; key <= t; ++key)
          for (uint32_t i = 0; i < shape.head_dim; ++i)
            wanted[i] += weights[key] / total * from_half(values[key * row + kv * shape.head_dim + i]);
        for (uint32_t i = 0; i < shape.head_dim; ++i)
          ASSERT_NEAR(got[(size_t{t} * shape.n_head + head) * shape.head_dim + i], wanted[i], 1e-4)
              << "head size " << 2 * pairs << " token " << t << " head " << head << " feature " << i;
      }
  }
}

// The table is in three chunks, as a device with a small binding range needs it; its rows are F16 or F32.
TEST_P(Kernels, EmbeddingAndHeadWorkInChunks) {
  const uint32_t n_vocab = 1000, n_embd = 384;
  for (const bool f32 : {false, true}) {
    std::vector<uint16_t> halves(size_t{n_vocab} * n_embd);
    std::vector<float> floats;
    for (uint16_t& h : halves) h = static_cast<uint16_t>((rng() & 0x8000) | (0x3000 + rng() % 0x0C00));
    for (uint16_t h : halves) floats.push_back(from_half(h));
    Table e;
    e.n_vocab = n_vocab;
    e.n_embd = n_embd;
    e.type = f32 ? TensorType::f32 : TensorType::f16;
    for (const auto& [begin, rows] : {std::pair{0U, 400U}, {400U, 599U}, {999U, 1U}}) {
      const size_t first = size_t{begin} * n_embd, count = size_t{rows} * n_embd;
      e.chunks.push_back(
          {begin, rows,
           f32 ? put(*backend, std::vector<float>(floats.begin() + first, floats.begin() + first + count))
               : put(*backend, std::vector<uint16_t>(halves.begin() + first, halves.begin() + first + count)),
           nullptr});
    }
    const std::vector<int32_t> tokens = {0, 399, 400, 998, 999};
    const auto n = static_cast<uint32_t>(tokens.size());
    const BufferPtr x = backend->allocate(size_t{n} * n_embd * sizeof(float), BufferUse::device);
    const BufferPtr logits = backend->allocate(size_t{n} * n_vocab * sizeof(float), BufferUse::device);
    run(
        *backend,
        [&](Recorder& r) {
          r.embed(e, {}, *x, n);
          r.head(e, *x, *logits, n);
        },
        0, tokens);
    const auto got = get<float>(*backend, *x, size_t{n} * n_embd);
    const auto got_logits = get<float>(*backend, *logits, size_t{n} * n_vocab);
    for (uint32_t t = 0; t < n; ++t) {
      for (uint32_t i = 0; i < n_embd; ++i)
        ASSERT_EQ(got[size_t{t} * n_embd + i], floats[size_t(tokens[t]) * n_embd + i]);
      for (uint32_t row = 0; row < n_vocab; ++row) {
        double wanted = 0;
        for (uint32_t i = 0; i < n_embd; ++i)
          wanted += double{floats[size_t(tokens[t]) * n_embd + i]} * floats[size_t{row} * n_embd + i];
        ASSERT_NEAR(got_logits[size_t{t} * n_vocab + row], wanted, 1e-3) << "row " << row;
      }
    }
  }
}

}  // namespace
}  // namespace bitnet
