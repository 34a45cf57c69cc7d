// The bar in which words are typed that are to be found in the transcript.
//
// Thread rule: lives on the loop's thread; no terminal in it.
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

// The bar as one row, with the column of its cursor. `here` counts the matches from 1; 0 of 0: nothing found.
Row find_row(std::string_view words, bool typing, size_t here, size_t count, int columns, int& cursor_column);

}  // namespace bitnet
