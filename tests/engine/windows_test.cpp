// Models of Gemma 4's kind, whose local layers see a window of 16 or of 512 keys, over 600 tokens: whatever
// way a timeline came about, the numbers are those of one that was computed at once. families_test.py
// compares such models with a reference.
#include "session.h"

namespace bitnet {
namespace {

using testing::ElementsAreArray;

constexpr size_t kTokens = 600;

struct Case {
  std::string name, device, path;
};

// A software device takes many seconds for one of them.
std::vector<Case> cases() {
  std::vector<Case> all = {{"Cpu16", "cpu", BITNET_GEMMA_16}, {"Cpu512", "cpu", BITNET_GEMMA_512}};
  if (devices().size() > 1) all.push_back({"Vulkan16", "0", BITNET_GEMMA_16});
  return all;
}

class Windows : public testing::TestWithParam<Case> {
 protected:
  Windows() : device(GetParam().device), path(GetParam().path) {
    auto& shared = shared_engines->engines[device + path];
    if (!shared) shared = Engine::open(Checkpoint(path), on(device));
    engine = shared.get();
    std::mt19937 rng(5);
    for (size_t i = 0; i < kTokens; ++i)
      tokens.push_back(static_cast<int32_t>(rng() % engine->model().n_vocab));
  }

  std::vector<float> logits_of(Session& session) {
    session.sync(tokens);
    return copy(session.logits());
  }
  static std::vector<int32_t> decoded(Session& session) {
    std::vector<int32_t> ids;
    Sampler greedy({.temperature = 0});
    session.decode(greedy, {.max_tokens = 8}, [&](const SampledToken& t) {
      ids.push_back(t.id);
      return true;
    });
    return ids;
  }

  const std::string device, path;
  Engine* engine;
  std::vector<int32_t> tokens;
};
INSTANTIATE_TEST_SUITE_P(On, Windows, testing::ValuesIn(cases()),
                         [](const auto& info) { return info.param.name; });

TEST_P(Windows, RewindsAndSavedTimelinesGiveTheNumbersOfOneThatWasComputedAtOnce) {
  const auto whole = Session::create(*engine, 0);
  const std::vector<float> wanted = logits_of(*whole);
  const std::vector<std::byte> payload = whole->save();
  const std::vector<int32_t> answer = decoded(*whole);

  const auto session = Session::create(*engine, 0);
  session->sync(std::vector<int32_t>(kTokens + 50, 7));
  const std::vector<size_t> rewinds =
      device == "cpu" ? std::vector<size_t>{590, 300, 17} : std::vector<size_t>{300};
  for (const size_t kept : rewinds) {
    std::vector<int32_t> other(tokens.begin(), tokens.begin() + static_cast<ptrdiff_t>(kept));
    other.resize(kTokens + 20, (tokens[kept] + 1) % 300);
    session->sync(other);
    EXPECT_EQ(logits_of(*session), wanted) << "after a rewind to " << kept;
    EXPECT_THAT(decoded(*session), ElementsAreArray(answer));
  }

  const auto loaded = Session::create(*engine, 0);
  loaded->load(payload);
  EXPECT_EQ(logits_of(*loaded), wanted);
  EXPECT_THAT(decoded(*loaded), ElementsAreArray(answer));
}

}  // namespace
}  // namespace bitnet
