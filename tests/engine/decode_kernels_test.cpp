// Tests the kernels of a decoded token: those that do several steps in one dispatch, argmax and sampling.
#include <cmath>
#include <cstring>
#include <limits>

#include "tests/engine/kernels.h"

namespace bitnet {
namespace {

// 0, x, 2x, ...
std::vector<float> multiples(float x, size_t n) {
  std::vector<float> all(n);
  for (size_t i = 0; i < n; ++i) all[i] = x * static_cast<float>(i);
  return all;
}

// One kernel or several must give the same bits, because what decode computes is what prefill computes. All
// row lengths are tested in one program, as in a model; its longest rows are those of a down projection.
TEST_P(Kernels, ALinearHasTheBitsOfItsSteps) {
  if (GetParam().subgroup_size == 32) GTEST_SKIP() << "8, 16 and 64 show the same, and it compiles for long";
  constexpr uint32_t kRows = 230, kLongest = 6912;
  struct Case {
    uint32_t n_in;
    Ternary w;
    BufferPtr x;
    Norm norm;
    Quantised q;
    std::vector<BufferPtr> results;  // plain, added, gate and up; of the steps and then of the fused kernels
  };
  std::vector<Case> cases;
  for (const uint32_t n_in : {1408U, 128U, kLongest}) {
    Case& c = cases.emplace_back();
    c.n_in = n_in;
    c.w = random_ternary(*backend, n_in, {{kRows, 0.7F}, {kRows, 1.3F}}, rng);
    c.x = put(*backend, normal_floats(n_in, rng));
    c.norm = rms_of(put(*backend, normal_floats(n_in, rng)), 1e-5F);
    c.q = {backend->allocate(n_in, BufferUse::device), backend->allocate(8, BufferUse::device), nullptr};
    for (int way = 0; way < 2; ++way)
      for (const auto& [n, start] : {std::pair{2 * kRows, 0.0F}, {2 * kRows, 0.1F}, {kRows, 0.0F}})
        c.results.push_back(put(*backend, multiples(start, n)));
  }
  run(*backend, [&](Recorder& r) {
    for (Case& c : cases) {
      r.quantise(c.w.matrix, {*c.x, c.norm, c.q}, 1);
      r.product(c.w.matrix, c.q, store(*c.results[0]), 1);
      r.product(c.w.matrix, c.q, add(*c.results[1]), 1);
      if (c.n_in != kLongest) r.product(c.w.matrix, c.q, gate(*c.results[2], Act::relu2), 1);
    }
  });
  run(*backend, [&](Recorder& r) {
    for (Case& c : cases) {
      const In in{*c.x, c.norm, c.q};
      r.linear(c.w.matrix, in, store(*c.results[3]), 1);
      r.linear(c.w.matrix, in, add(*c.results[4]), 1);
      if (c.n_in != kLongest) r.linear(c.w.matrix, in, gate(*c.results[5], Act::relu2), 1);
    }
  });
  for (const Case& c : cases)
    for (size_t i = 0; i < 3; ++i) {
      SCOPED_TRACE(std::to_string(c.n_in) + (i == 0 ? " features" : i == 1 ? ", added" : ", gate and up"));
      const auto values = [&](const BufferPtr& b) {
        return get<float>(*backend, *b, b->size() / sizeof(float));
      };
      EXPECT_EQ(values(c.results[3 + i]), values(c.results[i]));
    }
}

// More tokens than ROUNDED_HERE, whose vectors stages of their own round: as wide as they are, they divide a
// row as the other kernels do.
TEST_P(Kernels, ALinearOfSixTokensHasTheBitsOfItsSteps) {
  if (GetParam().row_size == 0 && GetParam().name != "GpuInteger") GTEST_SKIP() << "others show the same";
  constexpr uint32_t kRows = 70, kTokens = 6;
  for (const uint32_t n_in : {1408U, 2048U}) {
    SCOPED_TRACE(n_in);
    const Ternary w = random_ternary(*backend, n_in, {{kRows, 0.7F}}, rng);
    const BufferPtr x = put(*backend, normal_floats(size_t{kTokens} * n_in, rng));
    const Norm norm = rms_of(put(*backend, normal_floats(n_in, rng)), 1e-5F);
    const Quantised q{backend->allocate(uint64_t{kTokens} * n_in, BufferUse::device),
                      backend->allocate(kTokens * 8, BufferUse::device), nullptr};
    const std::vector<float> start(size_t{kTokens} * kRows, 0.1F);
    const BufferPtr steps = put(*backend, start), fused = put(*backend, start);
    run(*backend, [&](Recorder& r) {
      r.quantise(w.matrix, {*x, norm, q}, kTokens);
      r.product(w.matrix, q, add(*steps), kTokens);
    });
    run(*backend, [&](Recorder& r) { r.linear(w.matrix, {*x, norm, q}, add(*fused), kTokens); });
    EXPECT_EQ(get<float>(*backend, *fused, start.size()), get<float>(*backend, *steps, start.size()));
  }
}

TEST_P(Kernels, AttentionOfOneTokenHasTheBitsOfABatch) {
  if (GetParam().name == "SubgroupsOf32")
    GTEST_SKIP() << "8, 16 and 64 show the same, and it compiles for long";
  if (GetParam().name == "GpuInteger")
    GTEST_SKIP() << "GpuEmulated shows the same: attention has no integers";
  for (const AttentionShape& shape :
       {AttentionShape{5, 1, 128, 128}, AttentionShape{4, 2, 80, 48}, AttentionShape{12, 1, 32, 32}}) {
    const uint32_t n = 140;
    const size_t width = (shape.n_head + 2 * shape.n_head_kv) * shape.head_dim,
                 out = shape.n_head * shape.head_dim, row = shape.n_head_kv * shape.head_dim;
    const std::vector<float> qkv = normal_floats(n * width, rng);
    const BufferPtr batch = put(*backend, qkv), table = put(*backend, normal_floats(n * shape.rope_dim, rng));
    const BufferPtr k = put(*backend, std::vector<uint16_t>(n * row)),
                    v = put(*backend, std::vector<uint16_t>(n * row)),
                    o = put(*backend, std::vector<float>(n * out));
    const uint32_t chunks = (n + kAttentionChunk - 1) / kAttentionChunk;
    AttentionScratch scratch{put(*backend, std::vector<float>(shape.n_head * chunks * (2 + shape.head_dim)))};
    run(*backend, [&](Recorder& r) { r.self_attention(*batch, {}, *table, *k, *v, scratch, *o, shape, n); });
    const auto wanted = get<float>(*backend, *o, n * out);
    for (const uint32_t t : {0U, 1U, 63U, 64U, 139U}) {
      const BufferPtr one =
          put(*backend, std::vector<float>(qkv.begin() + t * width, qkv.begin() + (t + 1) * width));
      run(
          *backend, [&](Recorder& r) { r.self_attention(*one, {}, *table, *k, *v, scratch, *o, shape, 1); },
          t);
      const auto found = get<float>(*backend, *o, out);
      EXPECT_TRUE(std::equal(found.begin(), found.end(), wanted.begin() + t * out))
          << "token " << t << " of heads of " << shape.head_dim;
    }
  }
}

// There are more chunks of keys here than are merged at a time, and more than there are workgroups for.
TEST_P(Kernels, AttentionOverALongCacheHasTheBitsOfABatch) {
  if (!GetParam().as_gpu) GTEST_SKIP() << "one kernel does both";
  const AttentionShape shape{12, 1, 32, 32};
  // Tokens on both sides of the border of a chunk, more than are divided among workgroups.
  const uint32_t position = 8508, n_tokens = 9, n_ctx = position + n_tokens;
  const size_t width = (shape.n_head + 2) * shape.head_dim, out = shape.n_head * shape.head_dim;
  std::vector<uint16_t> cached(size_t{n_ctx} * shape.head_dim);
  for (uint16_t& h : cached) h = static_cast<uint16_t>((rng() & 0x8000) | (0x3000 + rng() % 0x0C00));
  const BufferPtr k = put(*backend, cached), v = put(*backend, cached),
                  table = put(*backend, normal_floats(size_t{n_ctx} * shape.rope_dim, rng));
  const std::vector<float> qkv = normal_floats(n_tokens * width, rng);
  const BufferPtr o = put(*backend, std::vector<float>(n_tokens * out));
  const uint32_t chunks = (n_ctx + kAttentionChunk - 1) / kAttentionChunk;
  AttentionScratch scratch{put(*backend, std::vector<float>(shape.n_head * chunks * (2 + shape.head_dim)))};
  const auto attend = [&](uint32_t first, uint32_t n) {
    const BufferPtr tokens = put(*backend, std::vector<float>(qkv.begin() + first * width, qkv.end()));
    run(
        *backend, [&](Recorder& r) { r.self_attention(*tokens, {}, *table, *k, *v, scratch, *o, shape, n); },
        position + first);
    return get<float>(*backend, *o, n * out);
  };
  const std::vector<float> wanted = attend(0, n_tokens);
  for (const auto& [first, n] : {std::pair{8U, 1U}, {1U, 8U}, {2U, 3U}}) {
    const std::vector<float> found = attend(first, n);
    EXPECT_TRUE(std::equal(found.begin(), found.end(), wanted.begin() + first * out)) << n << " tokens";
  }
}

TEST_P(Kernels, ArgmaxTakesTheFirstLargestAndSeesNaN) {
  const uint32_t n = 40'000;
  const BufferPtr partial = backend->allocate(kArgmaxPartials * sizeof(ArgmaxResult), BufferUse::device);
  const BufferPtr result = backend->allocate(sizeof(ArgmaxResult), BufferUse::device);
  const auto argmax = [&](const std::vector<float>& logits) {
    const BufferPtr device_logits = put(*backend, logits);
    run(*backend, [&](Recorder& r) {
      r.argmax(*device_logits, static_cast<uint32_t>(logits.size()), *partial, *result, 1);
    });
    return get<ArgmaxResult>(*backend, *result, 1)[0];
  };
  std::normal_distribution<float> normal;
  std::vector<float> logits(n);
  for (float& v : logits) v = normal(rng);
  logits[31'000] = logits[17'003] = logits[39'999] = 9.0F;
  ArgmaxResult best = argmax(logits);
  EXPECT_EQ(best.index, 17'003U);
  EXPECT_EQ(best.largest, 9.0F);
  EXPECT_EQ(best.non_finite, 0U);
  double sum = 0;
  for (float v : logits) sum += std::exp(double{v} - 9.0);
  EXPECT_NEAR(best.sum_exp, sum, sum * 1e-5);

  EXPECT_EQ(argmax({-5.0F}).index, 0U);
  EXPECT_EQ(argmax(std::vector<float>(300, -2.0F)).index, 0U);
  for (const float bad : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    logits[123] = bad;
    EXPECT_EQ(argmax(logits).non_finite, 1U);
  }
  logits[123] = -std::numeric_limits<float>::infinity();  // a masked token is no fault
  best = argmax(logits);
  EXPECT_EQ(best.non_finite, 0U);
  EXPECT_EQ(best.index, 17'003U);
}

// Compares sampling on the device with the sampler on the host, of a row of logits and of several.
TEST_P(Kernels, SamplingChoosesWhatTheHostChooses) {
  if (!backend->runs_ahead()) GTEST_SKIP() << "the host samples for this device";
  constexpr uint32_t kMostRows = 3;
  const auto words = [](uint64_t bytes) { return std::vector<uint32_t>(bytes / sizeof(uint32_t)); };
  const BufferPtr partial = put(*backend, words(kMostRows * kArgmaxPartials * sizeof(ArgmaxResult)));
  const BufferPtr result =
      backend->allocate(kMostRows * (sizeof(ArgmaxResult) + sizeof(ChoiceResult)), BufferUse::shared);
  SamplingBuffers buffers{nullptr, backend->allocate(kSampleRandoms * sizeof(uint64_t), BufferUse::shared),
                          put(*backend, words(kMostRows * kSampleScratch))};
  // Of rows of logits, the last of them behind the whole history.
  const auto choose = [&](const std::vector<float>& logits, uint32_t rows, Sampler& sampler,
                          const std::vector<int32_t>& history) {
    const auto end = static_cast<uint32_t>(history.size()), first = end - rows;
    const SamplingRecipe& recipe = sampler.recipe();
    SamplingInput input{recipe, recipe.top_k + recipe.n_recent, {}};
    for (uint32_t p = end - std::min(end, kSampleHistory); p < end; ++p)
      input.history[p % kSampleHistory] = history[p];
    buffers.input = put(*backend, std::vector<SamplingInput>{input});
    for (uint32_t row = 0; row < rows; ++row) {
      const uint64_t random = sampler.random(row);
      std::memcpy(buffers.randoms->mapped().data() + (first + row + 1) % kSampleRandoms * sizeof random,
                  &random, sizeof random);
    }
    const BufferPtr device_logits = put(*backend, logits);
    const auto n_vocab = static_cast<uint32_t>(logits.size()) / rows;
    const auto kernels = [&](Recorder& r) {  // argmax moves on to the position of the token to choose
      r.argmax(*device_logits, n_vocab, *partial, *result, rows);
      r.sample(*device_logits, n_vocab, *partial, buffers, *result, rows);
    };
    run(*backend, kernels, first, {history[first]});
    std::vector<ChoiceResult> choices(rows);
    std::memcpy(choices.data(), result->mapped().data() + rows * sizeof(ArgmaxResult),
                rows * sizeof(ChoiceResult));
    return choices;
  };

  std::normal_distribution<float> normal;
  std::vector<int32_t> history{5};
  for (const size_t n : {size_t{3}, size_t{500}, size_t{20'000}}) {
    for (uint32_t round = 0; round < 24; ++round) {
      const float width = round % 3 == 0 ? 0.01F : round % 3 == 1 ? 2.0F : 30.0F;
      const float middle = round % 2 == 0 ? 0.0F : -20.0F;
      SamplerParams params{.temperature = 0.2F * static_cast<float>(round % 8), .seed = rng()};
      params.top_k = 1 + static_cast<uint32_t>(rng() % 64);
      params.top_p = round % 4 == 0 ? 1.0F : 0.9F;
      params.min_p = round % 5 == 0 ? 0.1F : 0.0F;
      params.repeat_penalty = round % 3 == 2 ? 1.2F : 1.0F;
      params.repeat_last = 100;
      Sampler device(params), host(params);
      for (const uint32_t rows : {1U, kMostRows}) {
        std::vector<float> logits(rows * n);
        for (float& v : logits) v = middle + width * normal(rng);
        for (uint32_t row = 0; row < rows; ++row) {
          logits[row * n + n / 2] = logits[row * n + n / 3];  // equal ones
          logits[row * n + n - 1] = -std::numeric_limits<float>::infinity();
          history.push_back(static_cast<int32_t>(rng() % n));
        }
        const std::vector<ChoiceResult> choices = choose(logits, rows, device, history);
        for (uint32_t row = 0; row < rows; ++row) {
          const std::span<const int32_t> seen(history.begin(), history.end() - (rows - 1 - row));
          const auto wanted = host.sample(std::span(logits).subspan(row * n, n), seen);
          EXPECT_EQ(choices[row].undecided, 0U) << n << " logits, round " << round;
          EXPECT_EQ(static_cast<int32_t>(choices[row].index), wanted->id) << n << " logits, round " << round;
          if (params.temperature != 0.0F) device.chosen();
        }
      }
    }
  }

  Sampler sampler({.temperature = 1.0F, .top_k = 40});
  EXPECT_EQ(choose(std::vector<float>(5'000, 1.5F), 1, sampler, history)[0].undecided, 1U);
  EXPECT_EQ(choose(std::vector<float>(200, 1.5F), 1, sampler, history)[0].undecided, 0U);
}

}  // namespace
}  // namespace bitnet
