#include "help.h"

#include <fmt/format.h>

#include <algorithm>

#include "app/text/text_safe.h"
#include "app/text/text_units.h"
#include "app/text/text_width.h"
#include "app/text/text_wrap.h"

namespace bitnet {
namespace {

// The column of keys may take half of the width. On a narrow screen, what a key does stands under the key.
std::vector<Row> all_help_rows(const Keymap& keymap, int columns) {
  std::vector<Row> out;
  int widest = 0;
  for (const Action& action : action_table()) widest = std::max(widest, columns_of(keymap.keys_of(action)));
  const bool side_by_side = columns >= 36 && widest + 4 <= columns / 2;
  out.emplace_back().add("  Keys", {Tone::heading, true});
  out.emplace_back();
  for (const Action& action : action_table()) {
    const std::string keys = keymap.keys_of(action);
    if (keys.empty()) continue;
    WrapStyle style;
    style.columns = columns;
    if (side_by_side) {
      style.first = {fmt::format("  {:<{}}  ", keys, widest), {Tone::accent}};
      style.rest = {std::string(static_cast<size_t>(widest + 4), ' '), {}};
    } else {
      style.first = style.rest = {"  ", {}};
      wrap_line({{keys, {Tone::accent}, 0}}, style, out);
      style.first = style.rest = {"      ", {}};
    }
    wrap_line({{action.help, {}, 0}}, style, out);
  }
  out.emplace_back();
  WrapStyle style;
  style.columns = columns;
  style.first = style.rest = {"  ", {}};
  wrap_line({{"/help lists the commands", {Tone::quiet}, 0}}, style, out);
  return out;
}

// From this row on the help fills so many rows.
int last_top(const Keymap& keymap, int columns, int rows) {
  return std::max(static_cast<int>(all_help_rows(keymap, columns).size()) - rows, 0);
}

}  // namespace

Overlay::Outcome HelpOverlay::press(const KeyPress& key, int columns, int rows) {
  const int page = std::max(rows - 1, 1);
  const auto scroll = [&](int by) -> Outcome {
    top_ = std::clamp(top_ + by, 0, last_top(keymap_, columns, rows));
    return {};
  };
  switch (key.key) {
    case Key::page_up:
      return scroll(-page);
    case Key::page_down:
      return scroll(page);
    case Key::up:
    case Key::line_up:
      return scroll(-1);
    case Key::down:
    case Key::line_down:
      return scroll(1);
    case Key::paste:
      return {.closes = true, .passed_on = key};
    default:
      break;
  }
  // The key that closes help does nothing else. Text that was typed after it and read with it is passed on.
  if (key.key != Key::text || key.bytes.starts_with('\x1b')) return {.closes = true};
  const std::string rest = key.bytes.substr(first_unit(key.bytes));
  if (rest.empty()) return {.closes = true};
  return {.closes = true, .passed_on = KeyPress{Key::text, rest}};
}

std::optional<std::vector<Row>> HelpOverlay::rows(int columns, int rows) {
  top_ = std::min(top_, last_top(keymap_, columns, rows));  // the screen may have become wider or higher
  return help_rows(keymap_, columns, rows, top_);
}

std::vector<Row> help_rows(const Keymap& keymap, int columns, int rows, int top) {
  std::vector<Row> out = all_help_rows(keymap, columns);
  const auto begin = static_cast<size_t>(std::clamp(top, 0, static_cast<int>(out.size())));
  out.erase(out.begin(), out.begin() + static_cast<std::ptrdiff_t>(begin));
  if (static_cast<int>(out.size()) <= rows) return out;
  out.resize(static_cast<size_t>(std::max(rows, 0)));
  if (rows >= 4) {
    out.back() = {};
    out.back().add(prefix_of_columns("  ↓ PgDn", columns), {Tone::notice});
  }
  return out;
}

std::string help_keys(const Keymap& keymap) {
  int widest = 0;
  for (const Action& action : action_table()) widest = std::max(widest, columns_of(keymap.keys_of(action)));
  std::string text;
  for (const Action& action : action_table()) {
    const std::string keys = keymap.keys_of(action);
    if (keys.empty()) continue;
    const auto pad = static_cast<size_t>(widest - columns_of(keys) + 2);
    text += fmt::format("{}{}{}\n", keys, std::string(pad, ' '), action.help);
  }
  return text;
}

std::vector<Row> welcome_rows(int columns, int rows) {
  std::vector<Row> out;
  if (rows >= 4) out.emplace_back();
  WrapStyle style;
  style.columns = columns;
  style.first = style.rest = {"  ", {}};
  wrap_line({{"bitnet-chat", {Tone::accent, true, false}, 0}}, style, out);
  if (rows >= 4) out.emplace_back();
  wrap_line({{"Write a message and press Enter. F1 shows the keys, /help the commands, /model other models.",
              {Tone::quiet},
              0}},
            style, out);
  if (static_cast<int>(out.size()) > rows) out.resize(static_cast<size_t>(rows));
  return out;
}

std::vector<Row> candidate_rows(const std::vector<std::string>& candidates, int columns, int rows) {
  std::vector<Row> out;
  if (candidates.empty() || rows <= 0) return out;
  int widest = 0;
  std::vector<std::string> names;
  for (const std::string& candidate : candidates) {
    names.push_back(make_safe(candidate));
    widest = std::max(widest, columns_of(names.back()));
  }
  const int cell = widest + 2;
  const auto across = static_cast<size_t>(std::max((columns - 2) / cell, 1));
  for (size_t i = 0; i < names.size(); ++i) {
    if (i % across == 0) {
      if (static_cast<int>(out.size()) == rows) {
        out.back() = {};
        out.back().add(fmt::format("  … {} more", names.size() - i + across), {Tone::quiet});
        return out;
      }
      out.emplace_back();
      out.back().add("  ", {});
    }
    const std::string name(prefix_of_columns(names[i], std::max(columns - 2, 1)));
    const int pad = std::max(cell - columns_of(name), 0);
    out.back().add(name + std::string(static_cast<size_t>(pad), ' '), {Tone::accent});
  }
  return out;
}

}  // namespace bitnet
