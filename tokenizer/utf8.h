// Steps through text that may not be UTF-8, by the rules of Unicode 15: table 3-7 (well-formed byte
// sequences) and section 3.9 (maximal subparts).
//
// Thread rule: these are pure functions.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace bitnet {

enum class Utf8 {
  valid,       // `length` bytes are one character
  invalid,     // `length` bytes are a maximal subpart of a character that cannot be completed
  incomplete,  // the text ends inside a character whose first `length` bytes are right so far
};

struct Utf8Step {
  Utf8 kind;
  size_t length;  // 1..4
};

// Tells what stands at the start of `text`. Requires: `text` is not empty.
Utf8Step utf8_step(std::string_view text);

// Appends `text` to `out`, with U+FFFD for each maximal subpart. Returns how many bytes it took: all of them,
// or all but an incomplete character at the end.
size_t append_repaired(std::string_view text, std::string& out);

inline constexpr std::string_view kReplacement = "\xef\xbf\xbd";  // U+FFFD

}  // namespace bitnet
