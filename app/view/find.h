// Finding words in rows of the screen, and the bar they are typed in.
//
// Thread rule: free functions; no terminal in them.
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
  struct Part {
    size_t row;
    size_t begin;  // bytes of the row's text
    size_t end;
  };
  std::vector<Part> parts;
};

// Where `words`, folded and not empty, stand in the first `count` rows; indents and marks are not searched,
// and a line is one text however it was wrapped.
std::vector<Match> find_in_rows(const std::vector<Row>& rows, size_t count, std::string_view words);

// Gives these bytes of the row another tone.
void bring_out(Row& row, size_t begin, size_t end, Tone tone);

struct FindBar {
  bool shown = false;
  bool typing = true;  // false: n and N go on
  std::string words;
};
// One row, with the column of the cursor. `here` counts from 1; 0 of 0: nothing found.
Row find_row(const FindBar& bar, size_t here, size_t count, int columns, int& cursor_column);

// What a key's bytes do to a line as short as these: text is added, Backspace, ^U and ^W take away. False
// where they are something else.
bool edit_short_line(std::string& line, std::string_view bytes);

}  // namespace bitnet
