// A model of Qwen3.5's kind, most of whose layers remember what cannot be cut back: whatever way a timeline
// came about, its numbers are those of one that was computed at once.
#include "session.h"

namespace bitnet {
namespace {

using testing::ElementsAreArray;

class States : public OnDevice {
 protected:
  States() { current_device = GetParam(); }

  static Engine& states() {
    auto& engine = shared_engines->engines[current_device + " states"];
    if (!engine) engine = Engine::open(Checkpoint(BITNET_QWEN35), on(current_device));
    return *engine;
  }
  static bool on_cpu() { return current_device == "cpu"; }
  static std::unique_ptr<Session> fresh() { return Session::create(states(), 0); }
  static std::vector<float> logits_of(Session& session, const std::vector<int32_t>& tokens) {
    session.sync(tokens);
    return copy(session.logits());
  }
  // What a session that computes the tokens at once has, and says next.
  struct Wanted {
    std::vector<float> logits;
    std::vector<int32_t> answer;
  };
  static Wanted wanted(const std::vector<int32_t>& tokens) {
    const auto session = fresh();
    std::vector<float> logits = logits_of(*session, tokens);
    return {std::move(logits), decoded(*session, kAnswer)};
  }
  static void expect_goes_on(Session& session, const std::vector<int32_t>& tokens, const Wanted& w) {
    EXPECT_EQ(logits_of(session, tokens), w.logits);
    EXPECT_THAT(decoded(session, kAnswer), ElementsAreArray(w.answer));
  }
  std::vector<int32_t> first(size_t n) const {
    return {tokens.begin(), tokens.begin() + static_cast<ptrdiff_t>(n)};
  }
  // `kept` of the tokens, and others behind them.
  std::vector<int32_t> other(size_t kept, size_t more) const {
    std::vector<int32_t> other = first(kept);
    other.resize(kept + more, (tokens[kept] + 1) % 300);
    return other;
  }
  static std::vector<int32_t> some_tokens() {
    std::mt19937 rng(7);
    std::vector<int32_t> tokens(kTokens + 1);
    for (int32_t& t : tokens) t = static_cast<int32_t>(rng() % 300);
    return tokens;
  }

  static constexpr uint32_t kTokens = 300, kAnswer = 5;
  const std::vector<int32_t> tokens = some_tokens();
};
INSTANTIATE_TEST_SUITE_P(On, States, testing::ValuesIn(devices()), name_of_device);

TEST_P(States, TimelinesThatWereCutBackHaveTheNumbersOfOneThatWasComputedAtOnce) {
  const Wanted whole = wanted(first(kTokens));
  const auto session = fresh();
  session->sync(first(100), {.batch = kTokens});  // one batch, which leaves the state near its end too
  for (const uint32_t n : {101U, 230U, kTokens}) session->sync(first(n));
  expect_goes_on(*session, first(kTokens), whole);
  // How many tokens are kept, and how many of them a snapshot saves: those at the turns, and near their ends.
  const std::pair<uint32_t, uint32_t> rewinds[] = {{300, 285}, {299, 285}, {286, 285}, {285, 285}, {284, 215},
                                                   {230, 215}, {215, 215}, {213, 85},  {99, 85},   {84, 0},
                                                   {17, 0},    {1, 0},     {0, 0}};
  for (const auto& [kept, least] : rewinds) {
    if (!on_cpu() && kept % 2 == 0) continue;  // a software device takes long
    SCOPED_TRACE(kept);
    const SyncResult result = session->sync(other(kept, 3));
    EXPECT_LE(result.reused, kept);
    EXPECT_EQ(result.reused + result.evaluated, kept + 3);
    EXPECT_GE(result.reused + 5, least);
    EXPECT_EQ(logits_of(*session, other(kept, 3)), logits_of(*fresh(), other(kept, 3)));
    expect_goes_on(*session, first(kTokens), whole);
  }
}

TEST_P(States, BatchesOfAllSizesLeaveTheSameState) {
  const Wanted whole = wanted(first(kTokens));
  for (const uint32_t batch : {1U, 2U, 7U, 64U}) {
    if (!on_cpu() && batch < 7) continue;
    SCOPED_TRACE(batch);
    const auto session = fresh();
    session->sync(first(kTokens), {.batch = batch});
    EXPECT_EQ(copy(session->logits()), whole.logits);
    EXPECT_THAT(decoded(*session, kAnswer), ElementsAreArray(whole.answer));
  }
}

TEST_P(States, APromptThatWasStoppedGoesOn) {
  const Wanted whole = wanted(first(kTokens));
  for (const uint32_t batch : {1U, 8U, 51U, 64U}) {
    SCOPED_TRACE(batch);
    const auto session = fresh();
    session->sync(first(120));
    // The cancel comes while a batch is computed, or behind it.
    const SyncOptions options{.batch = batch, .on_progress = [&](uint32_t done, uint32_t) {
                                if (done > 80) session->cancel();
                                return true;
                              }};
    EXPECT_TRUE(session->sync(first(kTokens), options).cancelled);
    EXPECT_LT(session->tokens().size(), kTokens);
    expect_goes_on(*session, first(kTokens), whole);
  }
}

TEST_P(States, WhatWasComputedAheadInVainSpoilsNothing) {
  const std::vector<int32_t> prompt = first(90);
  std::vector<int32_t> answer;
  {
    const auto session = fresh();
    session->sync(prompt);
    answer = decoded(*session, 12);
  }
  const auto session = fresh();
  for (uint32_t n = 1; n <= 4; ++n) {  // ends at even and at odd positions
    SCOPED_TRACE(n);
    session->sync(prompt);
    uint32_t got = 0;
    Sampler sampler({});
    session->decode(sampler, {}, [&](const SampledToken&) { return ++got < n; });
    std::vector<int32_t> next = prompt;
    next.insert(next.end(), answer.begin(), answer.begin() + n);
    EXPECT_THAT(session->tokens(), ElementsAreArray(next));
    EXPECT_THAT(decoded(*session, 3), ElementsAreArray(std::span(answer).subspan(n, 3)));
    next.insert(next.end(), {5, 6, 7});
    EXPECT_EQ(logits_of(*session, next), logits_of(*fresh(), next));
  }
}

TEST_P(States, TheLastTokenOfAnAnswerCanBeTakenBack) {
  const auto session = fresh();
  session->sync(first(90));
  decoded(*session, kAnswer);
  const std::vector<int32_t> all(session->tokens().begin(), session->tokens().end());
  EXPECT_EQ(session->sync(all).reused, all.size() - 1);
}

TEST_P(States, ALongTextHasAStateEach1024Tokens) {
  if (states().device().software) GTEST_SKIP() << "it takes long";
  std::vector<int32_t> text(3300);
  for (size_t i = 0; i < text.size(); ++i) text[i] = static_cast<int32_t>(i * 7 % 300);
  const auto engine = Engine::open(Checkpoint(BITNET_QWEN35_LONG), on(current_device));
  const auto session = Session::create(*engine, 0);
  session->sync(text);
  for (const uint32_t kept : {3100U, 2300U, 1200U}) {
    std::vector<int32_t> other(text.begin(), text.begin() + kept);
    other.push_back((text[kept] + 1) % 300);
    EXPECT_GE(session->sync(other).reused + 1024, kept);
  }
}

TEST(StatesMemory, ThePlanHasASnapshotForEach64Tokens) {
  const Checkpoint file(BITNET_QWEN35_LONG);
  EXPECT_EQ(plan_memory(file, 63).snapshots, 0U);
  const MemoryPlan one = plan_memory(file, 64);
  // The states of two positions, and zeros for the largest part of one.
  EXPECT_GT(one.state, 2 * one.snapshots);
  EXPECT_LE(one.state, 3 * one.snapshots);
  EXPECT_EQ(plan_memory(file, 640).snapshots, 10 * one.snapshots);
}

TEST_P(States, SavedTimelinesGoOnWithTheSameNumbers) {
  const Wanted whole = wanted(first(kTokens));
  for (const uint32_t n : {200U, 201U}) {
    SCOPED_TRACE(n);
    const auto session = fresh();
    session->sync(first(n));
    decoded(*session, 3);
    session->sync(first(n));
    const std::vector<std::byte> payload = session->save();
    EXPECT_EQ(payload.size(), session->save_bytes());

    const auto loaded = fresh();
    loaded->load(payload);
    EXPECT_THAT(loaded->tokens(), ElementsAreArray(first(n)));
    EXPECT_EQ(loaded->sync(first(kTokens)).reused, n);
    EXPECT_EQ(copy(loaded->logits()), whole.logits);
    loaded->load(payload);
    EXPECT_GT(loaded->sync(other(n - 5, 3)).reused, n - 30)
        << "the state near the prompt's end was saved too";
    expect_goes_on(*loaded, first(kTokens), whole);
  }
}

TEST_P(States, WhatIsNoStateOfThisModelIsRefused) {
  const auto session = fresh();
  session->sync(first(150));
  decoded(*session, 3);
  const std::vector<std::byte> payload = session->save();
  const Wanted whole = wanted(first(kTokens));
  const auto expect_refused = [&](std::span<const std::byte> bad, const std::string& what) {
    EXPECT_THROW(session->load(bad), Error) << what;
    EXPECT_TRUE(session->tokens().empty());
    session->load(session->save());  // of an empty timeline, with the state of its beginning
  };
  for (const size_t at :
       {size_t{4}, size_t{52}, size_t{56}, payload.size() / 2, payload.size() - 9, payload.size() - 1}) {
    auto bad = payload;
    bad[at] ^= std::byte{1};
    expect_refused(bad, "byte " + std::to_string(at));
  }
  for (const size_t size : {size_t{0}, size_t{60}, payload.size() / 2, payload.size() - 1})
    expect_refused(std::span(payload).first(size), std::to_string(size) + " bytes");
  const auto another = Session::create(engine(), 0);
  another->sync(first(20));
  expect_refused(another->save(), "another model");
  EXPECT_THROW(another->load(payload), Error);
  expect_goes_on(*session, first(kTokens), whole);
}

}  // namespace
}  // namespace bitnet
