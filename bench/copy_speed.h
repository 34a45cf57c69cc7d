// Measures how fast a kernel reads and writes the device's memory, as a scale for other kernels.
#pragma once

#include "engine/engine.h"

namespace bitnet {

// Returns GB/s of bytes read and bytes written together: the best of many copies of 512 MiB, or of the most
// that a binding can reach.
double measure_copy_speed(const EngineOptions& options);

}  // namespace bitnet
