// Tests on both backends how a model is opened, and that whatever runs it gives the same bits.
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "engine/cpu/kernels.h"
#include "engine/kernel_options.h"
#include "tests/engine/rolled.h"
#include "tests/engine/session.h"

namespace bitnet {
namespace {

class EngineTest : public OnDevice {};
INSTANTIATE_TEST_SUITE_P(On, EngineTest, testing::ValuesIn(devices()), name_of_device);

TEST_P(EngineTest, WithAndWithoutTheDotProductTheLogitsAreTheSame) {
  if (engine().device().cpu) GTEST_SKIP() << "a choice of Vulkan's";
  const auto tokens = random_tokens(30, 10);
  for (const IntegerDot dot : {IntegerDot::always, IntegerDot::never}) {
    if (dot == IntegerDot::always && !engine().device().integer_dot) continue;
    EngineOptions options = on(current_device);
    options.kernels = share({.integer_dot = dot});
    const auto other = Engine::open(model_file(), options);
    const auto session = Session::create(*other, 0);
    session->sync(tokens);
    EXPECT_EQ(copy(session->logits()), logits_after(tokens));
  }
}

constexpr uint32_t kManyGroups = 132;  // as a large GPU runs at a time

// Returns the ways to decode on a device. In a chain of stages each stage waits for the one before. A
// software device can do that only with one thread, where what it waits for is there already
// (engine_chained_decode).
std::vector<ChainedDecode> ways_to_decode(const DeviceInfo& device) {
  if (!device.software) return {ChainedDecode::always, ChainedDecode::never};
  const char* threads = std::getenv("LP_NUM_THREADS");
  return {threads && std::string(threads) == "1" ? ChainedDecode::always : ChainedDecode::never};
}

// A GPU gets one dispatch for a token or one for each stage, and other kernels for a batch. They are tested
// with the best that the device has, and with neither its dot product nor its subgroups (0: the device's
// own).
TEST_P(EngineTest, KernelsForAGpuGiveTheSameBitsInAnyBatch) {
  const RolledLoops rolled(engine().device());
  struct Kernels {
    IntegerDot dot;
    uint32_t subgroup_size = 0;
    bool emulate_matrices = false;
    uint32_t row_size = 0;
    uint32_t groups_at_once = kManyGroups;  // with few each takes several sets of rows
  };
  const auto choices = {Kernels{IntegerDot::where_fast, 0, false, 0, 3},
                        {IntegerDot::never, 64},
                        {IntegerDot::never, 32, true},
                        {IntegerDot::where_fast, 0, false, 384, 2}};
  for (const auto& [dot, subgroup_size, emulate_matrices, row_size, groups_at_once] : choices)
    for (const ChainedDecode chained : ways_to_decode(engine().device())) {
      EngineOptions options = on(current_device);
      options.kernels = share({.integer_dot = dot,
                               .chained_decode = chained,
                               .as_gpu = true,
                               .subgroup_size = subgroup_size,
                               .emulate_matrices = emulate_matrices,
                               .assume_reconvergence = true,
                               .row_size = row_size,
                               .groups_at_once = groups_at_once});
      const auto gpu = Engine::open(model_file(), options);
      const bool says_so = gpu->device().arithmetic.find("ternary matrices in") != std::string::npos;
      EXPECT_EQ(says_so, row_size != 0 && !gpu->device().cpu);
      const auto tokens =
          random_tokens(subgroup_size == 0 ? 134 : 70, 11);  // past two chunks of keys, or one
      // All tokens come at once, or in batches of so many at the beginning and around the borders of chunks;
      // those in between, from kFirst and from kBehind on, are one batch.
      constexpr size_t kFirst = 6, kBefore = 56, kBehind = 70, kBeforeSecond = 120;
      std::vector<std::vector<float>> all;
      // Sevens and threes take stages too, and one of them has keys on both sides of the border of a chunk.
      const bool few = chained == ChainedDecode::always && (subgroup_size == 0 || emulate_matrices);
      for (const uint32_t batch : few ? std::vector{1U, 0U, 7U, 3U} : std::vector{1U, 0U, 13U}) {
        const auto session = Session::create(*gpu, 0);
        SyncOptions sync;
        sync.batch = batch;
        for (const auto& [end, how] : {std::pair{kFirst, sync},
                                       {kBefore, {}},
                                       {kBehind, sync},
                                       {kBeforeSecond, {}},
                                       {tokens.size(), sync}})
          if (batch != 0 || end == tokens.size())
            session->sync(std::span(tokens).first(std::min(end, tokens.size())), how);
        all.push_back(copy(session->logits()));
      }
      for (size_t i = 1; i < all.size(); ++i) EXPECT_EQ(all[i], all[0]) << i;
    }
}

// Of more keys than a workgroup merges at a time, which a session on the CPU has found.
TEST_P(EngineTest, KernelsForAGpuGiveTheSameBitsBehindManyKeys) {
  if (current_device == "cpu") GTEST_SKIP() << "its kernels are the same for everyone";
  const RolledLoops rolled(engine().device());
  constexpr uint32_t kKeys = 65 * 64, kNew = 10, kContext = 4352;
  const Checkpoint file(BITNET_ENDLESS_MODEL);
  const auto tokens = random_tokens(kKeys + kNew, 12);
  const auto cpu = Engine::open(file, on("cpu"));
  const auto filled = Session::create(*cpu, kContext);
  filled->sync(std::span(tokens).first(kKeys));
  const std::vector<std::byte> keys = filled->save();
  for (const bool emulate_matrices : {false, true}) {
    EngineOptions options = on(current_device);
    options.kernels = share({.chained_decode = ways_to_decode(engine().device()).front(),
                             .as_gpu = true,
                             .subgroup_size = emulate_matrices ? 32U : 0U,
                             .emulate_matrices = emulate_matrices,
                             .assume_reconvergence = true,
                             .groups_at_once = kManyGroups});
    const auto gpu = Engine::open(file, options);
    std::vector<std::vector<float>> all;
    for (const uint32_t batch : {1U, 3U}) {
      const auto session = Session::create(*gpu, kContext);
      session->load(keys);
      SyncOptions sync;
      sync.batch = batch;
      session->sync(tokens, sync);
      all.push_back(copy(session->logits()));
    }
    EXPECT_EQ(all[1], all[0]) << emulate_matrices;
  }
}

// Of a model with DeltaNets each token takes stages, and a batch a kernel for each step.
TEST_P(EngineTest, DeltaNetsInKernelsForAGpuGiveTheSameBitsInAnyBatch) {
  if (current_device == "cpu") GTEST_SKIP() << "its kernels are the same for everyone";
  const RolledLoops rolled(engine().device());
  EngineOptions options = on(current_device);
  options.kernels = share({.chained_decode = ways_to_decode(engine().device()).front(),
                           .as_gpu = true,
                           .assume_reconvergence = true});
  const auto gpu = Engine::open(Checkpoint(BITNET_QWEN35), options);
  std::vector<int32_t> tokens(21);
  for (size_t i = 0; i < tokens.size(); ++i)
    tokens[i] = static_cast<int32_t>((i * 7919 + 5) % gpu->model().n_vocab);
  std::vector<std::vector<float>> all;
  for (const uint32_t batch : {1U, 0U, 8U}) {
    const auto session = Session::create(*gpu, 0);
    SyncOptions sync;
    sync.batch = batch;
    session->sync(tokens, sync);
    all.push_back(copy(session->logits()));
  }
  EXPECT_EQ(all[1], all[0]);
  EXPECT_EQ(all[2], all[0]);
}

// The file of compiled kernels is written once, used again, and ignored if it is damaged.
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
    for (const auto& entry : std::filesystem::directory_iterator(folder))
      if (entry.path().filename().string().starts_with("pipelines-")) found.push_back(entry.path());
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
  EXPECT_GT(std::filesystem::file_size(file), 10U);  // it was made anew, perhaps shorter than before

  ASSERT_TRUE(std::filesystem::remove(file) && mkfifo(file.c_str(), 0600) == 0);  // nobody writes to it
  EXPECT_EQ(logits(), logits_after(tokens));
  EXPECT_TRUE(std::filesystem::is_regular_file(file));
  std::filesystem::resize_file(file, uint64_t{3} << 30);
  EXPECT_EQ(logits(), logits_after(tokens));
  EXPECT_LT(std::filesystem::file_size(file), 1U << 30);

  std::filesystem::remove_all(folder);
  std::ofstream(folder.string());  // a file is where the folder should be, so nothing is kept
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
  options.kernels = share({.always_stage = true});
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
    Engine::open(Checkpoint(path), on(current_device));
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
  const Checkpoint file(path);
  const auto alike = Engine::open(file, on(current_device));
  for (const uint64_t seed : {1, 2, 3})
    expect_choices_of_the_sampler(*alike, {.temperature = 2.0F, .top_k = 60, .seed = seed});
  std::filesystem::remove(path);
}

// Returns the logits after 100 tokens on a CPU engine of its own.
std::vector<float> logits_of_cpu(const std::string& kernels, uint32_t threads) {
  EngineOptions options = on("cpu");
  options.kernels = share({.cpu_kernels = kernels});
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

TEST_P(EngineTest, AShortlistedHeadDecodesTheSameTokens) {
  struct Decoded {
    std::vector<SampledToken> tokens;
    std::vector<float> logits;
  };
  const auto decode = [](HeadShortlist shortlist) {
    EngineOptions options = on(current_device);
    options.kernels = share({.head_shortlist = shortlist});
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
  const Decoded full = decode(HeadShortlist::never), shortlisted = decode(HeadShortlist::always);
  ASSERT_EQ(shortlisted.tokens.size(), full.tokens.size());
  for (size_t i = 0; i < full.tokens.size(); ++i) {
    EXPECT_EQ(shortlisted.tokens[i].id, full.tokens[i].id);
    EXPECT_NEAR(shortlisted.tokens[i].logprob, full.tokens[i].logprob, 1e-3);
  }
  EXPECT_EQ(shortlisted.logits, full.logits);
}

// With a shortlist, the sum of all probabilities is made of the shortlist's approximations.
TEST_P(EngineTest, AShortlistedHeadSamplesWhatTheSamplerChooses) {
  EngineOptions options = on(current_device);
  options.kernels = share({.head_shortlist = HeadShortlist::always});
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
    expect_choices_of_the_sampler(*engine, {.temperature = 1.0F, .top_k = 0, .seed = seed});    // all
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
  auto file = std::make_unique<Checkpoint>(path);
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
  EXPECT_EQ(small.projections, m.n_ternary / 4);
  EXPECT_LE(small.projections + small.embedding + small.norms, model_file().size());
  EXPECT_LE(small.head, small.embedding);
  EXPECT_GT(small.decode_file, small.projections + small.head);  // norms, and what follows a tensor's codes
  EXPECT_LE(small.decode_file, model_file().size());
}

}  // namespace
}  // namespace bitnet
