// What somebody may have meant.
//
// Thread rule: free functions; any thread.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace bitnet {

// The one of `names` with the least edit distance (Levenshtein) to `typed`, at most 2; otherwise the first
// that begins with a `typed` of 3 letters or more; empty where none is near.
std::string nearest(std::string_view typed, std::span<const std::string> names);

}  // namespace bitnet
