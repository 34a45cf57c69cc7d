// Whatever is guessed, decoding gives the same tokens, log-probabilities, keys, values and reason to finish.
#include "engine/kernel_options.h"
#include "session.h"

namespace bitnet {
namespace {

using Tokens = std::vector<int32_t>;

struct Decoded {
  std::vector<SampledToken> tokens;
  Finish finish{};
  Tokens timeline;
  std::vector<std::byte> saved;
  std::vector<float> logits;
  SessionStats stats;
  bool operator==(const Decoded& o) const {
    return tokens == o.tokens && finish == o.finish && timeline == o.timeline && saved == o.saved &&
           logits == o.logits;
  }
};

class DraftSessionTest : public OnDevice {
 protected:
  // Passes of so many guessed tokens, whatever they take, with a shortlist as for tokens alone.
  static std::unique_ptr<Engine> open_drafting(PassCheck check) {
    EngineOptions options = on(current_device);
    options.kernels =
        share({.head_shortlist = HeadShortlist::always, .draft_tokens = 5, .pass_check = check});
    return Engine::open(model_file(), options);
  }
  static Engine& drafting_engine() {
    auto& engine = shared_engines->engines["drafts on " + current_device];
    if (!engine) engine = open_drafting(PassCheck::always);
    return *engine;
  }

  static Decoded decode(const SamplerParams& params, const DecodeOptions& options, Drafts* drafts,
                        uint32_t stop_after = UINT32_MAX, bool by_cancel = false, uint32_t n_ctx = 0) {
    return decode_on(drafting_engine(), params, options, drafts, stop_after, by_cancel, n_ctx);
  }

  static Decoded decode_on(Engine& engine, const SamplerParams& params, DecodeOptions options, Drafts* drafts,
                           uint32_t stop_after = UINT32_MAX, bool by_cancel = false, uint32_t n_ctx = 0) {
    options.drafts = drafts;
    const auto session = Session::create(engine, n_ctx);
    session->sync(random_tokens(9, 41));
    Sampler sampler(params);
    Decoded d;
    d.finish = session->decode(sampler, options, [&](const SampledToken& token) {
      d.tokens.push_back(token);
      const bool stop = d.tokens.size() == stop_after;
      if (stop && by_cancel) session->cancel();
      return !stop || by_cancel;
    });
    d.timeline.assign(session->tokens().begin(), session->tokens().end());
    d.logits = copy(session->logits());
    d.saved = session->save();
    d.stats = session->stats();
    return d;
  }

  // Texts that go on rightly, rightly but for a token now and then, wrongly from some token on, at random,
  // and with tokens that the model does not have.
  static std::vector<Tokens> texts(const Tokens& right) {
    Tokens nearly = right, wrong = right;
    for (size_t i = 12; i < nearly.size(); i += 5) nearly[i] ^= 1;
    for (size_t i = 14; i < wrong.size(); ++i) wrong[i] = 7;
    return {right, nearly, wrong, random_tokens(60, 5)};
  }
};

TEST_P(DraftSessionTest, GuessesChangeNothing) {
  const SamplerParams settings[] = {
      {},
      {.temperature = 0.8F, .top_k = 40, .top_p = 0.95F, .seed = 4},
      {.temperature = 1.2F, .top_k = 8, .min_p = 0.05F, .repeat_penalty = 1.3F, .seed = 5},
      {.temperature = 0.7F, .repeat_penalty = 0.8F, .seed = 6},  // which no device samples
  };
  uint64_t right = 0, drafted = 0;
  for (const SamplerParams& params : settings) {
    const DecodeOptions options{.max_tokens = 30, .stop_tokens = {}};
    const Decoded wanted = decode(params, options, nullptr);
    ASSERT_EQ(wanted.tokens.size(), 30);
    for (const Tokens& text : texts(wanted.timeline)) {
      Drafts drafts;
      drafts.learn(text);
      const Decoded found = decode(params, options, &drafts);
      EXPECT_EQ(found, wanted);
      EXPECT_EQ(found.stats.differing_pass, 0);
      drafted += found.stats.drafted_tokens;
      right += found.stats.right_tokens;
    }
  }
  EXPECT_GT(right, 100);
  EXPECT_GT(drafted, right);
}

TEST_P(DraftSessionTest, EndsWhereItWouldEndWithout) {
  const SamplerParams params{.temperature = 0.8F, .top_k = 40, .seed = 9};
  const Decoded whole = decode(params, {.max_tokens = 40, .stop_tokens = {}}, nullptr);
  Drafts drafts;
  const auto compare = [&](const DecodeOptions& options, uint32_t stop_after, bool by_cancel,
                           uint32_t n_ctx) {
    drafts.forget();
    drafts.learn(whole.timeline);
    const Decoded wanted = decode(params, options, nullptr, stop_after, by_cancel, n_ctx);
    EXPECT_EQ(decode(params, options, &drafts, stop_after, by_cancel, n_ctx), wanted)
        << options.max_tokens << " " << stop_after << " " << by_cancel;
  };
  for (const uint32_t n : {1, 2, 5, 6, 7, 8, 13}) {
    compare({.max_tokens = n, .stop_tokens = {}}, UINT32_MAX, false, 0);
    compare({}, n, /*by_cancel=*/false, 0);
    compare({}, n, /*by_cancel=*/true, 0);
    compare({.stop_tokens = {whole.tokens[n].id}}, UINT32_MAX, false, 0);
  }
  for (const uint32_t n_ctx : {16, 17, 21, 32}) compare({}, UINT32_MAX, false, n_ctx);
}

TEST_P(DraftSessionTest, NothingIsGuessedBehindAPassThatDiffers) {
  const DecodeOptions options{.max_tokens = 12, .stop_tokens = {}};
  const SamplerParams of_device{.temperature = 0.8F, .top_k = 40, .seed = 4},
      of_host{.temperature = 0.7F, .repeat_penalty = 0.8F, .seed = 6};
  for (const SamplerParams& params : {SamplerParams(), of_device, of_host}) {
    const Decoded wanted = decode(params, options, nullptr);
    const std::unique_ptr<Engine> engine = open_drafting(PassCheck::fails);
    for (const bool is_first : {true, false}) {
      Drafts drafts;
      drafts.learn(wanted.timeline);
      const Decoded found = decode_on(*engine, params, options, &drafts);
      EXPECT_EQ(found, wanted);
      EXPECT_EQ(found.stats.drafted_tokens, 0);
      EXPECT_EQ(found.stats.differing_pass, is_first ? 6 : 0);
    }
  }
}

// The text may be of another model.
TEST_P(DraftSessionTest, TokensThatTheModelDoesNotHaveAreNotTried) {
  const DecodeOptions options{.max_tokens = 10, .stop_tokens = {}};
  Drafts none;
  const Decoded wanted = decode({}, options, &none);
  for (const int32_t id : {-7, static_cast<int32_t>(engine().model().n_vocab), INT32_MAX, INT32_MIN}) {
    Drafts drafts;
    const Tokens& t = wanted.timeline;
    drafts.learn(Tokens{t[9], t[10], t[11], id, id, id});
    const Decoded found = decode({}, options, &drafts);
    EXPECT_EQ(found, wanted);
    EXPECT_EQ(found.stats.drafted_tokens, wanted.stats.drafted_tokens) << id;
  }
}

INSTANTIATE_TEST_SUITE_P(On, DraftSessionTest, testing::ValuesIn(devices()), name_of_device);

}  // namespace
}  // namespace bitnet
