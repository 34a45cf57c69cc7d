// The rows of a transcript, for the fuzz targets that stream into one.
#pragma once

#include <string>

#include "app/text/text_width.h"
#include "app/view/transcript.h"
#include "fuzz.h"

namespace bitnet::fuzz {

constexpr int kNarrowest = 16;  // a narrower screen would cut its own longest words, "(no answer)"

// No row may hold what a terminal would obey or be wider than the screen.
inline std::string checked(const Row& row, int columns) {
  const std::string text = row.text();
  promise(!has_control(text));
  promise(columns_of(text) <= columns);
  return text + "\n";
}

inline std::string rows_of(TranscriptView& view, int columns) {
  std::string all;
  for (size_t i = 0; i < view.row_count(); ++i) all += checked(view.row(i), columns);
  return all;
}

}  // namespace bitnet::fuzz
