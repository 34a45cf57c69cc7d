// Tests the attention of dense families: windows, scales of their own, wide heads, heads without RoPE, values
// that are normed, that are the keys as they come, or that lie in the cache of another layer.
#include <cmath>

#include "tests/engine/kernels.h"

namespace bitnet {
namespace {

struct Case {
  const char* name;
  AttentionShape shape;
  bool q_norm, k_norm, v_norm;  // q's and k's have weights
};

constexpr AttentionRows kQkv = AttentionRows::qkv, kQk = AttentionRows::qk, kQ = AttentionRows::q;
const Case kAttentionCases[] = {{"window", {4, 2, 64, 64, 0, 40, kQkv}, false, false, false},
                                {"global layer of gemma4", {4, 1, 512, 128, 1, 0, kQk}, true, true, true},
                                {"local layer of gemma4", {2, 1, 256, 256, 1, 100, kQkv}, true, true, true},
                                {"shared keys", {2, 1, 128, 128, 0.5F, 64, kQ}, true, false, false},
                                {"no rope", {3, 3, 64, 0, 0, 0, kQkv}, false, false, false},
                                // of which a GPU has too many to give each chunk of keys a workgroup
                                {"many heads", {66, 66, 16, 16, 0, 150, kQkv}, false, false, false}};

class AttentionLayer {
 public:
  AttentionLayer(Backend& backend, const Case& c, uint32_t n_tokens, std::mt19937& rng)
      : b(backend), s(c.shape), n(n_tokens) {
    std::normal_distribution<float> normal;
    qkv.resize(size_t{n} * width());
    for (float& v : qkv) v = normal(rng);
    const auto norm = [&](std::vector<float>& weight, bool weighted) {
      weight.assign(s.head_dim, 1.0F);
      if (weighted)
        for (float& v : weight) v = 0.5F + 0.1F * normal(rng);
      return Norm{Norm::Kind::rms, weighted ? put(b, weight) : nullptr, nullptr, 1e-6F};
    };
    if (c.q_norm) input.q_norm = norm(q_weight, true);
    if (c.k_norm) input.k_norm = norm(k_weight, true);
    if (c.v_norm) input.v_norm = norm(v_weight, false);
    for (uint32_t p = 0; p < n; ++p)
      for (uint32_t i = 0; i < s.rope_dim / 2; ++i) {
        const double angle = p * std::pow(10000.0, -2.0 * i / s.rope_dim);
        turns.push_back(static_cast<float>(std::cos(angle)));
        turns.push_back(static_cast<float>(std::sin(angle)));
      }
    turns.resize(std::max<size_t>(turns.size(), 2));
    rotation = put(b, turns);
    cached.resize(size_t{n} * row());
    for (uint16_t& h : cached) h = static_cast<uint16_t>((rng() & 0x8000) | (0x3000 + rng() % 0x0C00));
  }

  size_t width() const { return size_t{s.row_heads()} * s.head_dim; }
  size_t row() const { return size_t{s.n_head_kv} * s.head_dim; }
  size_t out() const { return size_t{s.n_head} * s.head_dim; }

  // A cache that has `rows` rows, of which layers that share keys find those of another layer.
  BufferPtr cache(uint32_t rows) const {
    const bool shared = s.rows == AttentionRows::q;
    return put(b, shared ? std::vector<uint16_t>(cached.begin(), cached.begin() + ptrdiff_t(rows * row()))
                         : std::vector<uint16_t>(rows * row(), 0x7E00));  // NaN where nothing was stored
  }

  // What attention gives for the tokens from `first` on, which are at the positions of the same number.
  std::vector<float> attend(const Buffer& k, const Buffer& v, uint32_t first, uint32_t count) const {
    const BufferPtr rows = put(b, std::vector<float>(qkv.begin() + ptrdiff_t(first * width()),
                                                     qkv.begin() + ptrdiff_t((first + count) * width())));
    const BufferPtr o = put(b, std::vector<float>(count * out()));
    const uint32_t chunks = (n + kAttentionChunk - 1) / kAttentionChunk;
    const AttentionScratch scratch{put(b, std::vector<float>(s.n_head * chunks * (2 + s.head_dim)))};
    run(
        b, [&](Recorder& r) { r.self_attention(*rows, input, *rotation, k, v, scratch, *o, s, count); },
        first);
    return get<float>(b, *o, count * out());
  }

  // Head `head` of a row of qkv before attention, as a q, a k or a v.
  std::vector<double> head(uint32_t t, uint32_t head, char as) const {
    const size_t at = t * width() + size_t{head} * s.head_dim;
    std::vector<double> x(qkv.begin() + ptrdiff_t(at), qkv.begin() + ptrdiff_t(at + s.head_dim));
    const Norm& norm = as == 'q' ? input.q_norm : as == 'k' ? input.k_norm : input.v_norm;
    const std::vector<float>& weight = as == 'q' ? q_weight : as == 'k' ? k_weight : v_weight;
    if (norm) {
      double squares = 0;
      for (const double v : x) squares += v * v;
      for (uint32_t i = 0; i < s.head_dim; ++i)
        x[i] *= weight[i] / std::sqrt(squares / s.head_dim + double{norm.epsilon});
    }
    for (uint32_t i = 0; as != 'v' && i < s.rope_dim / 2; ++i) {
      const float* turn = &turns[size_t{t} * s.rope_dim + 2 * i];
      const double low = x[i], high = x[i + s.rope_dim / 2];
      x[i] = low * turn[0] - high * turn[1];
      x[i + s.rope_dim / 2] = high * turn[0] + low * turn[1];
    }
    return x;
  }

  // Attention of head h of token t over these keys and values.
  std::vector<double> wanted(const std::vector<uint16_t>& keys, const std::vector<uint16_t>& values,
                             uint32_t t, uint32_t h) const {
    const size_t kv = h / (s.n_head / s.n_head_kv) * size_t{s.head_dim};
    const double scale = s.scale != 0 ? s.scale : 1 / std::sqrt(double(s.head_dim));
    const std::vector<double> q = head(t, h, 'q');
    std::vector<double> sum(s.head_dim);
    double total = 0;
    for (uint32_t p = s.window == 0 || t < s.window ? 0 : t + 1 - s.window; p <= t; ++p) {
      double score = 0;
      for (uint32_t i = 0; i < s.head_dim; ++i) score += q[i] * from_half(keys[p * row() + kv + i]);
      const double weight = std::exp(score * scale);
      total += weight;
      for (uint32_t i = 0; i < s.head_dim; ++i) sum[i] += weight * from_half(values[p * row() + kv + i]);
    }
    for (double& v : sum) v /= total;
    return sum;
  }

  Backend& b;
  const AttentionShape s;
  const uint32_t n;
  std::vector<float> qkv, q_weight, k_weight, v_weight, turns;
  std::vector<uint16_t> cached;
  AttentionInput input;
  BufferPtr rotation;
};

// A software device compiles these kernels for seconds, and few of its variants have kernels of their own.
std::vector<Case> attention_cases_of(const Variant& variant, bool software) {
  if (!software || !variant.cpu_kernels.empty())
    return {std::begin(kAttentionCases), std::end(kAttentionCases)};
  if (variant.emulate_matrices) return {kAttentionCases[0], kAttentionCases[5]};
  if (variant.subgroup_size != 0 || variant.dot != IntegerDot::never) return {};
  if (variant.as_gpu) return {kAttentionCases[0], kAttentionCases[1], kAttentionCases[5]};
  return {std::begin(kAttentionCases), std::begin(kAttentionCases) + 5};
}

class DenseAttention : public Kernels {
 protected:
  void SetUp() override {
    Kernels::SetUp();
    if (!IsSkipped()) cases = attention_cases_of(GetParam(), backend->device().software);
    if (!IsSkipped() && cases.empty()) GTEST_SKIP() << "it is the same kernel";
  }
  std::vector<Case> cases;
};
INSTANTIATE_TEST_SUITE_P(On, DenseAttention, testing::ValuesIn(kernel_variants()),
                         [](const auto& info) { return info.param.name; });

TEST_P(DenseAttention, IsTheSoftmaxOfWhatATokenSees) {
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    const uint32_t n = 180;
    const AttentionLayer layer(*backend, c, n, rng);
    const AttentionShape& s = c.shape;
    const BufferPtr k = layer.cache(n), v = layer.cache(n);
    const auto found = layer.attend(*k, *v, 0, n);
    const auto keys = get<uint16_t>(*backend, *k, n * layer.row()),
               values = get<uint16_t>(*backend, *v, n * layer.row());
    for (const uint32_t t : {0U, 1U, 63U, 64U, 99U, 100U, 179U}) {
      for (uint32_t kv = 0; kv < s.n_head_kv && s.rows != kQ; ++kv) {
        const auto key = layer.head(t, s.n_head + kv, 'k');
        const auto value = layer.head(t, s.n_head + kv + (s.rows == kQkv ? s.n_head_kv : 0), 'v');
        for (uint32_t i = 0; i < s.head_dim; ++i) {
          const size_t at = t * layer.row() + kv * s.head_dim + i;
          ASSERT_NEAR(from_half(keys[at]), key[i], 4e-3) << "token " << t << " key " << i;
          ASSERT_NEAR(from_half(values[at]), value[i], 4e-3) << "token " << t << " value " << i;
        }
      }
      for (uint32_t h = 0; h < s.n_head; ++h) {
        const auto wanted = layer.wanted(keys, values, t, h);
        for (uint32_t i = 0; i < s.head_dim; ++i)
          ASSERT_NEAR(found[t * layer.out() + h * s.head_dim + i], wanted[i], 1e-4)
              << "token " << t << " head " << h << " feature " << i;
      }
    }
  }
}

// Keys and values that a token does not see are NaN when it comes alone, so that it would show if they were
// read.
TEST_P(DenseAttention, OfOneTokenHasTheBitsOfABatch) {
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    const uint32_t n = 180, window = c.shape.window;
    const AttentionLayer layer(*backend, c, n, rng);
    const BufferPtr k = layer.cache(n), v = layer.cache(n);
    const auto wanted = layer.attend(*k, *v, 0, n);
    const auto keys = get<uint16_t>(*backend, *k, n * layer.row()),
               values = get<uint16_t>(*backend, *v, n * layer.row());
    for (const uint32_t t : {0U, 1U, 39U, 40U, 63U, 64U, 127U, 163U, 179U}) {
      const bool shared = c.shape.rows == kQ;
      const size_t first = window == 0 || t < window ? 0 : t + 1 - window;
      auto seen_keys = keys, seen_values = values;
      for (auto* seen : {&seen_keys, &seen_values}) {
        std::fill(seen->begin(), seen->begin() + ptrdiff_t(first * layer.row()), uint16_t{0x7E00});
        std::fill(seen->begin() + ptrdiff_t((t + (shared ? 1 : 0)) * layer.row()), seen->end(), 0x7E00);
      }
      const BufferPtr one_k = put(*backend, seen_keys), one_v = put(*backend, seen_values);
      const auto found = layer.attend(*one_k, *one_v, t, 1);
      EXPECT_TRUE(std::equal(found.begin(), found.end(), wanted.begin() + ptrdiff_t(t * layer.out())))
          << "token " << t;
      const auto new_keys = get<uint16_t>(*backend, *one_k, n * layer.row()),
                 new_values = get<uint16_t>(*backend, *one_v, n * layer.row());
      const auto begin = ptrdiff_t(t * layer.row()), end = ptrdiff_t((t + 1) * layer.row());
      EXPECT_TRUE(std::equal(new_keys.begin() + begin, new_keys.begin() + end, keys.begin() + begin));
      EXPECT_TRUE(std::equal(new_values.begin() + begin, new_values.begin() + end, values.begin() + begin));
    }
  }
}

// A cache with room for the window and a batch is used as a ring, with the bits of one that keeps everything.
TEST_P(DenseAttention, OfARingHasTheBitsOfAWholeCache) {
  for (const Case& c : cases) {
    if (c.shape.window == 0 || c.shape.rows == kQ) continue;
    SCOPED_TRACE(c.name);
    const uint32_t n = 182, batch = 30, rows = c.shape.window + batch - 1;
    const AttentionLayer layer(*backend, c, n, rng);
    const BufferPtr k = layer.cache(n), v = layer.cache(n), ring_k = layer.cache(rows),
                    ring_v = layer.cache(rows);
    for (uint32_t first = 0, some = 0; first < n; first += some) {  // and the last two tokens alone
      some = first + batch <= n ? batch : 1;
      EXPECT_EQ(layer.attend(*k, *v, first, some), layer.attend(*ring_k, *ring_v, first, some))
          << "from token " << first;
    }
  }
}

}  // namespace
}  // namespace bitnet
