// Tests what Session::sync hands out of its inside, and what interventions change.
#include <cmath>
#include <map>
#include <numeric>
#include <tuple>

#include "engine/backend.h"
#include "engine/kernel_options.h"
#include "engine/watch.h"
#include "tests/engine/rolled.h"
#include "tests/engine/session.h"

namespace bitnet {
namespace {

using testing::Each;
using testing::FloatNear;

constexpr Stage kAll[] = {Stage::input, Stage::qkv,       Stage::query, Stage::weights,
                          Stage::heads, Stage::attention, Stage::ffn,   Stage::residual};
constexpr uint32_t kTokens = 20;

// What an observation gave: for each stage and layer the rows of all positions, but for weights, whose rows
// become as long as the last ones have keys.
using Seen = std::map<std::pair<Stage, uint32_t>, std::vector<float>>;

Observation watch_all(Seen& seen, uint32_t n_head) {
  Observation what{{std::begin(kAll), std::end(kAll)}, 0, UINT32_MAX, 0, {}};
  what.on_rows = [&seen, n_head](Stage stage, uint32_t layer, uint32_t position, uint32_t n,
                                 std::span<const float> rows) {
    std::vector<float>& all = seen[{stage, layer}];
    if (stage != Stage::weights) return (void)all.insert(all.end(), rows.begin(), rows.end());
    all.resize(size_t{kTokens} * n_head * kTokens);
    const uint32_t keys = position + n;
    for (uint32_t row = 0; row < n * n_head; ++row)
      std::copy_n(rows.begin() + size_t{row} * keys, keys,
                  all.begin() + (size_t{position} * n_head + row) * kTokens);
  };
  return what;
}

Seen seen_by(Engine& model, const std::vector<int32_t>& tokens, uint32_t batch, std::vector<float>& logits) {
  Seen seen;
  const Observation what = watch_all(seen, model.model().n_head);
  const auto session = Session::create(model, 0);
  session->sync(tokens, {.batch = batch, .observe = &what});
  logits = copy(session->logits());
  return seen;
}

std::vector<float> sum(const std::vector<float>& a, const std::vector<float>& b) {
  std::vector<float> c = a;
  for (size_t i = 0; i < c.size(); ++i) c[i] += b[i];
  return c;
}

class ObservationTest : public OnDevice {};
INSTANTIATE_TEST_SUITE_P(Devices, ObservationTest, testing::ValuesIn(devices()), name_of_device);

TEST_P(ObservationTest, ATokenHasTheSameBitsInAllBatchesAndWhenNobodyLooks) {
  const auto tokens = random_tokens(kTokens, 9);
  std::vector<float> batched, single, sevens;
  const Seen seen = seen_by(engine(), tokens, 0, batched);
  EXPECT_EQ(seen.size(), std::size(kAll) * engine().model().n_layer);
  EXPECT_EQ(seen_by(engine(), tokens, 1, single), seen);
  EXPECT_EQ(seen_by(engine(), tokens, 7, sevens), seen);
  const auto plain = logits_after(tokens);
  EXPECT_EQ(batched, plain);
  EXPECT_EQ(single, plain);
  EXPECT_EQ(sevens, plain);
}

TEST_P(ObservationTest, StagesAreWhatTheyAreCalled) {
  const auto tokens = random_tokens(kTokens, 10);
  std::vector<float> logits;
  Seen seen = seen_by(engine(), tokens, 0, logits);
  const auto& m = engine().model();
  // The second block adds what its stages say to what the first one left.
  const auto x = sum(sum(seen[{Stage::residual, 0}], seen[{Stage::attention, 1}]), seen[{Stage::ffn, 1}]);
  EXPECT_THAT(seen[std::pair(Stage::residual, 1U)], testing::Pointwise(FloatNear(1e-5F), x));
  const auto& weights = seen[{Stage::weights, 1}];
  const auto& heads = seen[{Stage::heads, 1}];
  const auto& qkv = seen[{Stage::qkv, 1}];
  const uint32_t dim = m.head_dim, group = m.n_head / m.n_head_kv, row = (m.n_head + 2 * m.n_head_kv) * dim;
  for (uint32_t t = 0; t < kTokens; ++t)
    for (uint32_t head = 0; head < m.n_head; ++head) {
      const float* w = weights.data() + (size_t{t} * m.n_head + head) * kTokens;
      EXPECT_NEAR(std::accumulate(w, w + t + 1, 0.0), 1, 1e-6);
      EXPECT_THAT(std::span(w + t + 1, kTokens - t - 1), Each(0.0F));
      for (uint32_t i = 0; i < dim; ++i) {
        double o = 0;  // values are F16 in the cache
        for (uint32_t p = 0; p <= t; ++p)
          o += double{w[p]} * qkv[size_t{p} * row + (m.n_head + m.n_head_kv + head / group) * dim + i];
        ASSERT_NEAR(heads[(size_t{t} * m.n_head + head) * dim + i], o, 2e-3) << t << ' ' << head << ' ' << i;
      }
    }
}

TEST_P(ObservationTest, OnlyWhatIsAskedForIsHandedOut) {
  const auto tokens = random_tokens(kTokens, 11);
  std::vector<std::tuple<Stage, uint32_t, uint32_t, uint32_t>> calls;
  Observation what{{Stage::ffn}, 1, 2, 12, {}};
  what.on_rows = [&](Stage stage, uint32_t layer, uint32_t position, uint32_t n,
                     std::span<const float> rows) {
    EXPECT_EQ(rows.size(), size_t{n} * engine().model().n_embd);
    calls.emplace_back(stage, layer, position, n);
  };
  const auto session = Session::create(engine(), 0);
  session->sync(tokens, {.batch = 8, .observe = &what});
  EXPECT_THAT(calls,
              testing::ElementsAre(std::tuple(Stage::ffn, 1U, 12U, 4U), std::tuple(Stage::ffn, 1U, 16U, 4U)));
  calls.clear();
  session->sync(tokens, {.observe = &what});  // the last token is evaluated again
  EXPECT_THAT(calls, testing::ElementsAre(std::tuple(Stage::ffn, 1U, 19U, 1U)));
}

std::unique_ptr<Engine> open_with(Interventions interventions) {
  EngineOptions options = on(current_device);
  options.interventions = std::move(interventions);
  return Engine::open(model_file(), options);
}

TEST_P(ObservationTest, SteeringAddsAVectorAndNothingElse) {
  const auto& m = engine().model();
  std::vector<float> vector(m.n_embd);
  for (size_t i = 0; i < vector.size(); ++i) vector[i] = static_cast<float>(i % 17) / 16 - 0.5F;
  const auto steered = open_with({{{0, vector}}, {}});
  EXPECT_NE(steered->model().fingerprint, m.fingerprint);
  const auto tokens = random_tokens(kTokens, 12);
  std::vector<float> plain_logits, logits;
  Seen plain = seen_by(engine(), tokens, 0, plain_logits), seen = seen_by(*steered, tokens, 0, logits);
  EXPECT_EQ(seen[std::pair(Stage::ffn, 0U)], plain[std::pair(Stage::ffn, 0U)]);
  const auto& before = plain[{Stage::residual, 0}];
  const auto& after = seen[{Stage::residual, 0}];
  for (size_t i = 0; i < after.size(); ++i) ASSERT_EQ(after[i], before[i] + vector[i % m.n_embd]) << i;
  EXPECT_NE(logits, plain_logits);
  // Decoding steers too: what it says of its own tokens is what a pass over all of them says.
  const auto session = Session::create(*steered, 0);
  session->sync(tokens);
  Sampler greedy({});
  session->decode(greedy, {.max_tokens = 6}, [](const SampledToken&) { return true; });
  const auto other = Session::create(*steered, 0);
  other->sync(session->tokens());
  EXPECT_EQ(copy(session->logits()), copy(other->logits()));
  EXPECT_THROW(open_with({{{m.n_layer, vector}}, {}}), Error);
  EXPECT_THROW(open_with({{{0, {1, 2, 3}}}, {}}), Error);
}

TEST_P(ObservationTest, AnAblatedHeadGivesZerosAndOthersWhatTheyGave) {
  const auto& m = engine().model();
  const auto ablated = open_with({{}, {{0, 1}}});
  EXPECT_NE(ablated->model().fingerprint, m.fingerprint);
  const auto tokens = random_tokens(kTokens, 13);
  std::vector<float> plain_logits, logits;
  Seen plain = seen_by(engine(), tokens, 0, plain_logits), seen = seen_by(*ablated, tokens, 0, logits);
  auto wanted = plain[{Stage::heads, 0}];
  for (size_t i = 0; i < wanted.size(); ++i)
    if (i / m.head_dim % m.n_head == 1) wanted[i] = 0;
  EXPECT_THAT(seen[std::pair(Stage::heads, 0U)], testing::Pointwise(testing::Eq(), wanted));
  EXPECT_NE(logits, plain_logits);
  EXPECT_THROW(open_with({{}, {{0, m.n_head}}}), Error);
}

// Attention has a number for each head, token and key, so a long context leaves a batch fewer tokens.
TEST(Observation, WhatABatchLeavesForTheHostIsBounded) {
  constexpr uint32_t kMostBatch = 1024, kHeads = 20, kDim = 128;
  constexpr uint64_t kMostBytes = 64 << 20;
  Model model;
  model.config.n_embd = kHeads * kDim;
  model.blocks.resize(3);
  for (Block& block : model.blocks) block.attention.shape = {kHeads, kHeads, kDim};
  const auto backend = open_cpu({});
  const Observer observer(*backend, model, kMostBatch);
  const Observation weights{{Stage::weights}, 0, UINT32_MAX, 0, {}}, ffn{{Stage::ffn}, 0, UINT32_MAX, 0, {}};
  for (const uint32_t n_keys : {1U, 4096U, 131072U}) {
    SCOPED_TRACE(n_keys);
    const uint64_t n = observer.most_tokens(weights, n_keys);
    EXPECT_GE(n, 1U);
    EXPECT_LE(n * kHeads * n_keys * sizeof(float), kMostBytes);
    EXPECT_EQ(observer.most_tokens(ffn, n_keys), kMostBatch);
  }
  EXPECT_EQ(observer.most_tokens(weights, 1), kMostBatch);
}

TEST(Observation, KernelsForAGpuGiveTheSameStagesOneByOne) {
  if (devices().front() == "cpu") GTEST_SKIP() << "no Vulkan device here";
  current_device = devices().front();
  const RolledLoops rolled(engine().device());
  EngineOptions options = on(current_device);
  options.kernels = share({.as_gpu = true});
  const auto model = Engine::open(model_file(), options);
  const auto tokens = random_tokens(9, 14);
  std::vector<float> batched, single;
  const Seen seen = seen_by(*model, tokens, 0, batched);
  EXPECT_EQ(seen_by(*model, tokens, 1, single), seen);
  EXPECT_EQ(batched, single);
}

}  // namespace
}  // namespace bitnet
