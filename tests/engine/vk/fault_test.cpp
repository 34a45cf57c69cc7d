// Tests the engine on a Vulkan driver that fails, at every allocation, every submission and every wait, and
// on devices that lack something. The validation layer ends the process if something is left behind.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <functional>

#include "engine/engine.h"
#include "engine/kernel_options.h"
#include "tests/engine/rolled.h"
#include "tests/support/vk_faults.h"

namespace bitnet {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;

#ifdef BITNET_SANITIZED
constexpr int kStep = 3;  // it is slow then
#else
constexpr int kStep = 1;
#endif

class VulkanFault : public testing::Test {
 protected:
  VulkanFault() {
    vk_faults::heal();
    if (list_devices().front().cpu) no_device_ = true;
    options_.device = std::string(1, '0');
    options_.cache_folder = testing::TempDir() + "bitnet-vk-fault-cache";
    greedy_.temperature = 0;
  }
  ~VulkanFault() override { vk_faults::heal(); }
  void SetUp() override {
    if (no_device_) GTEST_SKIP() << "no Vulkan device here";
  }

  std::unique_ptr<Engine> open() const { return Engine::open(file_, options_); }

  // The message of the Error(device) that `work` must throw.
  static std::string failure(const std::function<void()>& work) {
    try {
      work();
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::device) << error.what();
      EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos);
      return error.what();
    }
    ADD_FAILURE() << "no error";
    return "";
  }

  // A short session: prompt, answer, and the logits after it.
  std::vector<int32_t> answer(Engine& engine, std::vector<int32_t>* so_far = nullptr) const {
    std::vector<int32_t> tokens;
    if (so_far == nullptr) so_far = &tokens;
    const auto session = Session::create(engine, 64);
    session->sync(std::vector<int32_t>{1, 2, 3, 4, 5});
    Sampler sampler(greedy_);
    DecodeOptions how;
    how.max_tokens = 6;
    session->decode(sampler, how, [&](const SampledToken& token) {
      so_far->push_back(token.id);
      return true;
    });
    EXPECT_FALSE(session->logits().empty());
    return *so_far;
  }

  // Every place at which `call` may be lost, or with sanitizers every third: what was answered before is a
  // beginning of the whole answer.
  void expect_no_token_lost(const char* call, VkResult result, const char* said) {
    vk_faults::heal();
    const std::vector<int32_t> whole = answer(*open());
    const int total = vk_faults::calls(call);
    ASSERT_GT(total, 6);
    for (int n = 1; n <= total; n += kStep) {
      vk_faults::heal();
      vk_faults::fail(call, result, n);
      std::vector<int32_t> tokens;
      EXPECT_THAT(failure([&] {
                    const auto engine = open();
                    answer(*engine, &tokens);
                  }),
                  HasSubstr(said));
      EXPECT_LE(tokens.size(), whole.size());
      EXPECT_TRUE(std::equal(tokens.begin(), tokens.end(), whole.begin()))
          << call << ' ' << n << " of " << total;
    }
    vk_faults::heal();
    EXPECT_EQ(answer(*open()), whole);
  }

  const Checkpoint file_{BITNET_TEST_MODEL};
  EngineOptions options_;
  SamplerParams greedy_;
  bool no_device_ = false;
};

// This test comes first: once a device was opened, the driver stays for the process.
TEST_F(VulkanFault, WithoutADeviceTheCpuIsUsed) {
  for (const vk_faults::Without& without : {vk_faults::Without{.driver = true}, {.devices = true}}) {
    vk_faults::set(without);
    ASSERT_EQ(list_devices().size(), 1U);
    EXPECT_TRUE(list_devices()[0].cpu);
    options_.device.clear();
    EXPECT_TRUE(open()->device().cpu);
    options_.device = "no such device";
    EXPECT_THAT(failure([&] { open(); }), HasSubstr("cpu"));
  }
}

TEST_F(VulkanFault, OutOfDeviceMemoryAtEachAllocationIsSaidAndLeavesNothingBehind) {
  for (int n = 1;; ++n) {
    vk_faults::heal();
    vk_faults::fail("vkAllocateMemory", VK_ERROR_OUT_OF_DEVICE_MEMORY, n);
    try {
      answer(*open());
    } catch (const Error& error) {
      ASSERT_EQ(error.kind(), ErrorKind::device);
      ASSERT_THAT(error.what(), HasSubstr("--ctx")) << "allocation " << n;
      continue;
    }
    EXPECT_LT(vk_faults::calls("vkAllocateMemory"), n);  // it succeeded because there was no n-th call
    EXPECT_GT(n, 10);
    break;
  }
}

// Weights that a device has no room for lie in host memory instead, and the answer is the same.
TEST_F(VulkanFault, WeightsThatADeviceHasNoRoomForLieInHostMemory) {
  options_.kernels = share({.always_stage = true});  // as a device with memory of its own
  const std::vector<int32_t> whole = answer(*open());
  int moved = 0;
  for (int n = 1, last = vk_faults::calls("vkAllocateMemory"); n <= last; n += 3) {
    vk_faults::heal();
    vk_faults::fail("vkAllocateMemory", VK_ERROR_OUT_OF_DEVICE_MEMORY, n);
    try {
      const auto engine = open();
      const bool in_host = engine->placement().in_host != 0;
      EXPECT_EQ(answer(*engine), whole) << "allocation " << n;
      moved += in_host ? 1 : 0;
    } catch (const Error& error) {
      ASSERT_EQ(error.kind(), ErrorKind::device);
      ASSERT_THAT(error.what(), HasSubstr("--ctx")) << "allocation " << n;
    }
  }
  EXPECT_GE(moved, 1);  // sanitizers are given a few of the allocations
}

// Where weights in host memory cannot be copied through slots, they are read there.
TEST_F(VulkanFault, ADeviceWithoutSemaphoresThatCountGivesTheSameAnswer) {
  options_.n_ctx = 64;
  const std::vector<int32_t> whole = answer(*open());
  const MemoryPlan plan = plan_memory(file_, options_.n_ctx);
  options_.vram = {VramBudget::Kind::bytes, plan.fixed() + (plan.total() - plan.fixed()) * 2 / 3};
  for (const bool missing : {false, true}) {
    vk_faults::set({.timelines = missing});
    const auto engine = open();
    EXPECT_EQ(engine->placement().slots == 0, missing);
    EXPECT_GT(engine->placement().in_host, 0U);
    EXPECT_EQ(answer(*engine), whole);
  }
}

// A driver ends a submission that takes too long, so what is read over a link is divided among some.
TEST_F(VulkanFault, WeightsThatAreReadInHostMemoryAreSubmittedInParts) {
  options_.n_ctx = 64;
  const std::vector<int32_t> whole = answer(*open());
  const MemoryPlan plan = plan_memory(file_, options_.n_ctx);
  options_.vram = {VramBudget::Kind::bytes, plan.fixed()};
  int submissions = 0;
  for (const uint64_t at_once : {uint64_t{1} << 30, uint64_t{1} << 16, uint64_t{1} << 14}) {
    vk_faults::heal();
    options_.kernels = share({.host_weights = HostWeights::read, .read_at_once = at_once});
    const auto engine = open();
    EXPECT_GT(engine->placement().in_host, uint64_t{1} << 18);
    EXPECT_EQ(answer(*engine), whole);
    EXPECT_GT(vk_faults::calls("vkQueueSubmit"), submissions) << at_once;
    submissions = vk_faults::calls("vkQueueSubmit");
  }
  for (int n = 1; n <= submissions; n += 1 + submissions / 8) {
    vk_faults::heal();
    vk_faults::fail("vkQueueSubmit", VK_ERROR_DEVICE_LOST, n);
    EXPECT_THAT(failure([&] { answer(*open()); }), HasSubstr("the device was lost")) << n;
  }
  vk_faults::heal();
  const RolledLoops rolled(list_devices().at(0));  // and the stages of a token
  options_.kernels = share({.as_gpu = true, .host_weights = HostWeights::read, .read_at_once = 1 << 14});
  EXPECT_EQ(answer(*open()), whole);
}

// With weights that stay in the file there are many submissions a token, and the reader's threads wait for
// semaphores of the device.
TEST_F(VulkanFault, ADeviceLostWhileWeightsComeFromTheFileKeepsTheTokens) {
  options_.n_ctx = 64;
  const MemoryPlan plan = plan_memory(file_, options_.n_ctx);
  const std::vector<int32_t> whole = answer(*open());
  const DeviceInfo device = find_device(options_);
  // Of the weights on the device; with some of them there, there are slots too.
  for (const double part : {0.0, 0.75}) {
    const auto rest = static_cast<double>(plan.total() - plan.fixed());
    options_.vram = {VramBudget::Kind::bytes, plan.fixed() + static_cast<uint64_t>(part * rest)};
    options_.ram = kNoLimit;
    options_.ram = place_model(plan, device, options_).in_host - 1;
    vk_faults::heal();
    {
      const auto engine = open();
      EXPECT_GT(engine->placement().in_file, 0U);
      EXPECT_EQ(engine->placement().slots != 0, part != 0);
      EXPECT_EQ(answer(*engine), whole);
    }
    const int total = vk_faults::calls("vkQueueSubmit");
    for (int n = 1; n <= total; n += 1 + total / 4) {
      vk_faults::heal();
      vk_faults::fail("vkQueueSubmit", VK_ERROR_DEVICE_LOST, n);
      std::vector<int32_t> tokens;
      EXPECT_THAT(failure([&] {
                    const auto engine = open();
                    answer(*engine, &tokens);
                  }),
                  HasSubstr("the device was lost"));
      ASSERT_LE(tokens.size(), whole.size());
      EXPECT_TRUE(std::equal(tokens.begin(), tokens.end(), whole.begin())) << n << " of " << total;
    }
  }
}

// Of each other call that may run out of memory, the first and the last one fail here.
TEST_F(VulkanFault, OutOfMemoryForAnyOtherObjectLeavesNothingBehind) {
  vk_faults::heal();
  answer(*open());
  for (const auto& [call, total] : vk_faults::calls()) {
    for (const int n : {1, total}) {
      vk_faults::heal();
      vk_faults::fail(call, VK_ERROR_OUT_OF_HOST_MEMORY, n);
      EXPECT_NE(failure([&] { answer(*open()); }), "") << call << ' ' << n << " of " << total;
    }
  }
}

TEST_F(VulkanFault, ADeviceLostAtEachSubmissionKeepsTheTokensAndOpensAgain) {
  expect_no_token_lost("vkQueueSubmit", VK_ERROR_DEVICE_LOST, "the device was lost");
}

TEST_F(VulkanFault, ADeviceLostAtEachWaitKeepsTheTokensAndOpensAgain) {
  expect_no_token_lost("vkWaitForFences", VK_ERROR_DEVICE_LOST, "the device was lost");
}

TEST_F(VulkanFault, AWaitThatTimesOutAnywhereIsAnError) {
  expect_no_token_lost("vkWaitForFences", VK_TIMEOUT, "did not finish in time");
}

TEST_F(VulkanFault, ADeviceLostWhileItSamplesOrIsCopiedToKeepsTheTokens) {
  greedy_.temperature = 0.8F;
  greedy_.top_k = 20;
  greedy_.seed = 5;
  options_.kernels = share({.always_stage = true});
  expect_no_token_lost("vkQueueSubmit", VK_ERROR_DEVICE_LOST, "the device was lost");
}

TEST_F(VulkanFault, ADeviceThatCannotBeUsedIsNamedWithTheReason) {
  for (const auto& [without, reason] : {std::pair{vk_faults::Without{.compute_queue = true}, "compute queue"},
                                        {{.buffers = true}, "gives a kernel 4 buffers"},
                                        {{.invocations = true}, "lets 128 invocations work together"},
                                        {{.extensions = true}, "does not say what it can do"}}) {
    vk_faults::set(without);
    options_.device = "0";
    EXPECT_THAT(list_devices()[0].unusable, HasSubstr(reason));
    EXPECT_THAT(failure([&] { open(); }), HasSubstr(reason));
    options_.device.clear();
    EXPECT_TRUE(open()->device().cpu);
  }
}

// Between the call that tells how many there are and the one that lists them.
TEST_F(VulkanFault, DevicesAndExtensionsThatComeOrGoMeanwhileAreNoFault) {
  const size_t n = list_devices().size();
  for (const vk_faults::Without& without : {vk_faults::Without{.last_device = true}, {.latest = true}}) {
    vk_faults::set(without);
    const std::vector<DeviceInfo> found = list_devices();
    EXPECT_EQ(found.size(), n);
    EXPECT_THAT(found.front().unusable, IsEmpty());
    EXPECT_FALSE(answer(*open()).empty());
  }
}

TEST_F(VulkanFault, ADeviceThatCannotBeOpenedIsNamed) {
  vk_faults::fail("vkCreateDevice", VK_ERROR_INITIALIZATION_FAILED, 1);
  const std::string said = failure([&] { open(); });
  EXPECT_THAT(said, HasSubstr(list_devices()[0].name + " cannot be opened"));
  EXPECT_THAT(said, HasSubstr("--device cpu"));
}

// Tables are divided; what cannot be is refused with what the driver would have to give.
TEST_F(VulkanFault, ADriverThatGivesLittleInOnePieceGivesTheSameAnswerOrSaysWhy) {
  options_.n_ctx = 64;
  const std::vector<int32_t> whole = answer(*open());
  bool some = false, refused = false;
  for (const uint64_t bytes : {uint64_t{4} << 20, uint64_t{2} << 20, uint64_t{1} << 20, uint64_t{1} << 16}) {
    vk_faults::set({.larger_than = bytes});
    EXPECT_EQ(list_devices()[0].max_buffer_bytes, bytes);
    try {
      EXPECT_EQ(answer(*open()), whole) << bytes;
      some = true;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::device);
      EXPECT_THAT(error.what(), HasSubstr("in one piece")) << bytes;
      refused = true;
    }
  }
  EXPECT_TRUE(some && refused);
}

TEST_F(VulkanFault, AChainThatGotStuckIsNotTriedAgain) {
  options_.cache_folder = testing::TempDir() + "bitnet-vk-stuck-cache";
  std::filesystem::remove_all(options_.cache_folder);  // of a run that was killed
  const std::vector<int32_t> whole = answer(*open());
  const RolledLoops rolled(list_devices().at(0));
  options_.kernels = share({.chained_decode = ChainedDecode::fails, .as_gpu = true});
  EXPECT_THAT(failure([&] { answer(*open()); }), HasSubstr("one after the other"));
  EXPECT_EQ(answer(*open()), whole);
  for (const auto& entry : std::filesystem::directory_iterator(options_.cache_folder))
    if (entry.path().filename().string().starts_with("stuck-"))
      std::filesystem::last_write_time(
          entry, std::filesystem::file_time_type::clock::now() - std::chrono::hours(8 * 24));
  EXPECT_THAT(failure([&] { answer(*open()); }), HasSubstr("one after the other"));  // a week is over
  std::filesystem::remove_all(options_.cache_folder);
}

// As where a driver ends a chain before its workgroups give up.
TEST_F(VulkanFault, AChainWithWhichTheDeviceWasLostIsNotTriedAgain) {
  options_.cache_folder = testing::TempDir() + "bitnet-vk-lost-cache";
  const std::vector<int32_t> whole = answer(*open());
  const RolledLoops rolled(list_devices().at(0));
  options_.kernels = share({.chained_decode = ChainedDecode::fails, .as_gpu = true});
  std::filesystem::remove_all(options_.cache_folder);
  {
    const auto engine = open();
    const auto session = Session::create(*engine, 64);
    vk_faults::fail("vkWaitForFences", VK_ERROR_DEVICE_LOST, 1);
    EXPECT_THAT(failure([&] { session->sync(std::vector<int32_t>{1}); }), HasSubstr("the device was lost"));
  }
  EXPECT_EQ(answer(*open()), whole);  // a chain would fail
  std::filesystem::remove_all(options_.cache_folder);
}

// The kernel of a token's stages is several times as large as any other.
TEST_F(VulkanFault, ADriverThatCannotMakeTheKernelOfStagesGivesTheSameAnswer) {
  const RolledLoops rolled(list_devices().at(0));
  const auto logits = [&](ChainedDecode how) {
    options_.kernels = share({.chained_decode = how, .as_gpu = true});
    const auto engine = open();
    const auto session = Session::create(*engine, 64);
    std::vector<float> all;
    for (const std::vector<int32_t>& tokens :
         {std::vector<int32_t>{1}, {1, 2}, {1, 2, 3, 4, 5}, {1, 2, 3, 4, 5, 6}}) {
      session->sync(tokens);
      const auto row = session->logits();
      all.insert(all.end(), row.begin(), row.end());
    }
    return all;
  };
  const std::vector<float> whole = logits(ChainedDecode::never);
  vk_faults::set({.kernels_over = 200'000});
  for (const ChainedDecode how : {ChainedDecode::where_safe, ChainedDecode::never})
    EXPECT_EQ(logits(how), whole);
}

// Nobody has planned for it.
TEST_F(VulkanFault, AFewTokensWithoutMemoryForTheirStagesHaveTheSameLogits) {
  const RolledLoops rolled(list_devices().at(0));
  options_.kernels = share({.chained_decode = ChainedDecode::never, .as_gpu = true});
  const auto logits = [&](int failing) {
    const auto engine = open();
    const auto session = Session::create(*engine, 64);
    session->sync(std::vector<int32_t>{1});
    vk_faults::heal();
    vk_faults::fail("vkAllocateMemory", VK_ERROR_OUT_OF_DEVICE_MEMORY, failing);
    session->sync(std::vector<int32_t>{1, 2, 3, 4, 5});
    const auto row = session->logits();
    return std::vector<float>(row.begin(), row.end());
  };
  const std::vector<float> whole = logits(0);
  const int all = vk_faults::calls("vkAllocateMemory");
  int found = 0;
  for (int n = 1; n <= all && found == 0; ++n) try {
      EXPECT_EQ(logits(n), whole) << "allocation " << n << " of " << all;
      ++found;
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), HasSubstr("--ctx"));
    }
  EXPECT_GT(found, 0);
}

TEST_F(VulkanFault, AKernelThatCannotBeMadeIsNamedWithTheWayOut) {
  vk_faults::fail("vkCreateComputePipelines", VK_ERROR_UNKNOWN, 1);
  EXPECT_THAT(failure([&] { answer(*open()); }), AllOf(HasSubstr("failed"), HasSubstr("--device cpu")));
}

// As on GPUs that share the computer's memory: what they have computed is copied to where the host reads it
// fast.
TEST_F(VulkanFault, MemoryThatTheHostDoesNotCacheGivesTheSameAnswer) {
  const std::vector<int32_t> whole = answer(*open());
  const int submissions = vk_faults::calls("vkQueueSubmit");
  vk_faults::heal();
  vk_faults::set({.cached_memory = true});
  EXPECT_EQ(answer(*open()), whole);
  EXPECT_GT(vk_faults::calls("vkQueueSubmit"), submissions);
}

TEST_F(VulkanFault, ADeviceWithoutIntegerDotGivesTheSameAnswer) {
  const std::vector<int32_t> whole = answer(*open());
  vk_faults::set({.integer_dot = true});
  const auto engine = open();
  EXPECT_FALSE(engine->device().integer_dot);
  EXPECT_EQ(answer(*engine), whole);
  options_.kernels = share({.integer_dot = IntegerDot::always});
  EXPECT_THAT(failure([&] { open(); }), HasSubstr("integer dot"));
}

TEST_F(VulkanFault, ADeviceWithFewInvocationsInARowGivesTheSameAnswer) {
  const std::vector<int32_t> whole = answer(*open());
  const RolledLoops rolled(list_devices().at(0));
  options_.kernels = share({.chained_decode = ChainedDecode::never, .as_gpu = true});
  vk_faults::set({.width = true});
  EXPECT_EQ(answer(*open()), whole);
}

TEST_F(VulkanFault, ADeviceWithoutSubgroupArithmeticOrShufflesGivesTheSameAnswer) {
  const std::vector<int32_t> whole = answer(*open());
  vk_faults::set({.subgroup_arithmetic = true});
  EXPECT_EQ(answer(*open()), whole);
  vk_faults::set({.subgroup_shuffles = true});
  EXPECT_FALSE(list_devices()[0].int8_matrix);  // whose kernels need both
  EXPECT_EQ(answer(*open()), whole);
}

TEST_F(VulkanFault, ADriverThatMayChooseSubgroupsIsAskedForASizeOrHasNoneUsed) {
  const std::vector<int32_t> whole = answer(*open());
  EXPECT_EQ(vk_faults::required_subgroups(), 0);
  vk_faults::set({.fixed_subgroups = true});
  EXPECT_EQ(answer(*open()), whole);
  EXPECT_GT(vk_faults::required_subgroups(), 0);
  vk_faults::heal();
  vk_faults::set({.fixed_subgroups = true, .required_subgroups = true});
  EXPECT_EQ(answer(*open()), whole);
  EXPECT_EQ(vk_faults::required_subgroups(), 0);
}

// Matrices need the Vulkan memory model, under which atomics of kernels beside them need its device scope.
// If the device has no matrices at all, this tests the answer alone.
TEST_F(VulkanFault, ADeviceWithoutDeviceScopeIsGivenNoMatricesAndTheSameAnswer) {
  const std::vector<int32_t> whole = answer(*open());
  vk_faults::set({.device_scope = true});
  const auto engine = open();
  EXPECT_FALSE(engine->device().int8_matrix);
  EXPECT_EQ(answer(*engine), whole);
}

}  // namespace
}  // namespace bitnet
