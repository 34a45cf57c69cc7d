#include "engine/sampler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>
#include <set>

#include "engine/error.h"

namespace bitnet {
namespace {

using testing::HasSubstr;
using Limits = std::numeric_limits<float>;
constexpr float kInf = Limits::infinity();

SamplerParams hot(float temperature = 1.0F) {
  SamplerParams p;
  p.temperature = temperature;
  return p;
}

// Returns the share of each id among n draws.
std::map<int32_t, double> shares(const SamplerParams& params, const std::vector<float>& logits,
                                 const std::vector<int32_t>& history = {}, int n = 20000) {
  Sampler sampler(params);
  std::map<int32_t, double> shares;
  for (int i = 0; i < n; ++i) shares[sampler.sample(logits, history)->id] += 1.0 / n;
  return shares;
}

std::set<int32_t> support(const SamplerParams& params, const std::vector<float>& logits) {
  std::set<int32_t> ids;
  for (const auto& [id, share] : shares(params, logits, {}, 4000)) ids.insert(id);
  return ids;
}

// Returns logits whose softmax is `probabilities`; they are off by a constant, as real logits are.
std::vector<float> logits_of(const std::vector<double>& probabilities) {
  std::vector<float> logits;
  for (const double p : probabilities) logits.push_back(static_cast<float>(std::log(p)) + 3.0F);
  return logits;
}

TEST(SamplerCheck, NamesSettingRangeAndValue) {
  const auto refusal = [](auto change) {
    SamplerParams p;
    change(p);
    try {
      Sampler sampler(p);
    } catch (const Error& e) {
      EXPECT_EQ(e.kind(), ErrorKind::usage);
      return std::string(e.what());
    }
    return std::string("accepted");
  };
  EXPECT_EQ(refusal([](auto& p) { p.temperature = -1; }), "temperature: wanted 0 or more, got -1");
  EXPECT_EQ(refusal([](auto& p) { p.top_p = 0; }), "top_p: wanted more than 0 and at most 1, got 0");
  EXPECT_EQ(refusal([](auto& p) { p.top_p = 1.5F; }), "top_p: wanted more than 0 and at most 1, got 1.5");
  EXPECT_EQ(refusal([](auto& p) { p.min_p = -0.5F; }), "min_p: wanted 0 to 1, got -0.5");
  EXPECT_EQ(refusal([](auto& p) { p.min_p = 2; }), "min_p: wanted 0 to 1, got 2");
  EXPECT_EQ(refusal([](auto& p) { p.repeat_penalty = 0; }), "repeat_penalty: wanted more than 0, got 0");
  for (const float bad : {Limits::quiet_NaN(), kInf, -kInf}) {
    EXPECT_THAT(refusal([&](auto& p) { p.temperature = bad; }), HasSubstr("temperature"));
    EXPECT_THAT(refusal([&](auto& p) { p.top_p = bad; }), HasSubstr("top_p"));
    EXPECT_THAT(refusal([&](auto& p) { p.min_p = bad; }), HasSubstr("min_p"));
    EXPECT_THAT(refusal([&](auto& p) { p.repeat_penalty = bad; }), HasSubstr("repeat_penalty"));
  }
  EXPECT_EQ(refusal([](auto& p) { p = {2.0F, 40, 0.5F, 1.0F, 1.1F, 0, 7}; }), "accepted");
}

TEST(Sampler, GreedyTakesTheFirstLargestWithItsOwnProbability) {
  Sampler sampler({});
  EXPECT_TRUE(sampler.is_argmax());
  const auto token = sampler.sample(std::vector<float>{1, 4, 2, 4}, {});
  EXPECT_EQ(token->id, 1);
  const double sum = std::exp(1.0) + 2 * std::exp(4.0) + std::exp(2.0);
  EXPECT_NEAR(token->logprob, 4 - std::log(sum), 1e-6);
}

TEST(Sampler, IsArgmaxOnlyWhereHistoryAndChanceDoNotMatter) {
  SamplerParams p = hot();
  EXPECT_FALSE(Sampler(p).is_argmax());
  p.top_k = 1;
  EXPECT_TRUE(Sampler(p).is_argmax());
  p.repeat_penalty = 1.1F;
  EXPECT_FALSE(Sampler(p).is_argmax());
  p.repeat_last = 0;
  EXPECT_TRUE(Sampler(p).is_argmax());
}

TEST(Sampler, LogprobIsOfTheModelNotOfTheSettings) {
  const auto logits = logits_of({0.5, 0.3, 0.2});
  SamplerParams p = hot(0.3F);
  p.top_k = 2;
  p.repeat_penalty = 1.5F;
  Sampler sampler(p);
  const std::vector<int32_t> history{0};
  for (int i = 0; i < 20; ++i) {
    const auto token = sampler.sample(logits, history);
    EXPECT_NEAR(token->logprob, std::log(token->id == 0 ? 0.5 : token->id == 1 ? 0.3 : 0.2), 1e-5);
  }
}

TEST(Sampler, DrawsByTheSoftmaxAtTheTemperature) {
  const std::vector<double> probabilities{0.1, 0.6, 0.3};
  for (const float temperature : {0.5F, 1.0F, 2.0F}) {
    double sum = 0;
    for (const double p : probabilities) sum += std::pow(p, 1 / temperature);
    auto found = shares(hot(temperature), logits_of(probabilities));
    for (int32_t id = 0; id < 3; ++id) {
      const double wanted = std::pow(probabilities[static_cast<size_t>(id)], 1 / temperature) / sum;
      EXPECT_NEAR(found[id], wanted, 0.015) << temperature << " " << id;  // over 4 standard deviations
    }
  }
}

TEST(Sampler, SameSeedSameTokensOnEveryCompiler) {
  std::vector<float> logits(10, 0.0F);
  SamplerParams p = hot();
  p.seed = 42;
  Sampler one(p);
  std::mt19937_64 bits(42);  // its sequence is fixed by the standard
  for (int i = 0; i < 100; ++i) {
    const double u = static_cast<double>(bits() >> 11) / 9007199254740992.0;
    EXPECT_EQ(one.sample(logits, {})->id, static_cast<int32_t>(u * 10));
  }
}

TEST(Sampler, TopK) {
  const auto logits = logits_of({0.1, 0.4, 0.2, 0.3});
  SamplerParams p = hot();
  p.top_k = 2;
  EXPECT_EQ(support(p, logits), (std::set<int32_t>{1, 3}));
  auto found = shares(p, logits);
  EXPECT_NEAR(found[1], 0.4 / 0.7, 0.015);
  p.top_k = 1;
  EXPECT_EQ(support(p, logits), (std::set<int32_t>{1}));
  for (const uint32_t all : {0U, 4U, 5U, ~0U}) {
    p.top_k = all;
    EXPECT_EQ(support(p, logits).size(), 4U);
  }
  p.top_k = 2;  // of equal ones, those with the lowest ids are kept
  EXPECT_EQ(support(p, {1, 1, 1, 1}), (std::set<int32_t>{0, 1}));
}

TEST(Sampler, TopPKeepsTheFewestThatReachIt) {
  const auto logits = logits_of({0.05, 0.5, 0.15, 0.3});
  SamplerParams p = hot();
  p.top_p = 0.49F;
  EXPECT_EQ(support(p, logits), (std::set<int32_t>{1}));
  p.top_p = 0.51F;
  EXPECT_EQ(support(p, logits), (std::set<int32_t>{1, 3}));
  p.top_p = 0.94F;
  EXPECT_EQ(support(p, logits), (std::set<int32_t>{1, 2, 3}));
  p.top_p = 0.96F;
  EXPECT_EQ(support(p, logits).size(), 4U);
  p.top_p = 1e-30F;
  EXPECT_EQ(support(p, logits), (std::set<int32_t>{1}));
  p.top_p = 0.61F;
  p.top_k = 2;  // 0.5 of the 0.8 that top-k leaves is 0.625
  EXPECT_EQ(support(p, logits), (std::set<int32_t>{1}));
}

TEST(Sampler, TopPOfALargeFlatVocabulary) {
  const std::vector<float> logits(1000, 0.0F);
  SamplerParams p = hot();
  p.top_p = 0.2495F;
  Sampler sampler(p);
  for (int i = 0; i < 2000; ++i) EXPECT_LT(sampler.sample(logits, {})->id, 250);
}

TEST(Sampler, MinPIsMeasuredAgainstTheLikeliest) {
  const auto logits = logits_of({0.5, 0.26, 0.24});
  SamplerParams p = hot();
  p.min_p = 0.5F;
  EXPECT_EQ(support(p, logits), (std::set<int32_t>{0, 1}));
  p.min_p = 1.0F;
  EXPECT_EQ(support(p, logits), (std::set<int32_t>{0}));
}

TEST(Sampler, RepeatPenaltyDividesPositiveAndMultipliesNegativeLogits) {
  SamplerParams p;
  p.repeat_penalty = 2.0F;
  const auto pick = [&](const std::vector<float>& logits, const std::vector<int32_t>& history) {
    return Sampler(p).sample(logits, history)->id;
  };
  EXPECT_EQ(pick({3, 2, 1}, {}), 0);
  EXPECT_EQ(pick({3, 2, 1}, {0}), 1);
  EXPECT_EQ(pick({3.5F, 2, 1}, {0, 0, 0, 1}), 0);  // it becomes 1.75 once, not 0.4
  EXPECT_EQ(pick({-1, -1.5F, -3}, {0}), 1);
  EXPECT_EQ(pick({3, 2, 1}, {-1, 3, 1 << 30}), 0);  // no logit has these ids
  p.repeat_last = 1;
  EXPECT_EQ(pick({3, 2, 1}, {0, 2}), 0);
  p.repeat_last = 0;
  EXPECT_EQ(pick({3, 2, 1}, {0}), 0);
  p.repeat_last = 64;
  p.repeat_penalty = Limits::max();
  EXPECT_EQ(pick({-3, -2, -kInf}, {0, 1, 2}), 0);
  p.repeat_penalty = Limits::denorm_min();
  EXPECT_EQ(pick({3, 2, 1}, {1}), 1);
  p.temperature = 1.0F;
  EXPECT_EQ(pick({3, 2, 1}, {1}), 1);
}

TEST(Sampler, AFewOfTheLogitsAreEnough) {
  std::mt19937 rng(9);
  std::normal_distribution<float> normal(0, 2);
  std::vector<float> logits(500);
  for (float& v : logits) v = normal(rng);
  logits[40] = logits[41] = logits[400];
  double sum = 0;
  for (const float v : logits) sum += std::exp(double{v});
  for (const SamplerParams& p : {SamplerParams{.temperature = 0.8F, .top_k = 5, .seed = 1},
                                 {.temperature = 2, .top_k = 20, .top_p = 0.8F, .seed = 2},
                                 {.temperature = 1, .top_k = 8, .repeat_penalty = 1.5F, .repeat_last = 12},
                                 {.temperature = 0, .repeat_penalty = 3, .repeat_last = 20}}) {
    Sampler all(p), few(p);
    std::vector<float> sorted = logits;
    std::ranges::sort(sorted, std::greater());
    std::vector<TokenLogit> largest;
    for (size_t i = 0; i < logits.size(); ++i)
      if (logits[i] >= sorted[few.wanted() - 1]) largest.push_back({static_cast<int32_t>(i), logits[i]});
    std::vector<int32_t> history;
    for (int i = 0; i < 40; ++i) {
      const auto wanted = all.sample(logits, history);
      const SampledToken found = few.sample_among(largest, std::log(sum), history);
      EXPECT_EQ(found.id, wanted->id);
      EXPECT_NEAR(found.logprob, wanted->logprob, 1e-5);
      history.push_back(found.id);
    }
  }
  EXPECT_EQ(Sampler({.temperature = 1}).wanted(), 0U);  // these depend on all logits
  EXPECT_EQ(Sampler({.temperature = 1, .top_k = 9, .repeat_penalty = 0.5F}).wanted(), 0U);
}

TEST(SamplerTest, AsManyTokensAsANumberHoldsAreAll) {
  for (const auto& [top_k, repeat_last] : {std::pair(UINT32_MAX, 64U), std::pair(40U, UINT32_MAX)}) {
    const SamplerParams p{
        .temperature = 1, .top_k = top_k, .repeat_penalty = 1.1F, .repeat_last = repeat_last};
    EXPECT_EQ(Sampler(p).wanted(), 0U);
  }
}

TEST(Sampler, NothingToChoose) {
  for (const float temperature : {0.0F, 1.0F}) {
    Sampler sampler(hot(temperature));
    EXPECT_EQ(sampler.sample(std::vector<float>{}, {}), std::nullopt);
    EXPECT_EQ(sampler.sample(std::vector<float>{-kInf, -kInf}, {}), std::nullopt);
    EXPECT_EQ(sampler.sample(std::vector<float>{1, Limits::quiet_NaN()}, {}), std::nullopt);
    EXPECT_EQ(sampler.sample(std::vector<float>{Limits::quiet_NaN(), 1}, {}), std::nullopt);
    EXPECT_EQ(sampler.sample(std::vector<float>{1, kInf}, {}), std::nullopt);
    EXPECT_EQ(sampler.sample(std::vector<float>{-kInf, 1, -kInf}, {})->id, 1);
  }
}

TEST(Sampler, ExtremesStayFinite) {
  const std::vector<float> wide{Limits::lowest(), Limits::max(), 0, Limits::denorm_min()};
  for (const float temperature : {Limits::denorm_min(), Limits::min(), 1e-6F, 1.0F}) {
    SamplerParams p = hot(temperature);
    p.top_p = 0.9F;
    EXPECT_EQ(support(p, wide), (std::set<int32_t>{1})) << temperature;
  }
  EXPECT_EQ(support(hot(1e-6F), {1, 1.001F, 0}), (std::set<int32_t>{1}));
  EXPECT_EQ(support(hot(Limits::max()), {1, 5, 0}).size(), 3U);
  EXPECT_EQ(Sampler({}).sample(wide, {})->logprob, 0.0F);
}

TEST(Sampler, AVocabularyOf128256) {
  std::vector<float> logits(128256);
  for (size_t i = 0; i < logits.size(); ++i)
    logits[i] = static_cast<float>((i * 7919) % logits.size()) * 1e-3F;
  SamplerParams p = hot();
  p.top_k = 40;
  p.top_p = 0.95F;
  p.min_p = 0.05F;
  p.repeat_penalty = 1.1F;
  const float border = static_cast<float>(logits.size() - 41) * 1e-3F;
  Sampler sampler(p);
  for (int i = 0; i < 100; ++i)
    EXPECT_GT(logits[static_cast<size_t>(sampler.sample(logits, {})->id)], border);
}

}  // namespace
}  // namespace bitnet
