// Breaks one line of styled text into rows of a given width.
//
// Thread rule: free function; safe anywhere.
#pragma once

#include <string_view>
#include <vector>

#include "styled_text.h"

namespace bitnet {

struct Piece {
  std::string_view text;  // no newline
  Face face;
  size_t source = 0;  // where the text begins in its source
};

struct WrapStyle {
  int columns = 80;   // of a row, with its indent; at least indent + 2 are used
  Span first;         // put before the first row
  Span rest;          // put before every other row
  bool words = true;  // break at spaces and between wide characters where possible; false: anywhere
};

// Appends the rows of the line; an empty line gives one row. Breaking is greedy: as text is added at the end,
// only the last row of the result changes, and a line that is taken up again where a row begins breaks the
// same way. Spaces at a break are dropped where `words`; tabs go to every fourth column of the row.
void wrap_line(const std::vector<Piece>& line, const WrapStyle& style, std::vector<Row>& out);

}  // namespace bitnet
