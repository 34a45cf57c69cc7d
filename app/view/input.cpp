#include "input.h"

#include <fmt/format.h>

#include <algorithm>

#include "app/text/text_safe.h"
#include "app/text/text_width.h"

namespace bitnet {

InputRows input_rows(std::string_view prompt, std::string_view text, size_t point, int columns,
                     int max_rows) {
  const Face mark = {Tone::accent, true, false};
  // The prompt may take half of the width. Its end matters most, so its beginning is cut.
  const std::string shown_prompt(suffix_of_columns(make_safe(prompt), std::max(columns / 2, 1)));
  const int indent = std::min(columns_of(shown_prompt), 2);
  const int width = std::max(columns, indent + 2);

  std::vector<Row> rows(1);
  rows[0].add(shown_prompt, mark);
  int used = columns_of(shown_prompt);
  InputRows out;
  bool placed = false;
  const auto next_row = [&](size_t source) {
    rows.emplace_back();
    rows.back().source = source;
    rows.back().add(std::string(static_cast<size_t>(indent), ' '), mark);
    used = indent;
  };
  const auto place_cursor = [&] {
    out.cursor_row = static_cast<int>(rows.size()) - 1;
    out.cursor_column = used;
    placed = true;
  };
  size_t at = 0;
  while (at < text.size()) {
    const Cluster cluster = first_cluster(text.substr(at));
    const std::string_view unit = text.substr(at, cluster.bytes);
    const bool cursor_here = !placed && point < at + cluster.bytes;
    if (unit == "\n") {
      if (cursor_here) place_cursor();
      next_row(at + 1);
    } else {
      const std::string shown =
          unit == "\t" ? std::string(static_cast<size_t>(4 - used % 4), ' ') : make_safe(unit);
      int shown_columns = columns_of(shown);
      // The last column stays free, so that the cursor has a place after the text.
      if (used + shown_columns > width - 1) next_row(at);
      if (cursor_here) place_cursor();
      rows.back().add(shown, {});
      used += shown_columns;
    }
    at += cluster.bytes;
  }
  if (!placed) place_cursor();

  // The max_rows rows that contain the cursor, as far up as that allows.
  const int count = static_cast<int>(rows.size());
  const int height = std::clamp(max_rows, 1, count);
  const int begin = std::clamp(out.cursor_row - height + 1, 0, count - height);
  out.cursor_row -= begin;
  out.rows.assign(rows.begin() + begin, rows.begin() + begin + height);
  return out;
}

std::vector<Row> queued_rows(const std::vector<std::string>& queued, int columns, int most) {
  std::vector<Row> rows;
  const size_t shown = std::min(queued.size(), static_cast<size_t>(std::max(most, 0)));
  for (size_t i = queued.size() - shown; i < queued.size(); ++i) {
    const bool last = i + 1 == queued.size();
    const std::string help = last ? "  (next; Up edits it, Esc takes it back)" : "";
    const std::string before = i + shown == queued.size() && i > 0 ? fmt::format("+{} … ", i) : "… ";
    const int room = columns - columns_of(before);
    const bool with_help = room - columns_of(help) >= std::min(columns / 2, 24);
    Row& row = rows.emplace_back();
    row.add(prefix_of_columns(before, columns), {Tone::quiet});
    row.add(shortened(one_line(queued[i]), std::max(room - (with_help ? columns_of(help) : 0), 1)),
            {Tone::notice});
    if (with_help) row.add(help, {Tone::quiet});
  }
  return rows;
}

std::vector<Row> pending_rows(const std::vector<PendingFile>& files, int columns) {
  if (files.empty()) return {};
  std::string text = "+ ", names;
  size_t tokens = 0;
  for (const PendingFile& file : files) {
    text += (text.size() > 2 ? " · " : "") + one_line(text_of(file));
    names += (names.empty() ? "" : " · ") + one_line(file.name);
    tokens += file.tokens;
  }
  if (columns_of(text) > columns && files.size() > 1 && tokens > 0)
    text = fmt::format("+ {} files, {}: {}", files.size(), counted(tokens, "token"), names);
  const char* help = files.size() == 1 ? "  (Backspace at the start takes it out)"
                                       : "  (Backspace at the start takes the last out)";
  std::vector<Row> rows(1);
  rows[0].add(shortened(text, columns), {Tone::notice});
  if (columns_of(text) + columns_of(help) <= columns) rows[0].add(help, {Tone::quiet});
  return rows;
}

}  // namespace bitnet
