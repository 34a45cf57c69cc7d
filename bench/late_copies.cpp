#include "late_copies.h"

#include <vulkan/vulkan.h>

#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <random>
#include <thread>
#include <vector>

namespace bitnet {
namespace {

using Clock = std::chrono::steady_clock;

std::atomic<bool> wanted = false;

// Sets a semaphore of a device to 1, 2, ..., each up to two milliseconds after it was asked for.
class LateSignals {
 public:
  explicit LateSignals(VkDevice device) : device_(device) {
    VkSemaphoreTypeCreateInfo type{VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO};
    type.semaphoreType = VK_SEMAPHORE_TYPE_TIMELINE;
    const VkSemaphoreCreateInfo info{VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO, &type};
    vkCreateSemaphore(device, &info, nullptr, &semaphore_);
    thread_ = std::thread([this] { run(); });
  }
  ~LateSignals() {
    {
      const std::lock_guard lock(mutex_);
      ends_ = true;
    }
    changed_.notify_one();
    thread_.join();
    vkDestroySemaphore(device_, semaphore_, nullptr);
  }
  LateSignals(const LateSignals&) = delete;
  LateSignals& operator=(const LateSignals&) = delete;

  VkDevice device() const { return device_; }
  VkSemaphore semaphore() const { return semaphore_; }

  uint64_t next() {
    const std::lock_guard lock(mutex_);
    due_.push_back(Clock::now() + std::chrono::microseconds(random_() % 2000));
    changed_.notify_one();
    return ++asked_;
  }

 private:
  void run() {
    std::unique_lock lock(mutex_);
    for (uint64_t value = 1;; ++value) {
      changed_.wait(lock, [this] { return ends_ || !due_.empty(); });
      if (due_.empty()) return;
      const Clock::time_point due = due_.front();
      due_.pop_front();
      lock.unlock();
      std::this_thread::sleep_until(due);
      const VkSemaphoreSignalInfo signal{VK_STRUCTURE_TYPE_SEMAPHORE_SIGNAL_INFO, nullptr, semaphore_, value};
      vkSignalSemaphore(device_, &signal);
      lock.lock();
    }
  }

  VkDevice device_;
  VkSemaphore semaphore_ = VK_NULL_HANDLE;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Clock::time_point> due_;
  uint64_t asked_ = 0;
  std::mt19937 random_{1};
  bool ends_ = false;
  std::thread thread_;
};

std::unique_ptr<LateSignals> signals;  // of the device that was made last

bool is_copy(const VkSubmitInfo& info) {
  return info.waitSemaphoreCount <= 1 && info.commandBufferCount != 0 && info.pWaitDstStageMask != nullptr &&
         *info.pWaitDstStageMask == VK_PIPELINE_STAGE_TRANSFER_BIT;
}

// A submission of copies that waits for one semaphore more.
struct LateCopy {
  std::array<VkSemaphore, 2> wait{};
  std::array<VkPipelineStageFlags, 2> stages{};
  std::array<uint64_t, 2> until{};
  VkTimelineSemaphoreSubmitInfo values{};
};

void delay(VkSubmitInfo& info, LateCopy& late) {
  late.values = *static_cast<const VkTimelineSemaphoreSubmitInfo*>(info.pNext);
  uint32_t n = info.waitSemaphoreCount;
  if (n != 0) {
    late.wait[0] = *info.pWaitSemaphores;
    late.until[0] = late.values.waitSemaphoreValueCount != 0 ? *late.values.pWaitSemaphoreValues : 0;
  }
  late.wait[n] = signals->semaphore();
  late.until[n++] = signals->next();
  late.stages = {VK_PIPELINE_STAGE_TRANSFER_BIT, VK_PIPELINE_STAGE_TRANSFER_BIT};
  late.values.waitSemaphoreValueCount = info.waitSemaphoreCount = n;
  late.values.pWaitSemaphoreValues = late.until.data();
  info.pNext = &late.values;
  info.pWaitSemaphores = late.wait.data();
  info.pWaitDstStageMask = late.stages.data();
}

}  // namespace

void make_copies_late(bool late) { wanted = late; }

}  // namespace bitnet

using namespace bitnet;

extern "C" {
VkResult __real_vkCreateDevice(VkPhysicalDevice physical, const VkDeviceCreateInfo* info,
                               const VkAllocationCallbacks* callbacks, VkDevice* device);
VkResult __wrap_vkCreateDevice(VkPhysicalDevice physical, const VkDeviceCreateInfo* info,
                               const VkAllocationCallbacks* callbacks, VkDevice* device) {
  const VkResult result = __real_vkCreateDevice(physical, info, callbacks, device);
  if (result == VK_SUCCESS && wanted) signals = std::make_unique<LateSignals>(*device);
  return result;
}

void __real_vkDestroyDevice(VkDevice device, const VkAllocationCallbacks* callbacks);
void __wrap_vkDestroyDevice(VkDevice device, const VkAllocationCallbacks* callbacks) {
  if (signals && signals->device() == device) signals.reset();
  __real_vkDestroyDevice(device, callbacks);
}

VkResult __real_vkQueueSubmit(VkQueue queue, uint32_t n, const VkSubmitInfo* infos, VkFence fence);
VkResult __wrap_vkQueueSubmit(VkQueue queue, uint32_t n, const VkSubmitInfo* infos, VkFence fence) {
  if (!signals) return __real_vkQueueSubmit(queue, n, infos, fence);
  std::vector<VkSubmitInfo> all(infos, infos + n);
  std::vector<LateCopy> late(n);
  for (uint32_t i = 0; i < n; ++i)
    if (is_copy(all[i])) delay(all[i], late[i]);
  return __real_vkQueueSubmit(queue, n, all.data(), fence);
}
}
