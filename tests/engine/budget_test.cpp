// Tests that it makes no difference to any result where weights lie, and what too small a budget says.
#include <cstdlib>

#include "engine/batch_size.h"
#include "engine/kernel_options.h"
#include "tests/engine/results.h"
#include "tests/engine/rolled.h"
#include "tests/engine/session.h"

namespace bitnet {
namespace {

using testing::HasSubstr;

constexpr uint32_t kContext = 224;

class BudgetTest : public testing::Test {
 protected:
  void SetUp() override {
    if (devices().front() == "cpu") GTEST_SKIP() << "no Vulkan device here";
    options_.device = "0";
    options_.n_ctx = kContext;
  }

  static VramBudget bytes(uint64_t n) { return {VramBudget::Kind::bytes, n}; }

  std::unique_ptr<Engine> open(const Checkpoint& file, uint64_t vram) {
    options_.vram = bytes(vram);
    return Engine::open(file, options_);
  }

  static uint64_t all_of(const MemoryPlan& plan) { return place(plan.fixed(), plan.pieces, {}).on_device; }

  // Opens the file with budgets from the smallest one to one for all.
  void expect_same_results(const Checkpoint& file, int budgets, uint32_t tokens) {
    const MemoryPlan plan = plan_memory(file, kContext);
    const uint64_t least = plan.fixed(), all = all_of(plan);
    const auto resident = open(file, all);
    EXPECT_EQ(resident->placement().in_host, 0U);
    const Results wanted = results_of(*resident, kContext, tokens);
    ASSERT_EQ(wanted.greedy.size(), tokens);
    uint64_t in_host = all;
    for (int i = 0; i < budgets; ++i) {
      const auto model = open(file, least + (all - least) * i / budgets);
      const Placement p = model->placement();
      EXPECT_LE(p.on_device, options_.vram.value);
      EXPECT_GT(p.in_host, 0U);
      EXPECT_LE(p.in_host, in_host + kWeightSlots * p.slots);  // which take the place of weights
      in_host = p.in_host;
      EXPECT_TRUE(results_of(*model, kContext, tokens) == wanted) << "budget " << i << " of " << budgets;
    }
  }

  // The message of the Error(device) that opening must throw.
  std::string refusal(const Checkpoint& file) {
    try {
      Engine::open(file, options_);
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::device);
      return error.what();
    }
    ADD_FAILURE() << "no error";
    return "";
  }

  EngineOptions options_;
};

TEST_F(BudgetTest, AnyBudgetGivesTheSameBits) { expect_same_results(model_file(), 6, 64); }

// Copied through slots, in two bits and in 1.6; a slot is overwritten behind each use.
TEST_F(BudgetTest, EachWayToHostWeightsGivesTheSameBits) {
  const MemoryPlan plan = plan_memory(model_file(), kContext);
  const uint64_t least = plan.fixed(), all = all_of(plan);
  const Results wanted = results_of(*open(model_file(), all), kContext, 64);
  for (const HostWeights how :
       {HostWeights::read, HostWeights::in_batches, HostWeights::copied, HostWeights::fives}) {
    SCOPED_TRACE(static_cast<int>(how));
    options_.kernels = share({.host_weights = how, .poison_slots = true});
    const auto model = open(model_file(), least + (all - least) * 2 / 3);
    const Placement p = model->placement();
    EXPECT_GT(p.slots, 0U);
    EXPECT_TRUE(std::ranges::any_of(p.pieces, [&](const WeightPiece& piece) {
      return piece.kind == WeightPiece::Kind::feed_forward && p.homes[&piece - p.pieces.data()] == Home::host;
    }));
    EXPECT_TRUE(results_of(*model, kContext, 64) == wanted);
  }
}

// A chain of stages can run here with one thread alone: engine_chained_decode runs this.
TEST_F(BudgetTest, KernelsForAGpuGiveTheSameBitsInAChainOnVulkan) {
  const char* threads = std::getenv("LP_NUM_THREADS");
  if (!threads || std::string(threads) != "1") GTEST_SKIP() << "needs LP_NUM_THREADS=1";
  const RolledLoops rolled(list_devices().at(0));
  options_.kernels = share({.chained_decode = ChainedDecode::always, .as_gpu = true});
  expect_same_results(model_file(), 1, 16);
}

TEST_F(BudgetTest, TablesOfWhichATokenReadsARowMayLieInHostMemory) {
  expect_same_results(Checkpoint(BITNET_GEMMA_16), 1, 24);
}

TEST_F(BudgetTest, GatesOfDeltaNetsMayLieInHostMemory) {
  expect_same_results(Checkpoint(BITNET_QWEN35), 2, 12);
}

// Budgets that hold from as many experts as a token uses to all but one. Each expert that is missed takes a
// place, which is overwritten first, so that whoever reads a table that is too old or too new gives other
// bits.
TEST_F(BudgetTest, PlacesOfExpertsThatChangeWithEachTokenGiveTheSameBits) {
  constexpr uint32_t kTokens = 16;
  const Checkpoint file(BITNET_EXPERTS);
  const MemoryPlan plan = plan_memory(file, kContext);
  uint64_t all = all_of(plan), of_an_expert = 0;
  const Results wanted = results_of(*open(file, all), kContext, kTokens);
  for (const WeightPiece& piece : plan.pieces) {
    if (piece.n_expert != 0) of_an_expert += piece.bytes / piece.n_expert + 1;
    if (piece.kind == WeightPiece::Kind::embedding) all -= piece.bytes;  // for which there is no room then
  }
  options_.kernels = share({.poison_slots = true});
  for (const uint32_t places : {4U, 9U, 15U}) {
    SCOPED_TRACE(places);
    const auto model = open(file, all - (16 - places) * of_an_expert + of_an_expert / 2);
    EXPECT_EQ(model->placement().expert_places, places);
    EXPECT_TRUE(results_of(*model, kContext, kTokens) == wanted);
    const ExpertReads reads = model->expert_reads();
    EXPECT_EQ(reads.uses, 2 * kTokens * 3 * 2 * 4U);  // both ways to sample, layers, matrices, experts
    EXPECT_GT(reads.copies, 0U);
    EXPECT_LT(reads.hits, reads.uses);
  }
}

TEST_F(BudgetTest, ABudgetThatIsTooSmallNamesTheSmallestThatWorks) {
  const MemoryPlan plan = plan_memory(model_file(), kContext);
  for (const uint64_t vram : {uint64_t{1}, plan.fixed() / 2, plan.fixed() - 1}) {
    options_.vram = bytes(vram);
    EXPECT_THAT(refusal(model_file()), HasSubstr("take " + size_option(plan.fixed()) + " of"));
  }
  options_.vram = bytes(plan.fixed());
  options_.ram = 1 << 10;
  const uint64_t needed = place(plan.fixed(), plan.pieces, {.vram = plan.fixed()}).in_host;
  const uint64_t least = least_ram(plan.fixed(), plan.pieces, {.vram = plan.fixed()});
  EXPECT_LT(least, needed);  // what does not fit stays in the file
  EXPECT_THAT(refusal(model_file()), HasSubstr(size_option(least) + " of host memory"));
  options_.ram = least - 1;
  EXPECT_THAT(refusal(model_file()), HasSubstr("--ram"));
  options_.ram = needed;
  EXPECT_EQ(Engine::open(model_file(), options_)->placement().in_host, needed);
  options_.ram = needed - 1;
  EXPECT_GT(Engine::open(model_file(), options_)->placement().in_file, 0U);

  options_.device = "cpu";
  options_.ram = 1 << 10;
  EXPECT_THAT(refusal(model_file()), HasSubstr("--ram"));
  options_.ram = plan.total() + plan.head_copy;
  EXPECT_TRUE(Engine::open(model_file(), options_)->device().cpu);
}

TEST_F(BudgetTest, NothingIsAllocatedPastABudget) {
  const MemoryPlan plan = plan_memory(model_file(), kContext);
  const auto model = open(model_file(), all_of(plan));
  const auto session = Session::create(*model, kContext);
  try {
    Session::create(*model, kContext);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::device);
    EXPECT_THAT(error.what(), HasSubstr("--ctx"));
  }
  session->sync(std::vector<int32_t>{1, 2, 3});  // the first one still works
}

TEST_F(BudgetTest, ASessionCanBeWatchedWhereABudgetHasNoRoomForIt) {
  const auto model = open(model_file(), all_of(plan_memory(model_file(), kContext)));
  std::vector<std::unique_ptr<Session>> sessions;
  sessions.push_back(Session::create(*model, kContext));
  EXPECT_THROW(while (true) sessions.push_back(Session::create(*model, 1)), Error);  // until nothing is left
  const ModelInfo& info = model->model();
  size_t rows = 0;
  const Observation residual{
      .stages = {Stage::residual},
      .on_rows = [&](auto, auto, auto, auto, auto floats) { rows += floats.size() / info.n_embd; }};
  sessions.front()->sync(std::vector<int32_t>{1, 2, 3}, {.observe = &residual});
  EXPECT_EQ(rows, 3 * info.n_layer);
}

TEST(VramBudget, GivesBytesOfADevice) {
  DeviceInfo device;
  device.memory_bytes = uint64_t{8} << 30;
  device.free_bytes = uint64_t{6} << 30;
  EXPECT_EQ(vram_budget({VramBudget::Kind::bytes, 77}, device), 77U);
  EXPECT_EQ(vram_budget({VramBudget::Kind::percent, 50}, device), device.memory_bytes / 100 * 50);
  EXPECT_LT(vram_budget({}, device), device.free_bytes);
  EXPECT_GT(vram_budget({}, device), device.free_bytes / 10 * 9);
  device.free_bytes = 1;
  EXPECT_EQ(vram_budget({}, device), 0U);
  device.software = true;
  EXPECT_EQ(vram_budget({}, device), kNoLimit);
}

// Tokens of a submission after many, on a device that takes floor + n * slope.
uint32_t batch_after_many(double floor, double slope, bool has_floor = false) {
  BatchSize batch(1024, has_floor);
  for (int i = 0; i < 12; ++i) batch.took(batch.next(), floor + batch.next() * slope);
  EXPECT_NEAR(batch.expected(100), floor + 100 * slope, 0.02 * (floor + 100 * slope));
  return batch.next();
}

TEST(BatchSize, GrowsUntilTokensTakeTwoFifthsOfASecondOrAsLongAsTheWeights) {
  EXPECT_EQ(batch_after_many(0.002, 25e-6), 1024U);
  EXPECT_NEAR(batch_after_many(0.001, 1e-3), 400, 8);
  EXPECT_EQ(batch_after_many(0.001, 0.1), 32U);             // a slow device: no fewer, and no more
  EXPECT_EQ(batch_after_many(0.68, 0.2e-3, true), 1024U);   // 70B over 25 GB/s
  EXPECT_NEAR(batch_after_many(0.68, 2e-3, true), 340, 4);  // the same where computing is slow too
  EXPECT_EQ(BatchSize(7, false).next(), 7U);
}

TEST(BatchSize, GrowsWhereBatchesAreMadeOddToo) {
  BatchSize batch(1024, false);
  for (int i = 0; i < 12; ++i) batch.took(batch.next() - 1, 0.01 + 1e-4 * (batch.next() - 1));
  EXPECT_EQ(batch.next(), 1024U);
}

}  // namespace
}  // namespace bitnet
