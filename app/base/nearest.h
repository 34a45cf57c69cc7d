// Finds the name that somebody may have meant.
//
// Thread rule: free function; any thread.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace bitnet {

// Returns the one of `names` with the least edit distance (Levenshtein) to `typed`, if that is at most 2, or
// 1 where `typed` has fewer than 5 letters; otherwise the first that begins with `typed`, if that has 3
// letters or more; empty if none is near.
std::string nearest(std::string_view typed, std::span<const std::string> names);

}  // namespace bitnet
