// Names in ASCII without a difference between capital and small letters: of devices, headers, files.
//
// Thread rule: free function; any thread.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>

namespace bitnet {

// Not std::tolower(), which depends on the locale.
inline std::string lower(std::string_view text) {
  std::string small(text);
  std::ranges::transform(small, small.begin(),
                         [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  return small;
}

}  // namespace bitnet
