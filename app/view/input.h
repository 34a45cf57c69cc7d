// Lays the input line out as rows of the screen, with the place of the cursor.
//
// Thread rule: free functions; safe anywhere. They know no terminal.
#pragma once

#include <string_view>
#include <vector>

#include "app/chat/front_end.h"
#include "app/text/styled_text.h"

namespace bitnet {

struct InputRows {
  std::vector<Row> rows;  // from one to max_rows rows around the cursor
  int cursor_row = 0;     // index in rows
  int cursor_column = 0;
};

// `text` is the editor's buffer and `point` the cursor's byte in it. `prompt` stands before the first row,
// and spaces before the others. Every newline begins a row, and a long line goes on in the next row. The rows
// are safe (text_safe.h).
InputRows input_rows(std::string_view prompt, std::string_view text, size_t point, int columns, int max_rows);

// Returns the row above the input with the files of the next turn, or no row if there are none.
std::vector<Row> pending_rows(const std::vector<PendingFile>& files, int columns);

// Returns a row for each of the last texts that wait to be sent, `most` at most.
std::vector<Row> queued_rows(const std::vector<std::string>& queued, int columns, int most);

}  // namespace bitnet
