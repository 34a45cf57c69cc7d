// Sizes of memory, for people: "1.94 GiB", "12.3 MiB".
//
// Thread rule: inline function; any thread.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <string>

namespace bitnet {

inline std::string size_text(uint64_t bytes) {
  if (bytes >= uint64_t{1} << 30) return fmt::format("{:.2f} GiB", static_cast<double>(bytes) / (1 << 30));
  return fmt::format("{:.1f} MiB", static_cast<double>(bytes) / (1 << 20));
}

}  // namespace bitnet
