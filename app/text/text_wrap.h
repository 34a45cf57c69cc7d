// Breaks a line of styled text into rows of a given width.
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
  int columns = 80;   // of a row with its indent; never fewer than indent + 2
  Span first;         // stands before the first row
  Span rest;          // stands before every other row
  bool words = true;  // break at spaces and between wide characters if possible; false: anywhere
};

// Appends the rows of the line; an empty line gives one row. Breaking is greedy. When text is added at the
// end of the line, only the last row changes, and a line that is wrapped anew from the start of a row breaks
// the same way. With `words`, spaces at a break are dropped. Tabs go to every fourth column of the row.
void wrap_line(const std::vector<Piece>& line, const WrapStyle& style, std::vector<Row>& out);

}  // namespace bitnet
