// A session's timeline: whatever way the tokens came in, the logits are the same bits. On both backends.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <numeric>
#include <random>
#include <thread>

#include "engine/cpu/kernels.h"
#include "engine/engine.h"

namespace bitnet {
namespace {

using testing::ElementsAreArray;

// BITNET_TEST_MODEL is written by tests/make_model.py (tests/CMakeLists.txt has the command).
const GgufFile& model_file() {
  static const GgufFile file(BITNET_TEST_MODEL);
  return file;
}

// Both backends, each opened once.
const std::vector<std::string>& devices() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> names;
    if (!list_devices().front().cpu) names.emplace_back("0");
    names.emplace_back("cpu");
    return names;
  }();
  return names;
}

EngineOptions on(const std::string& device) {
  EngineOptions options;
  options.device = device;
  return options;
}

Engine& engine_on(const std::string& device) {
  static std::map<std::string, std::unique_ptr<Engine>> engines;
  auto& engine = engines[device];
  if (!engine) engine = Engine::open(model_file(), on(device));
  return *engine;
}

std::string current_device;
Engine& engine() { return engine_on(current_device); }

class OnDevice : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override { current_device = GetParam(); }
};
class SessionTest : public OnDevice {};
class EngineTest : public OnDevice {};
std::string name_of_device(const testing::TestParamInfo<std::string>& info) {
  return info.param == "cpu" ? "Cpu" : "Vulkan";
}
INSTANTIATE_TEST_SUITE_P(On, SessionTest, testing::ValuesIn(devices()), name_of_device);
INSTANTIATE_TEST_SUITE_P(On, EngineTest, testing::ValuesIn(devices()), name_of_device);

std::vector<int32_t> random_tokens(size_t n, unsigned seed) {
  std::mt19937 rng(seed);
  std::vector<int32_t> tokens(n);
  for (int32_t& t : tokens) t = static_cast<int32_t>(rng() % engine().model().n_vocab);
  return tokens;
}

std::vector<float> copy(std::span<const float> values) { return {values.begin(), values.end()}; }

std::vector<float> logits_after(const std::vector<int32_t>& tokens) {
  const auto session = Session::create(engine(), 0);
  session->sync(tokens);
  return copy(session->logits());
}

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

// Wherever the choice is made, it is the one that the sampler makes of all logits.
void expect_choices_of_the_sampler(Engine& model, const SamplerParams& params, float tolerance = 1e-4F) {
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
  EXPECT_THAT(session->tokens(), ElementsAreArray(tokens));
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
  EXPECT_EQ(session->sync(tokens).reused, 30U);  // and goes on from there
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
  SyncOptions options;
  options.hidden = &batched;
  Session::create(engine(), 0)->sync(tokens, options);
  options.hidden = &single;
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

TEST_P(EngineTest, WithAndWithoutTheDotProductTheLogitsAreTheSame) {
  if (engine().device().cpu) GTEST_SKIP() << "a choice of Vulkan's";
  const auto tokens = random_tokens(30, 10);
  for (const IntegerDot dot : {IntegerDot::always, IntegerDot::never}) {
    if (dot == IntegerDot::always && !engine().device().integer_dot) continue;
    EngineOptions options = on(current_device);
    options.integer_dot = dot;
    const auto other = Engine::open(model_file(), options);
    const auto session = Session::create(*other, 0);
    session->sync(tokens);
    EXPECT_EQ(copy(session->logits()), logits_after(tokens));
  }
}

// The kernels that a GPU gets: a BitLinear in one dispatch for a single token, in two for a batch.
TEST_P(EngineTest, KernelsForAGpuGiveTheSameBitsInAnyBatch) {
  for (const IntegerDot dot : {IntegerDot::where_fast, IntegerDot::never}) {
    EngineOptions options = on(current_device);
    options.as_gpu = true;
    options.integer_dot = dot;
    const auto gpu = Engine::open(model_file(), options);
    const auto tokens = random_tokens(140, 11);
    std::vector<std::vector<float>> all;
    for (const uint32_t batch : {1U, 0U, 13U}) {
      const auto session = Session::create(*gpu, 0);
      SyncOptions sync;
      sync.batch = batch;
      session->sync(tokens, sync);
      all.push_back(copy(session->logits()));
    }
    EXPECT_EQ(all[1], all[0]);
    EXPECT_EQ(all[2], all[0]);
  }
}

// The file of compiled kernels: written once, taken again, and ignored where it was damaged.
TEST_P(EngineTest, KernelsAreKeptBetweenRuns) {
  if (current_device == "cpu") GTEST_SKIP() << "nothing is compiled there";
  const auto folder =
      std::filesystem::path(testing::TempDir()) / "bitnet_chat_kernels" / std::to_string(getpid());
  EngineOptions options = on(current_device);
  options.cache_folder = folder.string();
  const auto tokens = random_tokens(10, 12);
  const auto logits = [&] {
    const auto other = Engine::open(model_file(), options);
    const auto session = Session::create(*other, 0);
    session->sync(tokens);
    return copy(session->logits());
  };
  const auto files = [&] {
    std::vector<std::filesystem::path> found;
    for (const auto& entry : std::filesystem::directory_iterator(folder)) found.push_back(entry.path());
    return found;
  };
  EXPECT_EQ(logits(), logits_after(tokens));
  ASSERT_EQ(files().size(), 1U);
  EXPECT_EQ(logits(), logits_after(tokens));

  const auto file = files().front();
  const auto size = std::filesystem::file_size(file);
  std::fstream(file, std::ios::in | std::ios::out | std::ios::binary)
          .seekp(static_cast<std::streamoff>(size - 1))
      << '#';
  EXPECT_EQ(logits(), logits_after(tokens));
  std::filesystem::resize_file(file, 10);
  EXPECT_EQ(logits(), logits_after(tokens));
  EXPECT_EQ(std::filesystem::file_size(file), size);

  std::filesystem::remove_all(folder);
  std::ofstream(folder.string());  // a file where the folder should be: nothing is kept
  EXPECT_EQ(logits(), logits_after(tokens));
  std::filesystem::remove_all(folder);
}

TEST_P(EngineTest, LoadingReportsProgressAndCanBeStopped) {
  uint64_t last = 0, total = 0;
  EngineOptions options = on(current_device);
  options.on_progress = [&](uint64_t done, uint64_t all) {
    EXPECT_GE(done, last);
    last = done;
    total = all;
    return true;
  };
  Engine::open(model_file(), options);
  EXPECT_EQ(last, total);
  EXPECT_EQ(total, model_file().size());
  options.on_progress = [](uint64_t, uint64_t) { return false; };
  EXPECT_THROW(Engine::open(model_file(), options), Error);
}

TEST_P(EngineTest, StagedLoadingGivesTheSameBitsAndCanBeStoppedAnywhere) {
  if (engine().device().cpu) GTEST_SKIP() << "the CPU takes the file's own bytes";
  EngineOptions options = on(current_device);
  options.always_stage = true;
  const auto staged = Engine::open(model_file(), options);
  const auto session = Session::create(*staged, 0);
  const auto tokens = random_tokens(20, 5);
  session->sync(tokens);
  EXPECT_EQ(copy(session->logits()), logits_after(tokens));

  for (int most : {1, 2, 3, 7, 20}) {
    int reports = 0;
    options.on_progress = [&](uint64_t, uint64_t) { return ++reports < most; };
    EXPECT_THROW(Engine::open(model_file(), options), Error);
  }
}

TEST_P(EngineTest, DamagedTernaryWeightsAreRefused) {
  std::ifstream in(BITNET_TEST_MODEL, std::ios::binary);
  std::string bytes{std::istreambuf_iterator<char>(in), {}};
  const std::string path = testing::TempDir() + "damaged_" + current_device + ".gguf";
  bytes[model_file().find_tensor("blk.1.ffn_up.weight")->offset + 1000] = '\xFF';
  std::ofstream(path, std::ios::binary) << bytes;
  try {
    Engine::open(GgufFile(path), on(current_device));
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), ErrorKind::model);
    EXPECT_THAT(e.what(), testing::HasSubstr("blk.1.ffn_up.weight"));
  }
  std::filesystem::remove(path);
}

// A device may leave a choice among very many equal logits to the host, in the middle of an answer.
TEST_P(EngineTest, TokensThatAreAlikeAreSampledAlike) {
  std::ifstream in(BITNET_TEST_MODEL, std::ios::binary);
  std::string bytes{std::istreambuf_iterator<char>(in), {}};
  const size_t table = model_file().find_tensor("token_embd.weight")->offset;
  const size_t row = size_t{engine().model().n_embd} * 2;  // F16
  for (size_t id = 1; id < 300; ++id) bytes.replace(table + id * row, row, bytes, table, row);
  const std::string path = testing::TempDir() + "alike_" + current_device + ".gguf";
  std::ofstream(path, std::ios::binary) << bytes;
  const GgufFile file(path);
  const auto alike = Engine::open(file, on(current_device));
  for (const uint64_t seed : {1, 2, 3})
    expect_choices_of_the_sampler(*alike, {.temperature = 2.0F, .top_k = 60, .seed = seed});
  std::filesystem::remove(path);
}

// Of 100 tokens on a CPU engine of its own.
std::vector<float> logits_of_cpu(const std::string& kernels, uint32_t threads) {
  EngineOptions options = on("cpu");
  options.cpu_kernels = kernels;
  options.threads = threads;
  const auto engine = Engine::open(model_file(), options);
  const auto session = Session::create(*engine, 0);
  session->sync(random_tokens(100, 11));
  return copy(session->logits());
}

// sse4 has no fused multiply-add and rounds twice.
TEST(EngineDevices, EveryInstructionSetGivesTheLogitsOfTheScalarReference) {
  current_device = "cpu";
  const auto wanted = logits_of_cpu("scalar", 1);
  for (const cpu::KernelChoice& choice : cpu::kernel_choices()) {
    if (!choice.supported) continue;
    const std::string name = choice.kernels->name;
    const auto got = logits_of_cpu(name, 3);
    if (name != "sse4") {
      EXPECT_EQ(got, wanted) << name;
      continue;
    }
    double ab = 0, aa = 0, bb = 0;
    for (size_t i = 0; i < got.size(); ++i) {
      ab += double{got[i]} * wanted[i];
      aa += double{got[i]} * got[i];
      bb += double{wanted[i]} * wanted[i];
    }
    EXPECT_GT(ab / std::sqrt(aa * bb), 0.9999) << name;
  }
  EXPECT_THROW(logits_of_cpu("no such instructions", 1), Error);
}

TEST(EngineDevices, AScreenedHeadDecodesTheSameTokens) {
  current_device = "cpu";
  struct Decoded {
    std::vector<SampledToken> tokens;
    std::vector<float> logits;
  };
  const auto decode = [](HeadScreen screen) {
    EngineOptions options = on("cpu");
    options.head_screen = screen;
    const auto engine = Engine::open(model_file(), options);
    const auto session = Session::create(*engine, 0);
    session->sync(random_tokens(20, 14));
    Decoded decoded;
    Sampler greedy({});
    session->decode(greedy, {.max_tokens = 60}, [&](const SampledToken& t) {
      decoded.tokens.push_back(t);
      return true;
    });
    decoded.logits = copy(session->logits());
    return decoded;
  };
  const Decoded full = decode(HeadScreen::never), screened = decode(HeadScreen::always);
  ASSERT_EQ(screened.tokens.size(), full.tokens.size());
  for (size_t i = 0; i < full.tokens.size(); ++i) {
    EXPECT_EQ(screened.tokens[i].id, full.tokens[i].id);
    EXPECT_NEAR(screened.tokens[i].logprob, full.tokens[i].logprob, 1e-3);
  }
  EXPECT_EQ(screened.logits, full.logits);
}

// The sum of all probabilities is made of the screen's approximations there.
TEST(EngineDevices, AScreenedHeadSamplesWhatTheSamplerChooses) {
  EngineOptions options = on("cpu");
  options.head_screen = HeadScreen::always;
  const auto engine = Engine::open(model_file(), options);
  for (const uint64_t seed : {1, 2}) {
    expect_choices_of_the_sampler(*engine, {.temperature = 0.8F, .top_k = 4, .seed = seed}, 1e-3F);
    expect_choices_of_the_sampler(*engine, {.temperature = 2.0F, .top_k = 10, .top_p = 0.9F, .seed = seed},
                                  1e-3F);
    expect_choices_of_the_sampler(*engine,
                                  {.temperature = 1.5F,
                                   .top_k = 6,
                                   .min_p = 0.01F,
                                   .repeat_penalty = 1.3F,
                                   .repeat_last = 4,
                                   .seed = seed},
                                  1e-3F);
    expect_choices_of_the_sampler(*engine, {.temperature = 1.0F, .top_k = 200, .seed = seed});  // too many
  }
}

TEST(EngineDevices, ASavedTimelineOpensOnTheOtherBackend) {
  if (devices().size() < 2) GTEST_SKIP() << "there is no Vulkan device";
  current_device = "cpu";
  auto tokens = random_tokens(50, 12);
  tokens.push_back(3);
  for (const auto& [from, to] : {std::pair("0", "cpu"), std::pair("cpu", "0")}) {
    const auto saving = Session::create(engine_on(from), 0);
    saving->sync(std::span(tokens).first(50));
    const auto loading = Session::create(engine_on(to), 0);
    loading->load(saving->save());
    EXPECT_EQ(loading->sync(tokens).reused, 50U);
    const auto wanted = Session::create(engine_on(to), 0);
    wanted->sync(tokens);
    const auto a = loading->logits(), b = wanted->logits();
    for (size_t i = 0; i < a.size(); ++i) ASSERT_NEAR(a[i], b[i], 0.05) << from << " to " << to;
  }
}

// The file may go once the engine is open: its bytes stay mapped.
TEST(EngineDevices, TheCpuKeepsTheBytesOfTheFile) {
  const std::string path = testing::TempDir() + "goes_away.gguf";
  std::filesystem::copy_file(BITNET_TEST_MODEL, path, std::filesystem::copy_options::overwrite_existing);
  auto file = std::make_unique<GgufFile>(path);
  const auto engine = Engine::open(*file, on("cpu"));
  file.reset();
  std::filesystem::remove(path);
  current_device = "cpu";
  const auto session = Session::create(*engine, 0);
  const auto tokens = random_tokens(20, 13);
  session->sync(tokens);
  EXPECT_EQ(copy(session->logits()), logits_after(tokens));
}

TEST(EngineDevices, AnUnknownDeviceIsNamedWithWhatThereIs) {
  EngineOptions options;
  options.device = "no such card";
  try {
    Engine::open(model_file(), options);
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), ErrorKind::device);
    EXPECT_THAT(e.what(), testing::HasSubstr("no such card"));
    EXPECT_THAT(e.what(), testing::HasSubstr(list_devices().at(0).name));
  }
}

TEST_P(EngineTest, MemoryPlanNamesWhatTheFileAndTheContextTake) {
  const MemoryPlan small = plan_memory(model_file(), 64), large = plan_memory(model_file(), 128);
  const auto& m = engine().model();
  EXPECT_EQ(large.kv_cache, 2 * small.kv_cache);
  EXPECT_EQ(small.kv_cache, uint64_t{64} * m.n_layer * 2 * m.n_head_kv * m.head_dim * 2);
  EXPECT_EQ(small.ternary, m.n_ternary / 4);
  EXPECT_LE(small.ternary + small.embedding + small.norms, model_file().size());
}

}  // namespace
}  // namespace bitnet
