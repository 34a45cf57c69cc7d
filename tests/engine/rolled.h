// Kernels that a software device compiles in less than half of the time (tests/support/roll_loops.py).
#pragma once

#include <cstdlib>

#include "engine/devices.h"

namespace bitnet {

// lavapipe does not optimise them either, which takes another quarter off. It looks once, when devices are
// first listed.
inline const bool not_optimised =
    std::getenv("BITNET_ROLLED_KERNELS") && setenv("GALLIVM_PERF", "nopt", 0) == 0;

// Gives a software device, when it is opened, the kernels of the folder that ctest names.
inline void roll_loops(const DeviceInfo& device) {
  const char* folder = std::getenv("BITNET_ROLLED_KERNELS");
  if (folder && device.software) setenv("BITNET_CHAT_SHADERS", folder, 1);
}

}  // namespace bitnet
