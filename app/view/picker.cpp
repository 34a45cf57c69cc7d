#include "picker.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "app/text/text_safe.h"
#include "app/text/text_width.h"

namespace bitnet {
namespace {

constexpr int kRowsForTitle = 4;  // on fewer rows the list has no title
constexpr int kTitleRows = 2;

}  // namespace

Picker::Picker(Choices choices) : choices_(std::move(choices)) {
  refill();
  if (!choices_.keys.empty()) move(static_cast<int>(found_.size()));
}

void Picker::refill() {
  found_ = choices_.find(filter_);
  selected_ = 0;
}

void Picker::move(int by) {
  if (found_.empty()) return;
  const auto last = static_cast<std::ptrdiff_t>(found_.size()) - 1;
  selected_ =
      static_cast<size_t>(std::clamp<std::ptrdiff_t>(static_cast<std::ptrdiff_t>(selected_) + by, 0, last));
}

Overlay::Outcome Picker::press(const KeyPress& key, int, int rows) {
  const int page = std::max(rows - 3, 1);
  switch (key.key) {
    case Key::enter:
      return choose();
    case Key::click:
      return click(key.row, rows);
    case Key::escape:
    case Key::interrupt:
    case Key::eof:
    case Key::open:
      return {.closes = true};
    case Key::up:
    case Key::line_up:
      move(-1);
      break;
    case Key::down:
    case Key::line_down:
      move(1);
      break;
    case Key::page_up:
      move(-page);
      break;
    case Key::page_down:
      move(page);
      break;
    case Key::to_start:
      move(-static_cast<int>(found_.size()));
      break;
    case Key::to_end:
      move(static_cast<int>(found_.size()));
      break;
    case Key::text:
      if (!choices_.keys.empty()) return press_letters(key.bytes);
      type(key.bytes);
      break;
    case Key::paste:
      if (choices_.keys.empty()) type(key.bytes);
      break;
    default:
      break;
  }
  return {};
}

Overlay::Outcome Picker::choose() {
  if (found_.empty()) return {};
  choices_.chosen(found_.at(selected_).id);
  return {.closes = true};
}

// Selects what was clicked on; a click on what is selected chooses it.
Overlay::Outcome Picker::click(int row, int rows) {
  const int head = rows >= kRowsForTitle ? kTitleRows : 0;
  if (row < head || row >= rows) return {};
  const size_t clicked = first_shown(rows) + static_cast<size_t>(row - head);
  if (clicked >= found_.size()) return {};
  if (clicked == selected_) return choose();
  selected_ = clicked;
  return {};
}

// The first entry of those that fit into so many rows, so that the selected one is among them.
size_t Picker::first_shown(int rows) const {
  const auto room = static_cast<size_t>(std::max(rows - (rows >= kRowsForTitle ? kTitleRows : 0), 1));
  return selected_ < room ? 0 : selected_ - room + 1;
}

Overlay::Outcome Picker::press_letters(std::string_view bytes) {
  if (bytes.starts_with('\x1b')) return {};
  for (const char c : bytes) {
    if (c < '0' || c > '9') number_ = 0;
    if (c == 'j' || c == '\x0e') move(1);
    if (c == 'k' || c == '\x10') move(-1);
    if (c == 'q') return {.closes = true};
    if (c >= '0' && c <= '9') go_to_number(c - '0');
    for (const ChoiceKey& own : choices_.keys) {
      if (own.key != c || found_.empty()) continue;
      own.chosen(found_.at(selected_).id);
      return {.closes = true};
    }
  }
  return {};
}

// Digits that follow each other make one number, where there is an entry of that number.
void Picker::go_to_number(int digit) {
  for (const int64_t number : {number_ * 10 + digit, int64_t{digit}}) {
    const auto found =
        std::find_if(found_.begin(), found_.end(), [&](const Choice& choice) { return choice.id == number; });
    if (found == found_.end()) continue;
    selected_ = static_cast<size_t>(found - found_.begin());
    number_ = number;
    return;
  }
  number_ = 0;
}

void Picker::type(std::string_view bytes) {
  if (bytes == "\x10") move(-1);  // ^P and ^N, as in readline
  if (bytes == "\x0e") move(1);
  if (edit_short_line(filter_, bytes)) refill();
}

std::optional<std::vector<Row>> Picker::rows(int columns, int rows) {
  std::vector<Row> out;
  if (rows <= 0) return out;
  if (rows >= kRowsForTitle) {
    out.emplace_back().add(shortened("  " + one_line(choices_.title), columns), {Tone::heading, true});
    out.emplace_back();
  }
  const auto room = static_cast<size_t>(rows) - out.size();
  const size_t top = first_shown(rows);
  for (size_t i = top; i < found_.size() && i < top + room; ++i) {
    const Choice& choice = found_[i];
    const bool here = i == selected_;
    const Face face = here ? Face{Tone::match_here} : Face{};
    const std::string detail = one_line(choice.detail);
    const int detail_columns = columns_of(detail);
    const bool with_detail = columns >= 50 && detail_columns < columns / 2;
    const int text_columns = std::max(columns - 4 - (with_detail ? detail_columns + 2 : 0), 1);
    const std::string text = shortened(one_line(choice.text), text_columns);
    Row& row = out.emplace_back();
    row.add(prefix_of_columns(here ? "› " : "  ", columns), {Tone::accent, true});
    row.add(text, face);
    if (!with_detail) continue;
    row.add(std::string(static_cast<size_t>(text_columns - columns_of(text) + 2), ' '), {});
    row.add(detail, {Tone::quiet});
  }
  if (found_.empty()) out.emplace_back().add(shortened("  nothing fits", columns), {Tone::quiet});
  out.resize(static_cast<size_t>(rows));
  return out;
}

Row Picker::keys_row(int columns, int& cursor_column) const {
  std::string keys = fmt::format("Enter {}", choices_.enter);
  for (const ChoiceKey& own : choices_.keys) keys += fmt::format(" · {} {}", own.key, own.does);
  keys += " · j k, number · Esc goes back";
  Row row;
  row.add(prefix_of_columns("› ", columns), {Tone::accent, true});
  if (columns > 2) row.add(shortened(keys, columns - 2), {Tone::quiet});
  cursor_column = 0;
  return row;
}

std::optional<Row> Picker::input_row(int columns, int& cursor_column) {
  if (!choices_.keys.empty()) return keys_row(columns, cursor_column);
  const std::string label = columns >= 20 ? "filter › " : "› ";
  const std::string words(
      suffix_of_columns(make_safe(filter_), std::max(columns - columns_of(label) - 1, 1)));
  Row row;
  row.add(prefix_of_columns(label, columns), {Tone::accent, true});
  row.add(words, {});
  const int used = columns_of(label) + columns_of(words);
  cursor_column = std::min(used, std::max(columns - 1, 0));
  const std::string most =
      fmt::format("   {} of them   Enter {} · Up Down · Esc goes back", found_.size(), choices_.enter);
  const std::string least = fmt::format(" Enter {} · Esc goes back", choices_.enter);
  for (const std::string& keys : {most, least}) {
    if (used + columns_of(keys) > columns) continue;
    row.add(keys, {Tone::quiet});
    break;
  }
  return row;
}

}  // namespace bitnet
