// "1 turn", "2 turns": numbers with what they count, for people.
//
// Thread rule: free function; any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace bitnet {

// `what` is a word whose plural takes an s.
inline std::string counted(uint64_t count, std::string_view what) {
  return std::to_string(count) + " " + std::string(what) + (count == 1 ? "" : "s");
}

}  // namespace bitnet
