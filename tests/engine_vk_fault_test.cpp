// A Vulkan driver that fails: at every allocation, every submission, every wait, and devices that lack
// something. The linker puts the calls of this file before those of the loader (--wrap, see CMakeLists.txt).
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <vulkan/vulkan.h>

#include <cstring>
#include <filesystem>
#include <functional>
#include <optional>

#include "engine/engine.h"

namespace bitnet {
namespace {

using testing::HasSubstr;

// The n-th call from now gives `result`, and every call after it where the device is lost.
struct Fault {
  VkResult result = VK_SUCCESS;
  int left = 0;
  int calls = 0;

  std::optional<VkResult> next() {
    ++calls;
    if (result == VK_SUCCESS || --left > 0) return std::nullopt;
    const VkResult given = result;
    if (given != VK_ERROR_DEVICE_LOST) result = VK_SUCCESS;
    return given;
  }
};
Fault allocation, submission, waiting;
bool without_devices = false, without_queue = false, without_integer_dot = false, without_driver = false;

void heal() {
  allocation = submission = waiting = {};
  without_devices = without_queue = without_integer_dot = without_driver = false;
}

}  // namespace
}  // namespace bitnet

#define REAL_AND_WRAPPED(result, name, ...)     \
  extern "C" result __real_##name(__VA_ARGS__); \
  extern "C" result __wrap_##name(__VA_ARGS__)

REAL_AND_WRAPPED(VkResult, vkAllocateMemory, VkDevice device, const VkMemoryAllocateInfo* info,
                 const VkAllocationCallbacks* callbacks, VkDeviceMemory* memory) {
  const auto fault = bitnet::allocation.next();
  return fault ? *fault : __real_vkAllocateMemory(device, info, callbacks, memory);
}
REAL_AND_WRAPPED(VkResult, vkQueueSubmit, VkQueue queue, uint32_t n, const VkSubmitInfo* info,
                 VkFence fence) {
  const auto fault = bitnet::submission.next();
  return fault ? *fault : __real_vkQueueSubmit(queue, n, info, fence);
}
REAL_AND_WRAPPED(VkResult, vkWaitForFences, VkDevice device, uint32_t n, const VkFence* fences, VkBool32 all,
                 uint64_t timeout) {
  // The work is waited for all the same: what a test frees afterwards must not be in use.
  const VkResult done = __real_vkWaitForFences(device, n, fences, all, timeout);
  return bitnet::waiting.next().value_or(done);
}
REAL_AND_WRAPPED(VkResult, vkCreateInstance, const VkInstanceCreateInfo* info,
                 const VkAllocationCallbacks* callbacks, VkInstance* instance) {
  return bitnet::without_driver ? VK_ERROR_INCOMPATIBLE_DRIVER
                                : __real_vkCreateInstance(info, callbacks, instance);
}
REAL_AND_WRAPPED(VkResult, vkEnumeratePhysicalDevices, VkInstance instance, uint32_t* n,
                 VkPhysicalDevice* devices) {
  if (!bitnet::without_devices) return __real_vkEnumeratePhysicalDevices(instance, n, devices);
  *n = 0;
  return VK_SUCCESS;
}
REAL_AND_WRAPPED(void, vkGetPhysicalDeviceQueueFamilyProperties, VkPhysicalDevice device, uint32_t* n,
                 VkQueueFamilyProperties* families) {
  __real_vkGetPhysicalDeviceQueueFamilyProperties(device, n, families);
  for (uint32_t i = 0; families != nullptr && bitnet::without_queue && i < *n; ++i)
    families[i].queueFlags &= ~VkQueueFlags{VK_QUEUE_COMPUTE_BIT};
}
REAL_AND_WRAPPED(void, vkGetPhysicalDeviceFeatures2, VkPhysicalDevice device,
                 VkPhysicalDeviceFeatures2* features) {
  __real_vkGetPhysicalDeviceFeatures2(device, features);
  auto* next = static_cast<VkBaseOutStructure*>(features->pNext);
  for (; bitnet::without_integer_dot && next != nullptr; next = next->pNext) {
    if (next->sType == VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_INTEGER_DOT_PRODUCT_FEATURES)
      reinterpret_cast<VkPhysicalDeviceShaderIntegerDotProductFeatures*>(next)->shaderIntegerDotProduct =
          VK_FALSE;
  }
}

namespace bitnet {
namespace {

class VulkanFault : public testing::Test {
 protected:
  VulkanFault() {
    heal();
    if (list_devices().front().cpu) no_device_ = true;
    options_.device = std::string(1, '0');
    options_.cache_folder = testing::TempDir() + "bitnet-vk-fault-cache";
  }
  ~VulkanFault() override { heal(); }
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

  std::vector<int32_t> answer(Engine& engine, std::vector<int32_t>* so_far = nullptr) const {
    std::vector<int32_t> tokens;
    if (so_far == nullptr) so_far = &tokens;
    const auto session = Session::create(engine, 64);
    session->sync(std::vector<int32_t>{1, 2, 3, 4, 5});
    SamplerParams greedy;
    greedy.temperature = 0;
    Sampler sampler(greedy);
    DecodeOptions how;
    how.max_tokens = 6;
    session->decode(sampler, how, [&](const SampledToken& token) {
      so_far->push_back(token.id);
      return true;
    });
    return *so_far;
  }

  const GgufFile file_{BITNET_TEST_MODEL};
  EngineOptions options_;
  bool no_device_ = false;
};

TEST_F(VulkanFault, OutOfDeviceMemoryAtEachAllocationIsSaidAndLeavesNothingBehind) {
  {
    const auto engine = open();
    answer(*engine);
  }
  const int total = allocation.calls;
  ASSERT_GT(total, 10);
  for (int n = 1; n <= total; n += 1 + total / 40) {
    heal();
    allocation = {VK_ERROR_OUT_OF_DEVICE_MEMORY, n};
    EXPECT_THAT(failure([&] {
                  const auto engine = open();
                  answer(*engine);
                }),
                HasSubstr("--ctx"))
        << "allocation " << n << " of " << total;
  }
}

TEST_F(VulkanFault, ADeviceLostAtEachSubmissionOrWaitKeepsTheTokensAndOpensAgain) {
  const std::vector<int32_t> whole = answer(*open());
  ASSERT_EQ(whole.size(), 6U);
  for (Fault* fault : {&submission, &waiting}) {
    heal();
    answer(*open());
    const int total = fault->calls;
    for (int n = 1; n <= total; n += 1 + total / 20) {
      heal();
      *fault = {VK_ERROR_DEVICE_LOST, n};
      std::vector<int32_t> tokens;
      EXPECT_THAT(failure([&] {
                    const auto engine = open();
                    answer(*engine, &tokens);
                  }),
                  HasSubstr("the device was lost"));
      EXPECT_TRUE(std::equal(tokens.begin(), tokens.end(), whole.begin())) << n << " of " << total;
    }
  }
  heal();
  EXPECT_EQ(answer(*open()), whole);
}

TEST_F(VulkanFault, AWaitThatTimesOutIsAnError) {
  const auto engine = open();
  waiting = {VK_TIMEOUT, 1};
  EXPECT_THAT(failure([&] { answer(*engine); }), HasSubstr("vkWaitForFences"));
}

TEST_F(VulkanFault, WithoutADeviceTheCpuIsUsed) {
  for (bool* missing : {&without_devices, &without_driver}) {
    heal();
    *missing = true;
    ASSERT_EQ(list_devices().size(), 1U);
    EXPECT_TRUE(list_devices()[0].cpu);
    options_.device.clear();
    EXPECT_TRUE(open()->device().cpu);
    options_.device = "no such device";
    EXPECT_THAT(failure([&] { open(); }), HasSubstr("cpu"));
  }
}

TEST_F(VulkanFault, ADeviceWithoutAComputeQueueIsNamedWithTheReason) {
  without_queue = true;
  EXPECT_THAT(list_devices()[0].unusable, HasSubstr("compute queue"));
  EXPECT_THAT(failure([&] { open(); }), HasSubstr("compute queue"));
  options_.device.clear();
  EXPECT_TRUE(open()->device().cpu);
}

TEST_F(VulkanFault, ADeviceWithoutIntegerDotGivesTheSameAnswer) {
  const std::vector<int32_t> whole = answer(*open());
  without_integer_dot = true;
  const auto engine = open();
  EXPECT_FALSE(engine->device().integer_dot);
  EXPECT_EQ(answer(*engine), whole);
  options_.integer_dot = IntegerDot::always;
  EXPECT_THAT(failure([&] { open(); }), HasSubstr("integer dot"));
}

}  // namespace
}  // namespace bitnet
