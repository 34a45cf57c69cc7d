#include "engine/read_ahead.h"

#include <sys/mman.h>

#include <algorithm>
#include <system_error>

#include "engine/devices.h"

namespace bitnet {
namespace {

constexpr size_t kStep = 1 << 20;  // Linux reads no more for one call than a device takes at a time

}  // namespace

ReadAhead::ReadAhead(std::vector<std::shared_ptr<const MappedFile>> files, uint64_t most)
    : files_(std::move(files)) {
  uint64_t bytes = 0;
  for (const auto& file : files_) bytes += file->bytes().size();
  if (bytes > (most == 0 ? memory_of_computer() / 2 : most)) return;
  try {
    thread_ = std::thread([this] { read(); });
  } catch (const std::system_error&) {  // who looks at the bytes waits for them
  }
}

ReadAhead::~ReadAhead() {
  stop_ = true;
  if (thread_.joinable()) thread_.join();
}

void ReadAhead::read() const {
  for (const auto& file : files_) {
    auto* at = const_cast<std::byte*>(file->bytes().data());
    for (size_t left = file->bytes().size(); left != 0 && !stop_;) {
      const size_t step = std::min(left, kStep);
      madvise(at, step, MADV_WILLNEED);
      at += step;
      left -= step;
    }
  }
}

}  // namespace bitnet
