// The bar in which a person types words to find in the transcript.
//
// Thread rule: lives on the loop's thread; it knows no terminal.
#pragma once

#include <string>
#include <string_view>

#include "overlay.h"

namespace bitnet {

class TranscriptView;

class FindBar : public Overlay {
 public:
  explicit FindBar(TranscriptView& transcript) : transcript_(transcript) {}

  Outcome press(const KeyPress& key, int columns, int rows) override;
  std::optional<Row> input_row(int columns, int& cursor_column) override;

 private:
  void type(std::string_view bytes);

  TranscriptView& transcript_;
  bool typing_ = true;  // false: n and N go from match to match
  std::string words_;
};

// Returns the bar as one row, and the column of its cursor. `here` is the number of the match that the view
// shows, from 1; without a match it is 0.
Row find_row(std::string_view words, bool typing, size_t here, size_t count, int columns, int& cursor_column);

}  // namespace bitnet
