// What the rows of a transcript and those of its Markdown have in common.
//
// Thread rule: constants and a free function; safe anywhere.
#pragma once

#include <algorithm>
#include <string>

#include "app/text/text_wrap.h"

namespace bitnet {

constexpr int kWidestText = 100;  // longer rows are hard to read
constexpr Face kQuiet = {Tone::quiet};

inline bool is_blank(const Row& row) {
  return std::all_of(row.spans.begin(), row.spans.end(),
                     [](const Span& span) { return span.text.find_first_not_of(' ') == std::string::npos; });
}

}  // namespace bitnet
