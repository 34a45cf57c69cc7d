// Tests a session's timeline on both backends: whatever way the tokens came in, the logits are the same bits.
#include "tests/engine/session.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <numeric>
#include <thread>

namespace bitnet {
namespace {

using testing::ElementsAreArray;

class SessionTest : public OnDevice {};
INSTANTIATE_TEST_SUITE_P(On, SessionTest, testing::ValuesIn(devices()), name_of_device);

TEST_P(SessionTest, BatchesOfAnySizeGiveTheSameBits) {
  const auto tokens = random_tokens(150, 1);
  std::vector<std::vector<float>> all;
  for (const uint32_t batch : {1U, 3U, 7U, 64U, 0U}) {
    const auto session = Session::create(engine(), 0);
    std::vector<float> logits;
    std::vector<uint32_t> positions;
    SyncOptions options;
    options.batch = batch;
    options.on_logits = [&](uint32_t position, std::span<const float> row) {
      positions.push_back(position);
      logits.insert(logits.end(), row.begin(), row.end());
    };
    const SyncResult result = session->sync(tokens, options);
    EXPECT_EQ(result.evaluated, tokens.size());
    std::vector<uint32_t> wanted(tokens.size());
    std::iota(wanted.begin(), wanted.end(), 0U);
    ASSERT_EQ(positions, wanted);
    const size_t last = logits.size() - engine().model().n_vocab;
    EXPECT_EQ(copy(session->logits()), std::vector<float>(logits.begin() + last, logits.end()));
    all.push_back(std::move(logits));
  }
  for (size_t i = 1; i < all.size(); ++i) EXPECT_EQ(all[i], all[0]) << "batch choice " << i;
}

TEST_P(SessionTest, ACancelEndsTheLogitsOfABatch) {
  const auto session = Session::create(engine(), 0);
  const auto tokens = random_tokens(100, 3);
  size_t rows = 0;
  const SyncOptions options{.batch = 100, .on_logits = [&](uint32_t, std::span<const float>) {
                              ++rows;
                              session->cancel();
                            }};
  EXPECT_TRUE(session->sync(tokens, options).cancelled);
  EXPECT_LT(rows, tokens.size());
  EXPECT_LT(session->tokens().size(), tokens.size());
  EXPECT_THROW(session->logits(), Error);
  EXPECT_THROW(decoded(*session, 1), Error);
  session->sync(tokens);
  const auto anew = Session::create(engine(), 0);
  anew->sync(tokens);
  EXPECT_EQ(copy(session->logits()), copy(anew->logits()));
}

TEST_P(SessionTest, ReusesTheCommonPrefixAndRewinds) {
  const auto session = Session::create(engine(), 0);
  auto tokens = random_tokens(40, 2);
  EXPECT_EQ(session->sync(tokens).reused, 0U);
  for (int32_t t : {5, 6, 7}) tokens.push_back(t);
  SyncResult result = session->sync(tokens);
  EXPECT_EQ(result.reused, 40U);
  EXPECT_EQ(result.evaluated, 3U);
  EXPECT_EQ(copy(session->logits()), logits_after(tokens));

  for (const size_t change : {20U, 3U}) {  // two rewinds, the second deeper
    tokens.resize(change + 12);
    tokens[change] ^= 1;
    result = session->sync(tokens);
    EXPECT_EQ(result.reused, change);
    EXPECT_THAT(session->tokens(), ElementsAreArray(tokens));
    EXPECT_EQ(copy(session->logits()), logits_after(tokens));
  }

  tokens.resize(10);  // a prefix of what is there: its last token is evaluated for its logits
  EXPECT_EQ(session->sync(tokens).evaluated, 1U);
  EXPECT_EQ(copy(session->logits()), logits_after(tokens));
}

// What a batch has evaluated when a stop comes is given up, so that nobody waits for its end, and does not
// change what is computed after it.
TEST_P(SessionTest, ABatchIsStoppedInItsMiddle) {
  const auto tokens = random_tokens(150, 21);
  std::atomic<bool> done = false;
  bool stopped = false;
  for (int tries = 0; !stopped; ++tries) {  // until the other thread happens to be quick enough
    ASSERT_LT(tries, 1000);
    const auto session = Session::create(engine(), 0);
    done = false;
    std::thread other([&] {
      while (!done) session->cancel();
    });
    const SyncResult result = session->sync(tokens, {.batch = 150});
    done = true;
    other.join();
    stopped = result.cancelled && session->tokens().empty();
    ASSERT_TRUE(stopped || session->tokens().size() == tokens.size());
    if (!stopped) continue;
    session->sync(tokens);
    EXPECT_EQ(copy(session->logits()), logits_after(tokens));
  }
}

int32_t first_largest(std::span<const float> v) {
  return static_cast<int32_t>(std::max_element(v.begin(), v.end()) - v.begin());
}

float log_softmax(std::span<const float> v, int32_t id) {
  double sum = 0;
  for (float x : v) sum += std::exp(double{x} - v[id]);
  return static_cast<float>(-std::log(sum));
}

TEST_P(SessionTest, GreedyDecodeIsTheArgmaxOfTheLogits) {
  auto tokens = random_tokens(9, 3);
  const auto session = Session::create(engine(), 0);
  session->sync(tokens);
  Sampler greedy({});
  std::vector<SampledToken> decoded;
  const Finish finish = session->decode(greedy, {.max_tokens = 12}, [&](const SampledToken& t) {
    decoded.push_back(t);
    return true;
  });
  EXPECT_EQ(finish, Finish::length);
  ASSERT_EQ(decoded.size(), 12U);
  for (const SampledToken& t : decoded) {
    const auto logits = logits_after(tokens);
    ASSERT_EQ(t.id, first_largest(logits));
    EXPECT_NEAR(t.logprob, log_softmax(logits, t.id), 1e-4);
    tokens.push_back(t.id);
  }
  EXPECT_THAT(session->tokens(), ElementsAreArray(tokens));
  EXPECT_EQ(copy(session->logits()), logits_after(tokens));  // the last one was evaluated too
}

TEST_P(SessionTest, SampledDecodeRepeatsWithItsSeed) {
  const auto tokens = random_tokens(9, 4);
  const auto sample = [&](uint64_t seed) {
    const auto session = Session::create(engine(), 0);
    session->sync(tokens);
    Sampler sampler({.temperature = 0.8F, .top_k = 40, .top_p = 0.95F, .seed = seed});
    std::vector<int32_t> ids;
    session->decode(sampler, {.max_tokens = 20}, [&](const SampledToken& t) {
      ids.push_back(t.id);
      return true;
    });
    return ids;
  };
  EXPECT_EQ(sample(1), sample(1));
  EXPECT_NE(sample(1), sample(2));
}

TEST_P(SessionTest, SampledDecodeIsWhatTheSamplerChooses) {
  std::vector<SamplerParams> settings;
  for (const uint64_t seed : {1, 2}) {
    settings.push_back({.temperature = 0.8F, .top_k = 40, .top_p = 0.95F, .seed = seed});
    settings.push_back({.temperature = 3.0F, .top_k = 100, .min_p = 0.05F, .seed = seed});
    settings.push_back(
        {.temperature = 1.5F, .top_k = 50, .repeat_penalty = 1.3F, .repeat_last = 20, .seed = seed});
  }
  settings.push_back({.temperature = 0.0F, .repeat_penalty = 1.5F, .repeat_last = 128});
  settings.push_back({.temperature = 1.0F, .top_p = 0.7F});                        // all tokens
  settings.push_back({.temperature = 1.0F, .top_k = 20, .repeat_penalty = 0.7F});  // likelier when repeated
  for (const SamplerParams& params : settings) expect_choices_of_the_sampler(engine(), params);
}

TEST_P(SessionTest, EndsForTheRightReason) {
  const auto tokens = random_tokens(9, 5);
  const auto session = Session::create(engine(), 16);
  session->sync(tokens);
  Sampler greedy({});
  std::vector<int32_t> ids;
  const auto keep = [&](const SampledToken& t) {
    ids.push_back(t.id);
    return true;
  };
  EXPECT_EQ(session->decode(greedy, {}, keep), Finish::context);
  EXPECT_EQ(session->tokens().size(), 16U);
  EXPECT_EQ(ids.size(), 7U);

  const auto all = ids;
  ids.clear();
  session->sync(tokens);
  EXPECT_EQ(session->decode(greedy, {.stop_tokens = {all[3]}}, keep), Finish::stop);
  EXPECT_EQ(ids, std::vector<int32_t>(all.begin(), std::find(all.begin(), all.end(), all[3])));

  session->sync(tokens);
  EXPECT_EQ(session->decode(greedy, {}, [](const SampledToken&) { return false; }), Finish::interrupted);
  EXPECT_EQ(session->tokens().size(), tokens.size() + 1);  // what was given out is in the timeline
}

TEST_P(SessionTest, CancelStopsDecodeAndPrefill) {
  const auto session = Session::create(engine(), 0);
  session->sync(random_tokens(4, 6));
  Sampler greedy({});
  int given = 0;
  EXPECT_EQ(session->decode(greedy, {},
                            [&](const SampledToken&) {
                              if (++given == 3) std::thread([&] { session->cancel(); }).join();
                              return true;
                            }),
            Finish::interrupted);
  EXPECT_EQ(given, 3);

  const auto tokens = random_tokens(100, 7);
  SyncOptions options;
  options.batch = 10;
  options.on_progress = [&](uint32_t done, uint32_t total) {
    EXPECT_EQ(total, 100U);
    return done < 30;
  };
  const SyncResult result = session->sync(tokens, options);
  EXPECT_TRUE(result.cancelled);
  EXPECT_EQ(result.evaluated, 30U);
  EXPECT_THAT(session->tokens(), ElementsAreArray(tokens.begin(), tokens.begin() + 30));
  EXPECT_THROW(session->logits(), Error);
  EXPECT_EQ(session->sync(tokens).reused, 30U);  // it goes on from there
  EXPECT_EQ(copy(session->logits()), logits_after(tokens));
}

TEST_P(SessionTest, SavedTimelineContinuesWithTheSameBits) {
  auto tokens = random_tokens(50, 8);
  const auto session = Session::create(engine(), 0);
  session->sync(tokens);
  const auto payload = session->save();

  const auto other = Session::create(engine(), 0);
  other->load(payload);
  EXPECT_THAT(other->tokens(), ElementsAreArray(tokens));
  tokens.push_back(3);
  EXPECT_EQ(other->sync(tokens).reused, 50U);
  EXPECT_EQ(copy(other->logits()), logits_after(tokens));

  for (const size_t at : {size_t{0}, size_t{4}, size_t{20}, payload.size() / 2, payload.size() - 1}) {
    auto bad = payload;
    bad[at] ^= std::byte{1};
    EXPECT_THROW(other->load(bad), Error) << "byte " << at;
    EXPECT_TRUE(other->tokens().empty());
  }
  EXPECT_THROW(other->load(std::span(payload).first(payload.size() - 9)), Error);
  EXPECT_THROW(Session::create(engine(), 49)->load(payload), Error);
}

TEST_P(SessionTest, HiddenStatesOfTheLastPosition) {
  const auto tokens = random_tokens(20, 9);
  const auto& model = engine().model();
  std::vector<float> batched, single;
  const Observation of_batch = residual_stream(batched, 19), of_single = residual_stream(single, 19);
  SyncOptions options;
  options.observe = &of_batch;
  Session::create(engine(), 0)->sync(tokens, options);
  options.observe = &of_single;
  options.batch = 1;
  Session::create(engine(), 0)->sync(tokens, options);
  EXPECT_EQ(batched.size(), size_t{model.n_layer} * model.n_embd);
  EXPECT_EQ(batched, single);
}

TEST_P(SessionTest, RefusesWhatDoesNotFit) {
  const auto n_train = engine().model().n_ctx_train;
  EXPECT_THROW(Session::create(engine(), n_train + 1), Error);
  const auto session = Session::create(engine(), 8);
  EXPECT_EQ(session->n_ctx(), 8U);
  EXPECT_THROW(session->sync({}), Error);
  EXPECT_THROW(session->sync(std::vector<int32_t>(9, 1)), Error);
  EXPECT_THROW(session->sync(std::vector<int32_t>{-1}), Error);
  EXPECT_THROW(session->sync(std::vector<int32_t>{static_cast<int32_t>(engine().model().n_vocab)}), Error);
  Sampler greedy({});
  EXPECT_THROW(session->decode(greedy, {}, [](const SampledToken&) { return true; }), Error);
}

}  // namespace
}  // namespace bitnet
