// A Vulkan driver that fails where a test wants it: the linker puts the calls of vk_faults.cpp before those
// of the loader (--wrap, see CMakeLists.txt).
//
// Thread rule: any thread.
#pragma once

#include <vulkan/vulkan.h>

#include <map>
#include <string>

namespace bitnet::vk_faults {

// Makes the n-th call of `call` from now (1 = the next) give `result` and do nothing. Only a wait is still
// waited for, so that what a test frees afterwards is not in use. With VK_ERROR_DEVICE_LOST every later
// submission and wait fails too, until the next device is made; `times` such devices are lost, each at its
// n-th call.
void fail(const std::string& call, VkResult result, int n, int times = 1);

// What the machine is said not to have.
struct Without {
  bool driver = false;
  bool devices = false;
  bool last_device = false;  // any more, which it had when it was asked how many there are
  bool latest = false;       // in a list, since it has come behind that question
  bool compute_queue = false;
  bool buffers = false;      // more of a kernel than the four that Vulkan promises
  bool invocations = false;  // more of a workgroup than the 128 that Vulkan promises
  bool width = false;        // more of a workgroup in a row than 256; kernels that have more are refused
  bool extensions = false;   // an answer when it is asked for them
  uint64_t larger_than = 0;  // bytes that are more than the driver gives in one piece; 0: any
  uint64_t kernels_over = 0;  // bytes of SPIR-V that are more than its compiler takes; 0: any
  bool cached_memory = false;  // by the host
  bool integer_dot = false;
  // Of subgroups; kernels that ask for it are refused.
  bool subgroup_arithmetic = false;
  bool subgroup_shuffles = false;
  bool fixed_subgroups = false;  // the driver may give a kernel half of the lanes, too
  bool required_subgroups =
      false;                  // a kernel cannot ask for a size; besides, those that use subgroups are refused
  bool timelines = false;     // semaphores that count
  bool device_scope = false;  // of the Vulkan memory model
};
void set(const Without& without);

void heal();                         // everything works, and nothing was called yet
int calls(const std::string& call);  // since heal()
int required_subgroups();            // kernels since heal() that asked for a size, and for full subgroups
int allocations();                   // those of device memory that were not freed yet
std::map<std::string, int> calls();

}  // namespace bitnet::vk_faults
