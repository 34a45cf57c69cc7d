// What the tests of sessions and of engines share: the backends of this machine and a model of random
// weights.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "engine/engine.h"

namespace bitnet {

// BITNET_TEST_MODEL is written by tests/support/make_model.py (tests/support/CMakeLists.txt has the command).
inline const Checkpoint& model_file() {
  static const Checkpoint file(BITNET_TEST_MODEL);
  return file;
}

// Both backends, each opened once.
inline const std::vector<std::string>& devices() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> names;
    if (!list_devices().front().cpu) names.emplace_back("0");
    names.emplace_back("cpu");
    return names;
  }();
  return names;
}

inline EngineOptions on(const std::string& device) {
  EngineOptions options;
  options.device = device;
  return options;
}

// Engines that tests share. They end with the tests, because drivers may be gone when the process ends.
class SharedEngines : public testing::Environment {
 public:
  void TearDown() override { engines.clear(); }
  std::map<std::string, std::unique_ptr<Engine>> engines;
};
inline auto* const shared_engines =
    static_cast<SharedEngines*>(testing::AddGlobalTestEnvironment(new SharedEngines));

inline Engine& engine_on(const std::string& device) {
  auto& engine = shared_engines->engines[device];
  if (!engine) engine = Engine::open(model_file(), on(device));
  return *engine;
}

inline std::string current_device;
inline Engine& engine() { return engine_on(current_device); }

class OnDevice : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override { current_device = GetParam(); }
};
inline std::string name_of_device(const testing::TestParamInfo<std::string>& info) {
  return info.param == "cpu" ? "Cpu" : "Vulkan";
}

inline std::vector<int32_t> random_tokens(size_t n, unsigned seed) {
  std::mt19937 rng(seed);
  std::vector<int32_t> tokens(n);
  for (int32_t& t : tokens) t = static_cast<int32_t>(rng() % engine().model().n_vocab);
  return tokens;
}

inline std::vector<float> copy(std::span<const float> values) { return {values.begin(), values.end()}; }

// Puts the residual stream after each block into `hidden`, of positions from `from` on.
inline Observation residual_stream(std::vector<float>& hidden, uint32_t from) {
  return {
      {Stage::residual}, 0, UINT32_MAX, from, [&hidden](auto, auto, auto, auto, std::span<const float> rows) {
        hidden.insert(hidden.end(), rows.begin(), rows.end());
      }};
}

inline std::vector<float> logits_after(const std::vector<int32_t>& tokens) {
  const auto session = Session::create(engine(), 0);
  session->sync(tokens);
  return copy(session->logits());
}

// Decodes up to n tokens and returns their ids.
inline std::vector<int32_t> decoded(Session& session, uint32_t n, const SamplerParams& params = {}) {
  std::vector<int32_t> ids;
  Sampler sampler(params);
  session.decode(sampler, {.max_tokens = n}, [&](const SampledToken& t) {
    ids.push_back(t.id);
    return true;
  });
  return ids;
}

// Checks that a choice is the one that the sampler makes of all logits, wherever it is made.
inline void expect_choices_of_the_sampler(Engine& model, const SamplerParams& params,
                                          float tolerance = 1e-4F) {
  const auto start = random_tokens(9, 41);
  auto tokens = start;
  const auto reference = Session::create(model, 0);
  Sampler host(params);
  std::vector<SampledToken> wanted;
  for (int i = 0; i < 20; ++i) {
    reference->sync(tokens);
    wanted.push_back(*host.sample(reference->logits(), tokens));
    tokens.push_back(wanted.back().id);
  }
  const auto session = Session::create(model, 0);
  session->sync(start);
  Sampler sampler(params);
  std::vector<SampledToken> found;
  session->decode(sampler, {.max_tokens = 20}, [&](const SampledToken& t) {
    found.push_back(t);
    return true;
  });
  ASSERT_EQ(found.size(), wanted.size());
  for (size_t i = 0; i < wanted.size(); ++i) {
    EXPECT_EQ(found[i].id, wanted[i].id) << "token " << i << ", temperature " << params.temperature;
    EXPECT_NEAR(found[i].logprob, wanted[i].logprob, tolerance);
  }
  EXPECT_THAT(session->tokens(), testing::ElementsAreArray(tokens));
}

}  // namespace bitnet
