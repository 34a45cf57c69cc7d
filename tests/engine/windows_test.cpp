// Models of Gemma 4's kind, whose local layers see a window of 16 or of 512 keys, over 900 tokens (on Vulkan
// 400 and 620): whatever way a timeline came about, the numbers are those of one that was computed at once
// with all keys kept. families_test.py compares such models with a reference.
#include <cmath>

#include "engine/kernel_options.h"
#include "session.h"

namespace bitnet {
namespace {

using testing::ElementsAreArray;

constexpr uint32_t kBatch = 32;  // so that rings have room for few tokens beside their windows

struct Case {
  std::string name, device, path;
  uint32_t n_tokens;
  // How many tokens a timeline is cut back to, and how many it keeps of them: all that are 112 back (128 with
  // the longer window), and elsewhere those before a snapshot.
  std::vector<std::pair<uint32_t, uint32_t>> rewinds;
  uint32_t last_snapshot;  // of a prompt of more than 500 tokens, or of 200
};
constexpr uint32_t kTurns[] = {200, 400, 600};

// A software device takes many seconds for one of them.
std::vector<Case> cases() {
  std::vector<Case> all = {
      {"Cpu16", "cpu", BITNET_GEMMA_16, 900, {{890, 890}, {850, 850}, {450, 399}, {300, 199}, {17, 0}}, 499},
      // The rings take nearly as much as all keys would, and one snapshot has to do.
      {"Cpu512", "cpu", BITNET_GEMMA_512, 900, {{890, 890}, {450, 199}, {17, 0}}, 199}};
  if (devices().size() > 1)
    all.push_back({"Vulkan16", "0", BITNET_GEMMA_16, 400, {{390, 390}, {250, 199}}, 199});
  return all;
}

std::vector<Case> cases_of_rewinds() {
  std::vector<Case> all = cases();
  if (devices().size() > 1)
    all.push_back({"Vulkan512", "0", BITNET_GEMMA_512, 620, {{610, 610}, {300, 199}}, 199});
  return all;
}

class Windows : public testing::TestWithParam<Case> {
 protected:
  Windows() : c(GetParam()), tokens(c.n_tokens) {
    std::mt19937 rng(5);
    for (int32_t& t : tokens) t = static_cast<int32_t>(rng() % whole().model().n_vocab);
  }

  // With the caches that batches of kMaxBatch tokens need, which keep all keys of this model's context.
  Engine& whole() const { return open("whole", {}); }
  Engine& rings() const { return open("rings", {.most_batch = kBatch}); }

  Engine& open(const std::string& name, const KernelOptions& kernels) const {
    auto& engine = shared_engines->engines[c.device + c.path + name];
    EngineOptions options = on(c.device);
    options.kernels = share(kernels);
    if (!engine) engine = Engine::open(Checkpoint(c.path), options);
    return *engine;
  }

  std::span<const int32_t> first(size_t n) const { return std::span(tokens).first(n); }
  // `kept` of the tokens, and others behind them.
  std::vector<int32_t> other(size_t kept, size_t n) const {
    std::vector<int32_t> other(tokens.begin(), tokens.begin() + static_cast<ptrdiff_t>(kept));
    other.resize(n, (tokens[kept] + 1) % 300);
    return other;
  }

  static std::vector<float> logits_of(Session& session, std::span<const int32_t> tokens) {
    session.sync(tokens);
    return copy(session.logits());
  }

  bool on_cpu() const { return c.device == "cpu"; }

  const Case& c;
  std::vector<int32_t> tokens;
};
INSTANTIATE_TEST_SUITE_P(On, Windows, testing::ValuesIn(cases()),
                         [](const auto& info) { return info.param.name; });

class Rewinds : public Windows {};
INSTANTIATE_TEST_SUITE_P(On, Rewinds, testing::ValuesIn(cases_of_rewinds()),
                         [](const auto& info) { return info.param.name; });

TEST_P(Rewinds, TimelinesThatWereCutBackHaveTheNumbersOfOneThatWasComputedAtOnce) {
  const auto at_once = Session::create(whole(), 0);
  const std::vector<float> wanted = logits_of(*at_once, tokens);
  const std::vector<int32_t> answer = decoded(*at_once, 8);

  const auto session = Session::create(rings(), 0);
  for (const uint32_t n : kTurns) session->sync(first(std::min(n, c.n_tokens)));
  EXPECT_EQ(logits_of(*session, tokens), wanted);
  EXPECT_THAT(decoded(*session, 8), ElementsAreArray(answer));

  for (const auto& [kept, reused] : c.rewinds) {
    SCOPED_TRACE(kept);
    EXPECT_EQ(session->sync(other(kept, c.n_tokens + 20)).reused, reused);
    EXPECT_EQ(logits_of(*session, tokens), wanted);
    EXPECT_THAT(decoded(*session, 8), ElementsAreArray(answer));
  }
  if (!on_cpu()) return;
  const auto one_by_one = Session::create(rings(), 0);
  one_by_one->sync(tokens, {.batch = 1});
  EXPECT_EQ(copy(one_by_one->logits()), wanted);
}

TEST_P(Windows, SavedTimelinesGoOnWithTheSameNumbers) {
  const uint32_t n = c.n_tokens - 150;
  const auto at_once = Session::create(whole(), 0), session = Session::create(rings(), 0);
  const std::vector<float> wanted = logits_of(*at_once, tokens), early = logits_of(*session, first(n));
  const std::vector<std::byte> payload = session->save();
  EXPECT_EQ(payload.size(), session->save_bytes());
  at_once->sync(first(n));
  const std::vector<std::byte> all_rows = at_once->save();
  EXPECT_LT(payload.size(), all_rows.size());

  const auto expect_goes_on = [&](Engine& engine, const std::vector<std::byte>& saved) {
    const auto loaded = Session::create(engine, 0);
    loaded->load(saved);
    EXPECT_EQ(loaded->sync(first(n)).reused, n - 1);
    EXPECT_EQ(copy(loaded->logits()), early);
    EXPECT_EQ(loaded->save().size(), (&engine == &rings() ? payload : saved).size());
    EXPECT_EQ(logits_of(*loaded, tokens), wanted);
    const bool all_there = &engine == &whole() && &saved == &all_rows;
    EXPECT_EQ(loaded->sync(other(20, 30)).reused, all_there ? 20U : 0U);
  };
  expect_goes_on(rings(), payload);
  if (!on_cpu()) return;
  expect_goes_on(rings(), all_rows);
  expect_goes_on(whole(), payload);
  expect_goes_on(whole(), all_rows);

  // Bytes of the version, of the rotation, of the number of tokens, and of the oldest of which there is
  // state.
  for (const size_t at : {4, 48, 52, 56, 59}) {
    auto bad = payload;
    bad[at] ^= std::byte{1};
    EXPECT_THROW(session->load(bad), Error) << "byte " << at;
    EXPECT_TRUE(session->tokens().empty());
    session->load(session->save());  // of an empty timeline
  }
  EXPECT_EQ(logits_of(*session, tokens), wanted);
}

// An answer longer than the reach of the rings, of whose prompt a state is taken while it is decoded.
TEST_P(Windows, LongAnswersAreTheSameAndCanBeMadeAgain) {
  const uint32_t prompt = on_cpu() ? 500 : 200, n = on_cpu() ? 180 : 120;
  std::vector<SamplerParams> settings = {{.temperature = 0.9F, .top_k = 40, .seed = 3}};
  if (on_cpu()) settings.push_back({});
  if (on_cpu()) settings.push_back({.temperature = 0.9F, .seed = 3});  // among all tokens
  for (const SamplerParams& params : settings) {
    const auto at_once = Session::create(whole(), 0), session = Session::create(rings(), 0);
    at_once->sync(first(prompt));
    const std::vector<int32_t> answer = decoded(*at_once, n, params);
    for (const uint32_t turn : {200U, prompt}) session->sync(first(turn));
    EXPECT_EQ(decoded(*session, n, params), answer);
    EXPECT_EQ(copy(session->logits()), copy(at_once->logits()));
    EXPECT_EQ(session->sync(first(prompt)).reused, c.last_snapshot);
    EXPECT_THAT(decoded(*session, 8, params), ElementsAreArray(answer.begin(), answer.begin() + 8));
  }
}

TEST(WindowsMemory, IsThatOfTheRingsAndOfLayersThatSeeAll) {
  // Two local layers of four and a global one keep keys; they have two heads of 32 features, or of 64.
  const Checkpoint file(BITNET_GEMMA_16);
  for (const uint32_t n_ctx : {1024U, 8192U, 32768U}) {
    const MemoryPlan plan = plan_memory(file, n_ctx);
    const uint64_t local = std::min(n_ctx, 1152U);  // 16 + 1024 + 64, in whole chunks of 64
    EXPECT_EQ(plan.kv_cache, 2 * (2 * local * 2 * 32 + n_ctx * 2 * 64) * sizeof(uint16_t));
    EXPECT_EQ(plan.snapshots, 2 * 2 * (n_ctx - local) * 2 * 32 * sizeof(uint16_t));
    EXPECT_EQ(plan.kv_read, 2 * (2 * 16 * 2 * 32 + 2 * n_ctx * 2 * 64) * sizeof(uint16_t));
  }
}

// Of ten turns of a hundred tokens a budget of three states keeps some, and more of late than of early ones.
TEST(WindowsMemory, SnapshotsAreSpreadOverATimeline) {
  const uint64_t state = 2 * 15 * 2 * 2 * 32 * sizeof(uint16_t);
  EngineOptions options = on("cpu");
  options.kernels = share({.most_batch = kBatch, .snapshot_bytes = 3 * state});
  const auto engine = Engine::open(Checkpoint(BITNET_GEMMA_16), options);
  const auto session = Session::create(*engine, 0);
  std::vector<int32_t> tokens(1000, 5);
  for (size_t n = 100; n <= tokens.size(); n += 100) session->sync(std::span(tokens).first(n));
  std::vector<uint32_t> reused;
  for (const size_t cut : {850, 650, 450, 250}) {
    tokens.resize(cut);
    tokens.push_back(6);
    reused.push_back(session->sync(tokens).reused);
  }
  EXPECT_THAT(reused, testing::ElementsAre(799, 399, 399, 0));
}

}  // namespace
}  // namespace bitnet
