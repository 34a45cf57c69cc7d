// The input as rows of the screen, with the place of the cursor.
//
// Thread rule: free function; no terminal in it.
#pragma once

#include <string_view>
#include <vector>

#include "app/chat/front_end.h"
#include "app/text/styled_text.h"

namespace bitnet {

struct InputRows {
  std::vector<Row> rows;  // at least one, at most max_rows: those around the cursor
  int cursor_row = 0;     // in rows
  int cursor_column = 0;
};

// `text` is the editor's buffer, `point` a byte in it; `prompt` stands before the first row and as many
// spaces before the others. Newlines begin rows; long lines go on in the next row. Shown safely
// (text_safe.h).
InputRows input_rows(std::string_view prompt, std::string_view text, size_t point, int columns, int max_rows);

// What stands above the input: the files that are in the next turn, in one row; none where there are none.
std::vector<Row> pending_rows(const std::vector<PendingFile>& files, int columns);

}  // namespace bitnet
