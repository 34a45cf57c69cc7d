// How fast a kernel reads and writes the device's memory: what other kernels are measured against.
#pragma once

#include "engine/engine.h"

namespace bitnet {

// GB/s, bytes read and bytes written: the best of many copies of 512 MiB, or of the most that a binding reaches.
double measure_copy_speed(const EngineOptions& options);

}  // namespace bitnet
