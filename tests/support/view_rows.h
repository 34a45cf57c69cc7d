// Gives the tests of the views the rows of a transcript, and rows as text.
#pragma once

#include <string>
#include <vector>

#include "app/view/transcript.h"

namespace bitnet {

inline std::vector<std::string> texts(const std::vector<Row>& rows) {
  std::vector<std::string> out;
  for (const Row& row : rows) out.push_back(row.text());
  return out;
}

inline std::vector<Row> all_rows(TranscriptView& view) {
  std::vector<Row> rows;
  for (size_t i = 0; i < view.row_count(); ++i) rows.push_back(view.row(i));
  return rows;
}

// The visible rows without the spaces at their ends.
inline std::vector<std::string> shown(TranscriptView& view) {
  std::vector<std::string> rows;
  for (const Row& row : view.visible()) {
    std::string text = row.text();
    rows.push_back(text.substr(0, text.find_last_not_of(' ') + 1));
  }
  return rows;
}

// What a search brings out of rows: each place as [found], and the one that it is at as <found>.
inline std::string brought_out(const std::vector<Row>& rows) {
  std::string out;
  for (const Row& row : rows) {
    for (const Span& span : row.spans) {
      const bool here = span.face.tone == Tone::match_here;
      if (here || span.face.tone == Tone::match) out += (here ? "<" : "[") + span.text + (here ? ">" : "]");
    }
  }
  return out;
}

}  // namespace bitnet
