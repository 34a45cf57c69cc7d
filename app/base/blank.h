// Blank text, and text without its blank ends.
//
// Thread rule: free functions; any thread.
#pragma once

#include <string_view>

namespace bitnet {

constexpr std::string_view trim(std::string_view text) {
  constexpr std::string_view blanks = " \t\r\n";
  const size_t begin = text.find_first_not_of(blanks);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(blanks) - begin + 1);
}

constexpr bool is_blank(std::string_view text) { return trim(text).empty(); }

}  // namespace bitnet
