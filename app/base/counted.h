// Numbers with what they count, for people: "1 turn", "2 turns".
//
// Thread rule: inline function; any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace bitnet {

// Requires: the plural of `what` is made with an s.
inline std::string counted(uint64_t count, std::string_view what) {
  return std::to_string(count) + " " + std::string(what) + (count == 1 ? "" : "s");
}

}  // namespace bitnet
