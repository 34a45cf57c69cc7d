#include "bench/copy_speed.h"

#include <algorithm>

#include "engine/vk/copy_speed.h"

namespace bitnet {

double measure_copy_speed(const EngineOptions& options) {
  const vk::Device device(options);
  const uint64_t bytes = std::min<uint64_t>(512 << 20, device.info().max_buffer_bytes / 16 * 16);
  return 2 * vk::copy_speed(device, BufferUse::device, bytes) / 1e9;
}

}  // namespace bitnet
