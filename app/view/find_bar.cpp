#include "find_bar.h"

#include <fmt/format.h>

#include <algorithm>

#include "app/text/text_safe.h"
#include "app/text/text_width.h"
#include "transcript.h"

namespace bitnet {

Row find_row(std::string_view words, bool typing, size_t here, size_t count, int columns,
             int& cursor_column) {
  const std::string label = columns >= 30 ? "find › " : "/";
  std::string counts = words.empty() ? "" : count == 0 ? "not found" : fmt::format("{}/{}", here, count);
  const char* keys =
      typing ? "Enter next · Up previous · Esc goes back" : "n next · N previous · Esc goes back";
  const int room = columns - columns_of(label) - 1;
  const int right = columns_of(counts);
  const std::string shown(
      suffix_of_columns(make_safe(words), std::max(room - (right > 0 ? right + 2 : 0), 1)));
  Row row;
  row.add(prefix_of_columns(label, columns), {Tone::accent, true});
  row.add(shown, {});
  int used = std::min(columns_of(label), columns) + columns_of(shown);
  cursor_column = std::min(used, std::max(columns - 1, 0));
  if (right > 0 && used + 2 + right <= columns) {
    row.add("  ", {});
    row.add(counts, count == 0 ? Face{Tone::error} : Face{Tone::notice});
    used += 2 + right;
  }
  if (used + 3 + columns_of(keys) <= columns) {
    row.add("   ", {});
    row.add(keys, {Tone::quiet});
  }
  return row;
}

Overlay::Outcome FindBar::press(const KeyPress& key, int, int) {
  switch (key.key) {
    case Key::escape:
    case Key::interrupt:
    case Key::eof:
      transcript_.find("");
      return {.closes = true};
    case Key::enter:
      typing_ = false;
      transcript_.next_match(1);
      return {};
    case Key::down:
      transcript_.next_match(1);
      return {};
    case Key::find:
    case Key::up:
      transcript_.next_match(-1);
      return {};
    case Key::text:
    case Key::paste:
      type(key.bytes);
      return {};
    default:
      return {.passed_on = key};
  }
}

void FindBar::type(std::string_view bytes) {
  if (!typing_ && bytes.find_first_not_of("nN") == std::string_view::npos) {
    for (const char c : bytes) transcript_.next_match(c == 'n' ? 1 : -1);
  } else if (edit_short_line(words_, bytes)) {
    typing_ = true;
    transcript_.find(words_);
  }
}

std::optional<Row> FindBar::input_row(int columns, int& cursor_column) {
  return find_row(words_, typing_, transcript_.match_here(), transcript_.match_count(), columns,
                  cursor_column);
}

}  // namespace bitnet
