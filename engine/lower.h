// Text in small letters, as names of devices are compared.
//
// Thread rule: free function; any thread.
#pragma once

#include <algorithm>
#include <cctype>
#include <string>

namespace bitnet {

inline std::string lower(std::string text) {  // of ASCII
  std::ranges::transform(text, text.begin(), [](unsigned char c) { return std::tolower(c); });
  return text;
}

}  // namespace bitnet
