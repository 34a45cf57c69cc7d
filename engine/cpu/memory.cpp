#include "memory.h"

#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>

#include "engine/error.h"

namespace bitnet::cpu {

Memory::Memory(uint64_t bytes, std::string_view way_out) {
  bytes = std::max<uint64_t>(bytes, 1);
  void* mapped = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED)
    throw Error(ErrorKind::device, fmt::format("there are no {:.1f} MB of memory left; {}",
                                               static_cast<double>(bytes) / 1e6, way_out));
  bytes_ = {static_cast<std::byte*>(mapped), bytes};
}

Memory::~Memory() { munmap(bytes_.data(), bytes_.size()); }

void Memory::prefer_large_pages() { madvise(bytes_.data(), bytes_.size(), MADV_HUGEPAGE); }

void Memory::shorten(uint64_t bytes) {
  constexpr uint64_t kPage = 2 << 20;
  const uint64_t kept = std::max<uint64_t>((bytes + kPage - 1) / kPage, 1) * kPage;
  if (kept >= bytes_.size()) return;
  munmap(bytes_.data() + kept, bytes_.size() - kept);
  bytes_ = bytes_.first(kept);
}

}  // namespace bitnet::cpu
