// Which devices there are, what each can do, and how fast it reads. No model is needed for any of it.
//
// Thread rule: any thread may call these. read_speeds opens the device itself where its speeds are not kept
// yet; a Session that works on it meanwhile makes them too low. Errors: Error(device) where the device that
// the options name is missing or cannot be used.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace bitnet {

struct EngineOptions;  // engine/engine.h

struct DeviceInfo {
  uint32_t index = 0;  // as --device takes it
  std::string name;
  std::string driver;             // name and version
  std::string api;                // "1.3.230"; empty for the CPU
  bool software = false;          // a CPU behind Vulkan, such as lavapipe
  bool cpu = false;               // the CPU itself: no Vulkan, driver says which instructions and threads
  uint64_t memory_bytes = 0;      // of the largest device-local heap; of an integrated GPU, of all heaps
  uint64_t free_bytes = 0;        // of that, what the driver says is free, where it says so; else all
  uint64_t free_host_bytes =
      0;  // the same of the largest heap that is not the device's own; 0: there is none
  bool has_slots = false;         // can copy weights from host memory while it works (vk/stream.h)
  bool has_copy_queue = false;    // and does so beside kernels
  bool unified = false;           // the device has no memory but the computer's
  uint32_t subgroup_size = 0;     // lanes
  bool integer_dot = false;       // has the 4x8-bit dot product
  bool fast_integer_dot = false;  // and says that it is faster than what shaders can do without
  bool int8_matrix = false;       // multiplies int8 matrices (cooperative matrices)
  std::string arithmetic;         // devices that say the same here give the same bits
  uint64_t max_buffer_bytes = 0;  // the largest that the driver makes and that one shader binding can reach
  std::string unusable;           // why it cannot run a model; empty when it can
};

// Every Vulkan device of the machine, in the loader's order, and the CPU last.
std::vector<DeviceInfo> list_devices();

// How many threads of this process can run at once: as many as it has processors to run on, and no more than
// its control group's share of processor time allows. More threads than that only wait for each other.
uint32_t most_threads();

// Bytes of memory that this process may have: the computer's, or what its control group is limited to, if
// that is less; 0 where it is not known.
uint64_t memory_of_computer();

// Bytes a second that the kernels of a device read of its own memory and of host memory; 0 = it cannot. A
// GPU's are measured when they are first asked for, in half a second, and kept in the cache folder for the
// device and its driver. On the CPU both are the speed of its memory now.
struct ReadSpeeds {
  double of_device = 0;
  double of_host = 0;
  double of_copies = 0;  // of host memory, by the queue for copies, or by copies where there is none
};
ReadSpeeds read_speeds(const EngineOptions& options);
// Whether a token is faster if ternary codes in host memory have 1.6 bits, which have to be copied, than if
// kernels read two bits there.
inline bool fives_pay(const ReadSpeeds& speeds) {
  constexpr double kPart = 0.82;  // of the bytes, also where rows do not fill their last bytes
  return kPart * speeds.of_host < speeds.of_copies;
}

}  // namespace bitnet
