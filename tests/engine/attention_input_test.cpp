// Tests what happens to q, k and v before RoPE: the bias and the norms of heads.
#include <cmath>

#include "tests/engine/kernels.h"

namespace bitnet {
namespace {

enum Has : unsigned { kBias = 1, kQNorm = 2, kKNorm = 4 };

struct InputCase {
  AttentionShape shape;
  unsigned has;
};

const InputCase kCases[] = {{{5, 1, 64, 64}, kBias},
                            {{4, 2, 96, 96}, kQNorm | kKNorm},
                            {{6, 2, 128, 128}, kBias | kQNorm | kKNorm},
                            {{2, 1, 80, 48}, kBias | kQNorm},
                            {{2, 2, 256, 256}, kKNorm}};

class AttentionInputs {
 public:
  AttentionInputs(Backend& b, const InputCase& c, std::mt19937& rng) {
    std::normal_distribution<float> normal;
    const uint32_t dim = c.shape.head_dim;
    bias.resize((c.shape.n_head + 2 * c.shape.n_head_kv) * dim);
    q.assign(dim, 1.0F);
    k.assign(dim, 1.0F);
    if (c.has & kBias) {
      for (float& v : bias) v = normal(rng);
      device.bias = put(b, bias);
    }
    if (c.has & kQNorm) {
      for (float& v : q) v = 1 + 0.2F * normal(rng);
      device.q_norm = {put(b, q), 1e-2F};
    }
    if (c.has & kKNorm) {
      for (float& v : k) v = 1 + 0.2F * normal(rng);
      device.k_norm = {put(b, k), 1e-6F};
    }
  }

  std::vector<float> bias, q, k;
  AttentionInput device;
};

std::vector<float> floats(size_t n, std::mt19937& rng, float size = 1) {
  std::normal_distribution<float> normal(0, size);
  std::vector<float> values(n);
  for (float& v : values) v = normal(rng);
  return values;
}

std::vector<float> rotations(const AttentionShape& shape, uint32_t n_ctx) {
  std::vector<float> table;
  for (uint32_t p = 0; p < n_ctx; ++p)
    for (uint32_t i = 0; i < shape.rope_dim / 2; ++i) {
      const double angle = p * std::pow(10000.0, -2.0 * i / shape.rope_dim);
      table.push_back(static_cast<float>(std::cos(angle)));
      table.push_back(static_cast<float>(std::sin(angle)));
    }
  return table;
}

// A head of a token as it should be after all that comes before attention.
std::vector<double> head_before_attention(const InputCase& c, const AttentionInputs& in, const float* qkv,
                                          uint32_t head, const float* turns) {
  const AttentionShape& s = c.shape;
  const bool is_q = head < s.n_head, is_k = !is_q && head < s.n_head + s.n_head_kv;
  std::vector<double> x(s.head_dim), y;
  double squares = 0;
  for (uint32_t i = 0; i < s.head_dim; ++i) {
    x[i] = double{qkv[head * s.head_dim + i]} + in.bias[head * s.head_dim + i];
    squares += x[i] * x[i];
  }
  const Norm& norm = is_q ? in.device.q_norm : in.device.k_norm;
  if ((is_q || is_k) && norm.weight)
    for (uint32_t i = 0; i < s.head_dim; ++i)
      x[i] *= (is_q ? in.q : in.k)[i] / std::sqrt(squares / s.head_dim + norm.epsilon);
  y = x;
  for (uint32_t i = 0; i < s.rope_dim / 2 && (is_q || is_k); ++i) {
    const uint32_t j = i + s.rope_dim / 2;
    y[i] = x[i] * turns[2 * i] - x[j] * turns[2 * i + 1];
    y[j] = x[j] * turns[2 * i] + x[i] * turns[2 * i + 1];
  }
  return y;
}

TEST_P(Kernels, HeadsAreBiasedAndNormedBeforeRope) {
  for (const InputCase& c : kCases) {
    const AttentionShape& s = c.shape;
    SCOPED_TRACE("heads of " + std::to_string(s.head_dim) + ", has " + std::to_string(c.has));
    const uint32_t n = 5, position = 3, n_ctx = n + position, heads = s.n_head + 2 * s.n_head_kv;
    const AttentionInputs in(*backend, c, rng);
    const std::vector<float> qkv = floats(size_t{n} * heads * s.head_dim, rng), table = rotations(s, n_ctx);
    const size_t row = size_t{s.n_head_kv} * s.head_dim;
    const BufferPtr device = put(*backend, qkv), turns = put(*backend, table),
                    k = put(*backend, std::vector<uint16_t>(n_ctx * row)),
                    v = put(*backend, std::vector<uint16_t>(n_ctx * row));
    run(
        *backend, [&](Recorder& r) { r.rope_store_kv(*device, in.device, *turns, *k, *v, s, n); }, position);
    const auto found = get<float>(*backend, *device, qkv.size());
    const auto keys = get<uint16_t>(*backend, *k, n_ctx * row),
               values = get<uint16_t>(*backend, *v, n_ctx * row);
    for (uint32_t t = 0; t < n; ++t)
      for (uint32_t head = 0; head < heads; ++head) {
        const size_t token = size_t{t} * heads * s.head_dim;
        const auto wanted =
            head_before_attention(c, in, &qkv[token], head, &table[size_t{position + t} * s.rope_dim]);
        const uint32_t kv = (head - s.n_head) % s.n_head_kv;
        for (uint32_t i = 0; i < s.head_dim; ++i) {
          const size_t at = (position + t) * row + kv * s.head_dim + i;
          const double got = head < s.n_head ? found[token + head * s.head_dim + i]
                                             : from_half((head < s.n_head + s.n_head_kv ? keys : values)[at]);
          ASSERT_NEAR(got, wanted[i], head < s.n_head ? 1e-5 : 4e-3)
              << "token " << t << " head " << head << " feature " << i;
        }
      }
  }
}

// A software device compiles a kernel of a GPU for seconds, so there these variants share the cases.
std::vector<InputCase> cases_of(const Variant& variant, bool software) {
  if (!software || !variant.as_gpu) return {std::begin(kCases), std::end(kCases)};
  switch (variant.subgroup_size) {
    case 0:
      return variant.dot == IntegerDot::never ? std::vector{kCases[2], kCases[3]}
                                              : std::vector{kCases[1], kCases[4]};
    case 8:
      return {kCases[0]};
    case 16:
      return {kCases[1]};
    case 32:
      return {kCases[3]};
    default:
      return {kCases[2]};
  }
}

// The cache has several chunks of keys, and a token is on either side of their borders.
TEST_P(Kernels, AttentionOfOneTokenWithNormsHasTheBitsOfABatch) {
  for (const InputCase& c : cases_of(GetParam(), backend->device().software)) {
    const AttentionShape& s = c.shape;
    SCOPED_TRACE("heads of " + std::to_string(s.head_dim) + ", has " + std::to_string(c.has));
    const AttentionInputs in(*backend, c, rng);
    const uint32_t n = 140;
    const size_t width = (s.n_head + 2 * s.n_head_kv) * s.head_dim, out = s.n_head * s.head_dim,
                 row = s.n_head_kv * s.head_dim;
    const std::vector<float> qkv = floats(n * width, rng, 3);
    const BufferPtr batch = put(*backend, qkv), turns = put(*backend, rotations(s, n));
    const BufferPtr k = put(*backend, std::vector<uint16_t>(n * row)),
                    v = put(*backend, std::vector<uint16_t>(n * row)),
                    o = put(*backend, std::vector<float>(n * out));
    const uint32_t chunks = (n + kAttentionChunk - 1) / kAttentionChunk;
    AttentionScratch scratch{put(*backend, std::vector<float>(s.n_head * chunks * (2 + s.head_dim))),
                             put(*backend, std::vector<uint32_t>(s.n_head))};
    run(*backend,
        [&](Recorder& r) { r.self_attention(*batch, in.device, *turns, *k, *v, scratch, *o, s, n); });
    const auto wanted = get<float>(*backend, *o, n * out);
    const auto keys = get<uint16_t>(*backend, *k, n * row), values = get<uint16_t>(*backend, *v, n * row);
    for (const uint32_t t : {0U, 1U, 63U, 64U, 139U}) {
      const BufferPtr one = put(*backend, std::vector<float>(qkv.begin() + ptrdiff_t(t * width),
                                                             qkv.begin() + ptrdiff_t((t + 1) * width)));
      const std::vector<uint16_t> nothing(row);
      backend->upload(*k, t * row * 2, std::as_bytes(std::span(nothing)));
      backend->upload(*v, t * row * 2, std::as_bytes(std::span(nothing)));
      backend->finish_uploads();
      run(
          *backend,
          [&](Recorder& r) { r.self_attention(*one, in.device, *turns, *k, *v, scratch, *o, s, 1); }, t);
      const auto found = get<float>(*backend, *o, out);
      EXPECT_TRUE(std::equal(found.begin(), found.end(), wanted.begin() + ptrdiff_t(t * out)))
          << "token " << t;
      EXPECT_EQ(get<uint16_t>(*backend, *k, n * row), keys) << "token " << t;
      EXPECT_EQ(get<uint16_t>(*backend, *v, n * row), values) << "token " << t;
    }
  }
}

}  // namespace
}  // namespace bitnet
