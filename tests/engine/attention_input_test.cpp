// Tests what happens to q, k and v before RoPE: the bias and the norms of heads.
#include <cmath>
#include <cstdlib>

#include "tests/engine/groups.h"
#include "tests/engine/kernels.h"

namespace bitnet {
namespace {

enum Has : unsigned { kBias = 1, kQNorm = 2, kKNorm = 4 };

struct InputCase {
  AttentionShape shape;
  unsigned has;
};

const InputCase kInputCases[] = {{{5, 1, 64, 64}, kBias},
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
      device.q_norm = rms_of(put(b, q), 1e-2F);
    }
    if (c.has & kKNorm) {
      for (float& v : k) v = 1 + 0.2F * normal(rng);
      device.k_norm = rms_of(put(b, k), 1e-6F);
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
  for (const InputCase& c : kInputCases) {
    const AttentionShape& s = c.shape;
    SCOPED_TRACE("heads of " + std::to_string(s.head_dim) + ", has " + std::to_string(c.has));
    const uint32_t n = s.head_dim == 80 ? 130 : 5, position = 3;  // 128 have workgroups of their own
    const uint32_t n_ctx = n + position, heads = s.n_head + 2 * s.n_head_kv;
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

// A software device compiles these kernels for seconds, so there the variants share the cases.
std::vector<InputCase> input_cases_of(const Variant& variant, bool software) {
  if (!software || !variant.cpu_kernels.empty()) return {std::begin(kInputCases), std::end(kInputCases)};
  if (!variant.as_gpu) return {kInputCases[1], kInputCases[3]};
  switch (variant.subgroup_size) {
    case 0:
      return variant.dot == IntegerDot::never ? std::vector{kInputCases[2], kInputCases[3]}
                                              : std::vector{kInputCases[1], kInputCases[4]};
    case 8:
      return {kInputCases[0]};
    case 16:
      return {kInputCases[1]};
    case 32:
      return {kInputCases[3]};
    default:
      return {kInputCases[2]};
  }
}

// The cache has several chunks of keys, and a token is on either side of their borders.
TEST_P(Kernels, AttentionOfOneTokenWithNormsHasTheBitsOfABatch) {
  for (const InputCase& c : input_cases_of(GetParam(), backend->device().software)) {
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
    AttentionScratch scratch{put(*backend, std::vector<float>(s.n_head * chunks * (2 + s.head_dim)))};
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

// The product for q, k and v, attention and its output, as a program of one token and one of three, have the
// bits of their steps. Attention hands over int8, and what is to be rotated as it is.
void expect_bits_of_steps(Backend& b, Input input, std::mt19937& rng) {
  const InputCase& c = kInputCases[2];
  const AttentionShape& s = c.shape;
  const AttentionInputs in(b, c, rng);
  constexpr uint32_t kMost = 3;
  const uint32_t n_in = 256, n_ctx = 72, q = s.n_head * s.head_dim, kv = s.n_head_kv * s.head_dim;
  Grouped into = random_groups(b, n_in, {q, kv, kv}, 128, input, rng),
          out = random_groups(b, q, {n_in}, 128, input, rng);
  if (input == Input::int16_units)
    for (Matrix* w : {&into.matrix, &out.matrix}) w->rotation = random_rotation(b, w->n_in, rng);
  const Norm norm = rms_of(put(b, floats(n_in, rng)), 1e-5F), none;
  const Quantised quantised = quantised_for(b, q, kMost);
  std::vector<uint16_t> cached(size_t{n_ctx} * kv);
  for (uint16_t& h : cached) h = static_cast<uint16_t>((rng() & 0x8000) | (0x3000 + rng() % 0x0C00));
  const BufferPtr turns = put(b, rotations(s, n_ctx)), qkv = put(b, std::vector<float>(kMost * (q + 2 * kv))),
                  o = put(b, std::vector<float>(kMost * q)), x = put(b, std::vector<float>(kMost * n_in)),
                  y = put(b, std::vector<float>(kMost * n_in));
  const AttentionScratch scratch{put(b, std::vector<float>(s.n_head * 2 * (2 + s.head_dim)))};
  struct Way {
    BufferPtr k, v;
    std::unique_ptr<Program> program;
  };
  for (const uint32_t n : {1U, kMost}) {
    Way ways[2];
    for (Way& way : ways) way = {put(b, cached), put(b, cached), nullptr};
    ways[0].program = b.record([&](Recorder& r) {
      r.linear(into.matrix, {*x, norm, quantised}, store(*qkv), n);
      r.self_attention(*qkv, in.device, *turns, *ways[0].k, *ways[0].v, scratch, *o, s, n);
      r.linear(out.matrix, {*o, none, quantised}, store(*y), n);
    });
    ways[1].program = b.record([&](Recorder& r) {
      r.Recorder::linear(into.matrix, {*x, norm, quantised}, store(*qkv), n);
      r.rope_store_kv(*qkv, in.device, *turns, *ways[1].k, *ways[1].v, s, n);
      r.attention(*qkv, *ways[1].k, *ways[1].v, *o, s, n);
      r.Recorder::linear(out.matrix, {*o, none, quantised}, store(*y), n);
    });
    for (const uint32_t position : {62U, 69U}) {  // three tokens have keys on both sides of a chunk's border
      const std::vector<float> values = floats(n * n_in, rng);
      b.upload(*x, 0, std::as_bytes(std::span(values)));
      b.finish_uploads();
      std::vector<float> found[2];
      for (int i = 0; i < 2; ++i) {
        b.run(*ways[i].program, position, std::vector<int32_t>(n));
        found[i] = get<float>(b, *o, n * q);
        const std::vector<float> results = get<float>(b, *y, n * n_in);
        found[i].insert(found[i].end(), results.begin(), results.end());
      }
      EXPECT_EQ(found[0], found[1]) << n << " tokens from " << position;
      EXPECT_EQ(get<uint16_t>(b, *ways[0].k, cached.size()), get<uint16_t>(b, *ways[1].k, cached.size()));
    }
  }
}

// On a software device with more than one thread each stage of the chain is a dispatch
// (engine_chained_kernels).
TEST_P(Kernels, AChainWithNormsIsItsSteps) {
  const Variant& variant = GetParam();
  const bool software = backend->device().software;
  if (!variant.as_gpu) GTEST_SKIP() << "there is no chain";
  if (software && (variant.dot != IntegerDot::never || variant.subgroup_size % 64 != 0))
    GTEST_SKIP() << "others take seconds to compile";
  const char* threads = std::getenv("LP_NUM_THREADS");
  EngineOptions options;
  options.kernels =
      share({.integer_dot = variant.dot,
             .chained_decode = !software || (threads && std::string(threads) == "1") ? ChainedDecode::always
                                                                                     : ChainedDecode::never,
             .as_gpu = true,
             .subgroup_size = variant.subgroup_size,
             .groups_at_once = variant.groups_at_once});
  const auto b = open_vulkan(options);
  for (const Input input : {Input::int8_units, Input::int16_units}) expect_bits_of_steps(*b, input, rng);
}

// The product behind attention wants more shared memory than small devices have, so that a chain may end with
// the rotation of its input.
TEST_P(Kernels, AChainThatEndsWithARotationIsItsSteps) {
  const Variant& variant = GetParam();
  if (!variant.as_gpu) GTEST_SKIP() << "there is no chain";
  if (backend->device().software && (variant.dot != IntegerDot::never || variant.subgroup_size != 0))
    GTEST_SKIP() << "others take seconds to compile";
  const InputCase c{{128, 2, 128, 128}, 0};
  const AttentionShape& s = c.shape;
  const AttentionInputs in(*backend, c, rng);
  const uint32_t n_in = s.n_head * s.head_dim, kv = s.n_head_kv * s.head_dim, n_out = 64;
  Grouped out = random_groups(*backend, n_in, {n_out}, 128, Input::int16_units, rng);
  out.matrix.rotation = random_rotation(*backend, n_in, rng);
  const Norm none;
  const BufferPtr turns = put(*backend, rotations(s, 8)), qkv = put(*backend, floats(n_in + 2 * kv, rng)),
                  o = put(*backend, std::vector<float>(n_in));
  const AttentionScratch scratch{put(*backend, std::vector<float>(s.n_head * (2 + s.head_dim)))};
  std::vector<float> found[2];
  for (int i = 0; i < 2; ++i) {
    const BufferPtr k = put(*backend, std::vector<uint16_t>(size_t{8} * kv)),
                    v = put(*backend, std::vector<uint16_t>(size_t{8} * kv)),
                    y = put(*backend, std::vector<float>(n_out));
    const Quantised quantised = quantised_for(*backend, n_in);
    run(
        *backend,
        [&](Recorder& r) {
          r.self_attention(*qkv, in.device, *turns, *k, *v, scratch, *o, s, 1);
          if (i == 0) r.linear(out.matrix, {*o, none, quantised}, store(*y), 1);
          if (i == 1) r.Recorder::linear(out.matrix, {*o, none, quantised}, store(*y), 1);
        },
        5);
    found[i] = get<float>(*backend, *y, n_out);
  }
  EXPECT_EQ(found[0], found[1]);
}

}  // namespace
}  // namespace bitnet
