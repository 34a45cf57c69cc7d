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

}  // namespace bitnet
