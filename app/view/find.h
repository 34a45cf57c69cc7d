// Finding words in rows of the screen.
//
// Thread rule: free functions; safe anywhere.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "app/text/styled_text.h"

namespace bitnet {

// Without case, as each code point is in lower case.
std::string folded(std::string_view text);

// A place where the words stand: over several rows where they were wrapped.
struct Match {
  struct InRow {
    size_t row;
    size_t begin;  // bytes of the row's text
    size_t end;
  };
  std::vector<InRow> rows;
};

// Where `words`, folded and not empty, stand in the first `count` rows; indents and marks are not searched,
// and a line is one text however it was wrapped.
std::vector<Match> find_in_rows(const std::vector<Row>& rows, size_t count, std::string_view words);

// Gives these bytes of the row another tone.
void bring_out(Row& row, size_t begin, size_t end, Tone tone);

}  // namespace bitnet
