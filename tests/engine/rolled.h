// Kernels that a software device compiles in less than half of the time (tests/support/roll_loops.py).
#pragma once

#include <cstdlib>

#include "engine/devices.h"

namespace bitnet {

// As long as this lives, a software device takes the kernels of the folder that ctest names.
class RolledLoops {
 public:
  explicit RolledLoops(const DeviceInfo& device) {
    const char* folder = std::getenv("BITNET_ROLLED_KERNELS");
    if (folder && device.software) setenv("BITNET_CHAT_SHADERS", folder, 1);
  }
  ~RolledLoops() { unsetenv("BITNET_CHAT_SHADERS"); }
  RolledLoops(const RolledLoops&) = delete;
  RolledLoops& operator=(const RolledLoops&) = delete;
};

}  // namespace bitnet
