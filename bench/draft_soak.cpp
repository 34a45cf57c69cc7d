// Decodes with guesses and without, for many seeds and settings, and says where anything differs: tokens,
// log-probabilities, the reason to finish, the timeline, logits, or keys and values. Guesses are right,
// nearly right, wrong from some token on, random, or right but for the last of each pass; turns end by
// themselves, by their caller or by a cancel. Then each turn is taken once more while another thread cancels
// it again and again, whatever is being done, and it goes on: in the end there must be the same timeline.
//
//   draft_soak FILE [--device NAME] [--cases 1000] [--seed 1]
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "engine/drafts.h"
#include "engine/engine.h"
#include "engine/kernel_options.h"
#include "engine/open_model.h"

namespace {

using namespace bitnet;
using Tokens = std::vector<int32_t>;

struct Case {
  SamplerParams sampler;
  Tokens prompt;
  DecodeOptions how;
  uint32_t stop_after = UINT32_MAX;
  bool by_cancel = false;
};

struct Decoded {
  std::vector<SampledToken> tokens;
  Finish finish{};
  Tokens timeline;
  std::vector<float> logits;
  std::vector<std::byte> saved;
  uint64_t drafted = 0, right = 0;
};

bool same(const Decoded& a, const Decoded& b) {
  return a.tokens == b.tokens && a.finish == b.finish && a.timeline == b.timeline && a.logits == b.logits &&
         a.saved == b.saved;
}

Decoded decode(Session& session, const Case& c, Drafts* drafts) {
  session.sync(c.prompt);
  const SessionStats before = session.stats();
  Sampler sampler(c.sampler);
  DecodeOptions how = c.how;
  how.drafts = drafts;
  Decoded d;
  d.finish = session.decode(sampler, how, [&](const SampledToken& token) {
    d.tokens.push_back(token);
    const bool stop = d.tokens.size() == c.stop_after;
    if (stop && c.by_cancel) session.cancel();
    return !stop || c.by_cancel;
  });
  d.timeline.assign(session.tokens().begin(), session.tokens().end());
  const std::span<const float> logits = session.logits();
  d.logits.assign(logits.begin(), logits.end());
  d.saved = session.save();
  d.drafted = session.stats().drafted_tokens - before.drafted_tokens;
  d.right = session.stats().right_tokens - before.right_tokens;
  return d;
}

// The timeline after a turn that is cancelled after `pauses` of microseconds, and goes on each time.
Tokens decode_cancelled(Session& session, const Case& c, Drafts& drafts, std::span<const uint32_t> pauses) {
  session.sync(c.prompt);
  Sampler sampler(c.sampler);
  DecodeOptions how = c.how;
  how.drafts = &drafts;
  Finish finish = Finish::interrupted;
  for (size_t i = 0; finish == Finish::interrupted; ++i) {
    how.max_tokens = c.how.max_tokens - static_cast<uint32_t>(session.tokens().size() - c.prompt.size());
    if (how.max_tokens == 0) break;  // the cancel came with the last token
    std::thread canceller;
    if (i < pauses.size())
      canceller = std::thread([&, pause = pauses[i]] {
        std::this_thread::sleep_for(std::chrono::microseconds(pause));
        session.cancel();
      });
    finish = session.decode(sampler, how, [](const SampledToken&) { return true; });
    if (canceller.joinable()) canceller.join();
  }
  return {session.tokens().begin(), session.tokens().end()};
}

class Soak {
 public:
  Soak(uint32_t seed, uint32_t n_vocab) : random_(seed), n_vocab_(n_vocab) {}

  Case next_case() {
    Case c;
    c.sampler = {.temperature = one_of({0.0F, 0.0F, 0.7F, 1.0F, 1.3F}),
                 .top_k = one_of({0U, 8U, 40U, 100U}),
                 .top_p = one_of({1.0F, 0.95F, 0.7F}),
                 .min_p = one_of({0.0F, 0.05F}),
                 .repeat_penalty = one_of({1.0F, 1.0F, 1.2F, 0.8F}),
                 .seed = random_()};
    c.prompt = some_tokens(1 + random_() % 24);
    c.how.max_tokens = one_of({1U, 7U, 16U, 24U, 32U});
    if (random_() % 3 == 0) c.stop_after = 1 + random_() % 24;
    c.by_cancel = random_() % 2 == 0;
    return c;
  }

  // A text like the timeline that comes without guesses; every `pass`th token is wrong in the last kind.
  Tokens text(Tokens right, uint32_t pass) {
    const uint32_t kind = random_() % 5;
    if (kind == 3) return some_tokens(right.size());
    for (size_t i = 12; i < right.size(); ++i) {
      const bool wrong = kind == 1 ? random_() % 5 == 0 : kind == 2 ? i >= 16 : kind == 4 && i % pass == 0;
      if (wrong) right[i] = some_tokens(1)[0];
    }
    return right;
  }

  std::vector<uint32_t> pauses() {
    std::vector<uint32_t> times(random_() % 6);
    for (uint32_t& t : times) t = random_() % (random_() % 2 == 0 ? 500 : 10000);
    return times;
  }

  // A stop token that may come, in some of the cases.
  void add_stop(Case& c, const Decoded& without) {
    if (random_() % 4 == 0 && !without.tokens.empty())
      c.how.stop_tokens = {without.tokens[random_() % without.tokens.size()].id};
  }

 private:
  template <typename T>
  T one_of(std::initializer_list<T> values) {
    return values.begin()[random_() % values.size()];
  }
  Tokens some_tokens(size_t n) {
    Tokens tokens(n);
    for (int32_t& t : tokens) t = static_cast<int32_t>(random_() % n_vocab_);
    return tokens;
  }

  std::mt19937 random_;
  uint32_t n_vocab_;
};

int run(const std::string& file, EngineOptions options, uint32_t cases, uint32_t seed) {
  struct Opened {
    std::unique_ptr<Engine> engine;
    std::unique_ptr<Session> session;
  };
  std::map<uint32_t, Opened> opened;  // by the tokens of each guess
  const auto checkpoint = open_model(file);
  for (const uint32_t n : {1U, 3U, 7U, 8U, 15U}) {
    options.kernels = share({.draft_tokens = n});
    Opened& o = opened[n];
    o.engine = Engine::open(*checkpoint, options);
    o.session = Session::create(*o.engine, 64);
  }
  Soak soak(seed, opened[1].engine->model().n_vocab);
  uint64_t drafted = 0, right = 0, wrong_cases = 0;
  for (uint32_t i = 0; i < cases; ++i) {
    auto& [n, o] = *std::next(opened.begin(), i % opened.size());
    Case c = soak.next_case();
    Decoded wanted = decode(*o.session, c, nullptr);
    soak.add_stop(c, wanted);
    if (!c.how.stop_tokens.empty()) wanted = decode(*o.session, c, nullptr);
    Drafts drafts;
    drafts.learn(soak.text(wanted.timeline, n + 1));
    const Decoded found = decode(*o.session, c, &drafts);
    drafted += found.drafted;
    right += found.right;
    bool is_same = same(found, wanted);
    c.stop_after = UINT32_MAX;
    const Decoded whole = decode(*o.session, c, nullptr);
    is_same = is_same && decode_cancelled(*o.session, c, drafts, soak.pauses()) == whole.timeline;
    if (is_same) continue;
    ++wrong_cases;
    fmt::print("case {} differs: guesses of {}, temperature {}, seed {}\n", i, n, c.sampler.temperature,
               c.sampler.seed);
  }
  fmt::print("{} cases, {} differ; {} tokens guessed, {} right\n", cases, wrong_cases, drafted, right);
  return wrong_cases == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  std::string file;
  bitnet::EngineOptions options;
  uint32_t cases = 1000, seed = 1;
  const std::vector<std::string> args(argv + 1, argv + argc);
  for (size_t i = 0; i < args.size(); ++i) {
    const auto value = [&] { return i + 1 < args.size() ? args[++i] : std::string("1"); };
    if (args[i] == "--device")
      options.device = value();
    else if (args[i] == "--cases")
      cases = static_cast<uint32_t>(std::stoul(value()));
    else if (args[i] == "--seed")
      seed = static_cast<uint32_t>(std::stoul(value()));
    else
      file = args[i];
  }
  return run(file, options, cases, seed);
}
