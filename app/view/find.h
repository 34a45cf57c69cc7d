// Finding words in rows of the screen.
//
// Thread rule: free functions; safe anywhere.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "app/text/styled_text.h"

namespace bitnet {

// A place where the words stand. Wrapped words stand in several rows.
struct Match {
  struct InRow {
    size_t row;
    size_t begin;  // bytes of the row's text
    size_t end;
  };
  std::vector<InRow> rows;
};

// Returns where `words`, which must be of fold_case() and not empty, stand in the first `count` rows. Indents
// and marks are not searched, and a line is searched as one text however it was wrapped.
std::vector<Match> find_in_rows(const std::vector<Row>& rows, size_t count, std::string_view words);

// Gives these bytes of the row another tone, and with them the whole of each cluster (text_width.h) that they
// are a part of: a terminal draws a cluster as one.
void bring_out(Row& row, size_t begin, size_t end, Tone tone);

}  // namespace bitnet
