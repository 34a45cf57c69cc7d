// Lines of Markdown: where blocks begin and end.
#include "markdown_lines.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

namespace bitnet {
namespace {

// Of lists within each other that begin in one line; more are text. Each costs the width of all before it.
constexpr int kMostMarkers = 16;

constexpr size_t kLongestTable = 4 * kLongestStyledLine;

size_t run_length(std::string_view text, size_t at, char c) {
  const size_t end = text.find_first_not_of(c, at);
  return (end == std::string_view::npos ? text.size() : end) - at;
}

bool is_rule(std::string_view text) {
  const char c = text.empty() ? ' ' : text[0];
  if (c != '-' && c != '*' && c != '_') return false;
  return std::count(text.begin(), text.end(), c) >= 3 &&
         text.find_first_not_of(std::string{c, ' '}) == std::string_view::npos;
}

// Bytes of "1." or "1)" at the front; 0 where there is no such marker.
size_t ordinal_length(std::string_view text) {
  size_t digits = 0;
  while (digits < text.size() && digits < 9 && std::isdigit(static_cast<unsigned char>(text[digits])))
    ++digits;
  if (digits == 0 || digits >= text.size() || (text[digits] != '.' && text[digits] != ')')) return 0;
  return digits + 1 == text.size() || text[digits + 1] == ' ' ? digits + 1 : 0;
}

size_t bullet_length(std::string_view text) {
  if (text.empty() || (text[0] != '-' && text[0] != '*' && text[0] != '+')) return 0;
  return text.size() == 1 || text[1] == ' ' || text[1] == '\t' ? 1 : 0;
}

std::string spaces(int count) { return std::string(static_cast<size_t>(std::max(count, 0)), ' '); }

// The leading white space of `text` from `at`: columns, and `at` moved behind it.
int take_indent(std::string_view text, size_t& at) {
  int columns = 0;
  for (; at < text.size() && (text[at] == ' ' || text[at] == '\t'); ++at) {
    columns += text[at] == '\t' ? 4 - columns % 4 : 1;
  }
  return columns;
}

// Moves `at` behind the quote marks at it, at most `most`; how many there were.
int take_quotes(std::string_view text, size_t& at, int most) {
  int depth = 0;
  while (depth < most) {
    const size_t mark = std::min(text.find_first_not_of(' ', at), text.size());
    if (mark >= text.size() || text[mark] != '>' || mark - at > 3) break;
    at = mark + 1;
    if (at < text.size() && text[at] == ' ') ++at;
    ++depth;
  }
  return depth;
}

std::string quote_bars(int depth) {
  std::string bars;
  for (int i = 0; i < std::min(depth, 8); ++i) bars += "▏ ";
  return bars;
}

size_t fence_run(std::string_view text) {
  const size_t run = !text.empty() && (text[0] == '`' || text[0] == '~') ? run_length(text, 0, text[0]) : 0;
  if (run < 3 || (text[0] == '`' && text.find('`', run) != std::string_view::npos)) return 0;
  return run;
}

struct Marker {
  size_t bytes = 0;
  int number = 0;
  std::string shown;
};

Marker list_marker(std::string_view text, const MarkdownState& state) {
  Marker marker;
  if ((marker.bytes = bullet_length(text)) > 0) {
    marker.shown = "•";
    return marker;
  }
  if ((marker.bytes = ordinal_length(text)) == 0) return marker;
  marker.number = std::stoi(std::string(text.substr(0, marker.bytes - 1)));
  marker.shown = text.substr(0, marker.bytes);
  // A number at a paragraph's line, such as a year, begins no list.
  if (state.paragraph && state.lists.empty() && marker.number != 1) return {};
  return marker;
}

// Takes the marker of a list's item at column `indent`; the levels that end here go.
void enter_item(Marker& marker, int indent, size_t gap, MarkdownState& state, const std::string& bars,
                LineShape& shape) {
  while (!state.lists.empty() && indent < state.lists.back().marker + 2) {
    const ListLevel& last = state.lists.back();
    // "1. 1. 1." counts, as everywhere; other numbers stay as written, because the text may name them.
    if (indent >= last.marker && last.number > 0 && marker.number == 1) {
      marker.shown = fmt::format("{}{}", last.number + 1, marker.shown.back());
      marker.number = last.number + 1;
    }
    state.lists.pop_back();
  }
  const int outer = state.lists.empty() ? 0 : state.lists.back().shown;
  const int width = (marker.number > 0 ? static_cast<int>(marker.shown.size()) : 1) + 1;
  state.lists.push_back(
      {indent, indent + static_cast<int>(marker.bytes + gap), outer + width, marker.number});
  shape.first = bars + spaces(outer) + marker.shown + " ";
  shape.rest = bars + spaces(outer + width);
}

}  // namespace

LineShape read_line(std::string_view line, MarkdownState& state) {
  while (line.ends_with('\r')) line.remove_suffix(1);
  while (line.ends_with("␍")) line.remove_suffix(std::string_view("␍").size());  // made safe
  LineShape shape;
  shape.end = line.size();
  size_t at = 0;
  const auto shown_indent = [&] { return state.lists.empty() ? 0 : state.lists.back().shown; };

  if (state.fence != 0) {
    const int depth = take_quotes(line, at, state.quote);
    if (depth == state.quote) {
      shape.first = shape.rest = quote_bars(depth) + spaces(shown_indent());
      size_t mark = at;
      take_indent(line, mark);
      const std::string_view text = line.substr(mark);
      const size_t run = !text.empty() && text[0] == state.fence ? run_length(text, 0, state.fence) : 0;
      if (run >= static_cast<size_t>(state.fence_length) &&
          text.find_first_not_of(" \t", run) == std::string_view::npos) {
        state.fence = 0;
        shape.kind = LineKind::fence_end;
        shape.skip = shape.end;
        shape.first += "╰─";
        return shape;
      }
      shape.kind = LineKind::code;
      for (int i = 0; i < state.fence_indent && at < line.size() && line[at] == ' '; ++i) ++at;
      shape.skip = at;
      shape.first += "│ ";
      shape.rest += "│ ";
      return shape;
    }
    state.fence = 0;  // its quote is over
    at = 0;
  }

  const int depth = take_quotes(line, at, 64);
  if (depth != state.quote) {
    state.lists.clear();
    state.paragraph = false;
    state.quote = depth;
  }
  shape.quoted = depth > 0;
  const std::string bars = quote_bars(depth);
  int indent = take_indent(line, at);
  if (at >= line.size()) {
    state.paragraph = false;
    shape.skip = at;
    shape.first = bars;
    return shape;
  }

  std::string_view text = line.substr(at);
  const bool went_on = state.paragraph;
  bool item = false;
  for (int markers = 0; markers < kMostMarkers && !is_rule(text); ++markers) {
    Marker marker = list_marker(text, state);
    if (marker.bytes == 0) break;
    const size_t gap = std::min<size_t>(run_length(text, marker.bytes, ' '), 4);
    LineShape inner;
    enter_item(marker, indent, std::max<size_t>(gap, 1), state, bars, inner);
    shape.first = item ? shape.first + marker.shown + " " : inner.first;
    shape.rest = inner.rest;
    item = true;
    indent = state.lists.back().content;
    at = std::min(at + marker.bytes + gap, line.size());
    text = line.substr(at);
    if (text.starts_with("[ ] ") || text.starts_with("[x] ") || text.starts_with("[X] ")) {
      shape.first += text[1] == ' ' ? "☐ " : "☑ ";
      shape.rest += "  ";
      at += 4;
      text = line.substr(at);
    }
    state.paragraph = false;
  }
  // What stands left of an item's content is outside of it, unless it goes on with a paragraph.
  const auto leave_lists = [&] {
    while (!item && !state.lists.empty() && indent <= state.lists.back().marker) state.lists.pop_back();
  };
  const auto default_lead = [&] {
    if (!item) shape.first = shape.rest = bars + spaces(shown_indent());
  };
  shape.skip = at;

  if (const size_t run = fence_run(text); run > 0) {
    leave_lists();
    default_lead();
    state.fence = text[0];
    state.fence_length = static_cast<int>(run);
    state.fence_indent = indent;
    state.paragraph = false;
    shape.kind = LineKind::fence;
    shape.skip = at + run;
    shape.first += "╭─ ";
    shape.rest += "│ ";
    return shape;
  }
  const size_t hashes = run_length(text, 0, '#');
  if (hashes >= 1 && hashes <= 6 && (hashes == text.size() || text[hashes] == ' ')) {
    leave_lists();
    default_lead();
    state.paragraph = false;
    shape.kind = LineKind::heading;
    return shape;
  }
  if (is_rule(text)) {
    leave_lists();
    default_lead();
    state.paragraph = false;
    shape.kind = LineKind::rule;
    return shape;
  }
  shape.kind = LineKind::text;
  const bool piped = text[0] == '|';
  const bool in_table = state.piped && text.find('|') != std::string_view::npos;
  const size_t most = in_table ? kLongestTable : kLongestStyledLine;
  shape.joins = went_on && !item && line.size() <= kLongestStyledLine && state.bytes + line.size() <= most &&
                (state.piped ? in_table : !piped);
  if (!shape.joins) {
    leave_lists();
    default_lead();
    state.bytes = 0;
    state.piped = piped;
    const int outer = state.lists.empty() ? 0 : state.lists.back().content;
    if (!item && indent >= outer + 4 && !went_on) {  // code by its indent
      shape.kind = LineKind::code;
      for (int i = outer + 4; i < indent && line[shape.skip - 1] == ' '; ++i) --shape.skip;
      shape.first = shape.rest = bars + spaces(shown_indent() + 2);
      return shape;
    }
  }
  state.bytes += line.size() + 1;
  state.paragraph = true;
  return shape;
}

std::vector<CodeBlock> code_blocks(std::string_view message) {
  std::vector<CodeBlock> blocks;
  MarkdownState state;
  bool inside = false;
  for (size_t at = 0; at < message.size();) {
    const size_t end = std::min(message.find('\n', at), message.size());
    const std::string_view line = message.substr(at, end - at);
    const LineShape shape = read_line(line, state);
    const std::string_view content = line.substr(shape.skip, shape.end - shape.skip);
    if (shape.kind == LineKind::fence) {
      const size_t from = std::min(content.find_first_not_of(' '), content.size());
      blocks.push_back({std::string(content.substr(from, content.find(' ', from) - from)), ""});
    } else if (shape.kind == LineKind::code && inside) {
      blocks.back().text += std::string(content) + "\n";
    }
    inside = state.fence != 0;
    at = end + 1;
  }
  return blocks;
}

}  // namespace bitnet
