// The Vulkan instance of the process, and how the result of a call becomes an Error.
//
// Thread rule: any thread.
#pragma once

#include <vulkan/vulkan.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "engine/error.h"

namespace bitnet::vk {

class DeviceLost : public Error {
 public:
  using Error::Error;
};

// Throws Error(device) with the name of the call and of the result unless `result` is VK_SUCCESS; DeviceLost
// where that says so.
void check(VkResult result, const char* call);
#define VK_CHECK(call) ::bitnet::vk::check((call), #call)

// What `list` gives, a call of Vulkan to which a count goes and where the values are to be: at first null,
// then room for as many, each like `blank`. Those that come between the two calls are left out; some may go,
// too.
template <typename T, typename List>
std::vector<T> list_all(const char* call, const List& list, const T& blank = {}) {
  uint32_t count = 0;
  check(list(&count, static_cast<T*>(nullptr)), call);
  std::vector<T> all(count, blank);
  const VkResult result = list(&count, all.data());
  if (result != VK_INCOMPLETE) check(result, call);
  all.resize(std::min<size_t>(count, all.size()));
  return all;
}

// With BITNET_CHAT_VALIDATION=1 in the environment the Khronos validation layer runs with its synchronisation
// checks, and its first message ends the process: that is how the tests run.
class Instance {
 public:
  static std::shared_ptr<Instance> get();
  ~Instance();
  Instance(const Instance&) = delete;
  Instance& operator=(const Instance&) = delete;

  VkInstance handle() const { return instance_; }
  std::vector<VkPhysicalDevice> physical_devices() const;

 private:
  Instance();
  VkInstance instance_ = VK_NULL_HANDLE;
  VkDebugUtilsMessengerEXT messenger_ = VK_NULL_HANDLE;
};

}  // namespace bitnet::vk
