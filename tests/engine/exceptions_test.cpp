// Tests what a session knows after an exception: a timeline that is true, and no logits of other tokens.
#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <stdexcept>

#include "tests/engine/session.h"
#include "tests/support/no_threads.h"

namespace bitnet {
namespace {

using testing::ElementsAreArray;

struct Failure : std::runtime_error {
  Failure() : std::runtime_error("the disk is full") {}
};

class Exceptions : public OnDevice {
 protected:
  // Decodes until on_token throws at the n-th token. Returns the tokens before it.
  static std::vector<int32_t> decode_to_exception(Session& session, uint32_t n, const SamplerParams& params,
                                                  Drafts* drafts = nullptr) {
    std::vector<int32_t> given;
    Sampler sampler(params);
    const auto on_token = [&](const SampledToken& token) {
      if (given.size() + 1 == n) throw Failure();
      given.push_back(token.id);
      return true;
    };
    EXPECT_THROW(session.decode(sampler, {.max_tokens = 20, .drafts = drafts}, on_token), Failure);
    return given;
  }

  static void expect_wants_sync(Session& session) {
    EXPECT_THROW(session.logits(), Error);
    EXPECT_THROW(decoded(session, 1), Error);
  }
};
INSTANTIATE_TEST_SUITE_P(On, Exceptions, testing::ValuesIn(devices()), name_of_device);

TEST_P(Exceptions, OfOnTokenLeaveATimelineThatGoesOnAfterASync) {
  auto prompt = random_tokens(30, 31);
  for (size_t i = 10; i < 30; ++i) prompt[i] = prompt[i - 10];  // so that there are guesses
  for (const SamplerParams& params :
       {SamplerParams(), SamplerParams{.temperature = 0.8F, .top_k = 40}, SamplerParams{.temperature = 1.0F}})
    for (const bool guesses : {false, true})
      for (const uint32_t n : {1U, 5U}) {
        SCOPED_TRACE(testing::Message() << "temperature " << params.temperature << " token " << n);
        const auto session = Session::create(engine(), 0);
        session->sync(prompt);
        Drafts drafts;
        std::vector<int32_t> line = prompt;
        for (const int32_t id : decode_to_exception(*session, n, params, guesses ? &drafts : nullptr))
          line.push_back(id);
        EXPECT_THAT(session->tokens(), ElementsAreArray(line));
        expect_wants_sync(*session);
        session->sync(line);
        EXPECT_EQ(copy(session->logits()), logits_after(line));
      }
}

// A model of Qwen3.5's kind cannot be cut back to each of its tokens.
TEST_P(Exceptions, OfOnTokenLeaveATimelineThatCanBeSaved) {
  const auto model = Engine::open(Checkpoint(BITNET_QWEN35), on(current_device));
  std::vector<int32_t> prompt(30);
  for (size_t i = 0; i < prompt.size(); ++i) prompt[i] = static_cast<int32_t>(i * 37 % 200 + 1);
  for (const uint32_t n : {1U, 4U, 5U}) {
    SCOPED_TRACE(n);
    const auto session = Session::create(*model, 0);
    session->sync(prompt);
    std::vector<int32_t> line = prompt;
    for (const int32_t id : decode_to_exception(*session, n, {})) line.push_back(id);
    const std::span<const int32_t> left = session->tokens();
    ASSERT_LE(left.size(), line.size());
    EXPECT_TRUE(std::equal(left.begin(), left.end(), line.begin()));
    const auto loaded = Session::create(*model, 0);
    loaded->load(session->save());
    EXPECT_THAT(loaded->tokens(), ElementsAreArray(left));
    line.insert(line.end(), {3, 14, 25, 36, 47, 58});
    loaded->sync(line);
    const auto fresh = Session::create(*model, 0);
    fresh->sync(line);
    EXPECT_EQ(copy(loaded->logits()), copy(fresh->logits()));
  }
}

TEST_P(Exceptions, OfOnLogitsLeaveATimelineWithoutLogits) {
  const auto tokens = random_tokens(30, 32);
  const auto session = Session::create(engine(), 0);
  int rows = 0;
  const SyncOptions options{.batch = 30, .on_logits = [&](uint32_t, std::span<const float>) {
                              if (++rows == 3) throw Failure();
                            }};
  EXPECT_THROW(session->sync(tokens, options), Failure);
  expect_wants_sync(*session);
  session->sync(tokens);
  EXPECT_EQ(copy(session->logits()), logits_after(tokens));
}

TEST_P(Exceptions, OfOnRowsLeaveATimelineWithoutLogits) {
  const auto tokens = random_tokens(30, 33);
  const auto session = Session::create(engine(), 0);
  const Observation what{
      {Stage::ffn}, 0, 1, 0, [](auto, auto, auto, auto, std::span<const float>) { throw Failure(); }};
  EXPECT_THROW(session->sync(tokens, {.observe = &what}), Failure);
  expect_wants_sync(*session);
  session->sync(tokens);
  EXPECT_EQ(copy(session->logits()), logits_after(tokens));
}

// The process cannot have more of a resource than this while it lives.
class Most {
 public:
  Most(__rlimit_resource what, rlim_t most) : what_(what) {
    getrlimit(what, &before_);
    rlimit limit = before_;
    limit.rlim_cur = most;
    setrlimit(what, &limit);
  }
  ~Most() {
    setrlimit(what_, &before_);
    signal(SIGXFSZ, signal_);
  }

 private:
  const __rlimit_resource what_;
  rlimit before_{};
  void (*const signal_)(int) = signal(SIGXFSZ, SIG_IGN);  // of a file that gets too large
};

TEST_P(Exceptions, OfATraceThatCannotBeWrittenLeaveATimelineThatGoesOnAfterASync) {
  constexpr rlim_t kSome = 100;  // bytes, less than a few tokens take
  const std::string path = fmt::format("{}trace_of_{}_{}", testing::TempDir(), current_device, getpid());
  std::filesystem::remove(path);
  EngineOptions options = on(current_device);
  options.expert_trace = path;
  const auto model = Engine::open(Checkpoint(BITNET_EXPERTS), options);
  std::vector<int32_t> prompt(30);
  for (size_t i = 0; i < prompt.size(); ++i) prompt[i] = static_cast<int32_t>(i * 37 % 200 + 1);
  for (const SamplerParams& params : {SamplerParams(), SamplerParams{.temperature = 1.0F}}) {
    SCOPED_TRACE(params.temperature);
    const auto session = Session::create(*model, 0);
    session->sync(prompt);
    {
      const Most limit(RLIMIT_FSIZE, std::filesystem::file_size(path) + kSome);
      EXPECT_THROW(decoded(*session, 20, params), Error);
      expect_wants_sync(*session);
      EXPECT_THROW(session->sync(prompt), Error);
    }
    expect_wants_sync(*session);
    session->sync(prompt);
    const auto found = copy(session->logits());
    const auto answer = decoded(*session, 5);
    const auto fresh = Session::create(*model, 0);
    fresh->sync(prompt);
    EXPECT_EQ(found, copy(fresh->logits()));
    EXPECT_EQ(answer, decoded(*fresh, 5));
  }
  std::filesystem::remove(path);
}

// All that reads and packs beside each other is done one after the other then.
TEST(CpuInNeed, AModelIsOpenedWhereNoThreadCanBeHad) {
  EngineOptions options = on("cpu");
  options.threads = 1;
  const auto answer = [&] {
    const auto model = Engine::open(model_file(), options);
    const auto session = Session::create(*model, 0);
    session->sync(std::vector<int32_t>{1, 2, 3, 4, 5, 6});
    return decoded(*session, 8);
  };
  const auto wanted = answer();
  const NoThreads none;
  EXPECT_EQ(answer(), wanted);
}

#ifndef BITNET_SANITIZED  // which takes all addresses for itself
// As under ulimit -v.
TEST(CpuInNeed, ASmallModelIsOpenedWhereThereAreFewAddresses) {
  constexpr rlim_t kSome = 160 << 20;
  EngineOptions options = on("cpu");
  options.threads = 1;
  options.n_ctx = 64;
  uint64_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  const Most limit(RLIMIT_AS, pages * static_cast<uint64_t>(sysconf(_SC_PAGESIZE)) + kSome);
  const auto model = Engine::open(model_file(), options);
  const auto session = Session::create(*model, 64);
  session->sync(std::vector<int32_t>{1, 2, 3, 4, 5, 6});
  EXPECT_FALSE(decoded(*session, 8).empty());
}
#endif

}  // namespace
}  // namespace bitnet
