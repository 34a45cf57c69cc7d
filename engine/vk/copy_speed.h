// How fast a kernel copies memory, as a scale for other kernels.
//
// Thread rule: as the Device.
#pragma once

#include "device.h"
#include "engine/backend.h"

namespace bitnet::vk {

// Bytes of `from` that a kernel copies to device memory in a second: the best of many copies of so many
// bytes, a multiple of 16 that a binding can reach.
double copy_speed(const Device& device, BufferUse from, uint64_t bytes);

}  // namespace bitnet::vk
