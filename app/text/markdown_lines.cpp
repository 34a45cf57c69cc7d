#include "markdown_lines.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "text_safe.h"

namespace bitnet {
namespace {

// Most nested lists that begin in one line; further markers are text. Each level is as wide as all before it.
constexpr int kMostMarkers = 16;
constexpr int kMostQuotes = 64;  // most nested quotes; further marks are text

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

// Returns the length of "1." or "1)" at the front, or 0 if there is no such marker.
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

// Moves `at` past the white space there and returns its columns.
int take_indent(std::string_view text, size_t& at) {
  int columns = 0;
  for (; at < text.size() && (text[at] == ' ' || text[at] == '\t'); ++at) {
    columns += text[at] == '\t' ? 4 - columns % 4 : 1;
  }
  return columns;
}

// Moves `at` past the quote marks there, at most `most` of them, and returns their number.
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
  // Within a paragraph, a line that begins with a number such as a year does not begin a list.
  if (state.paragraph && state.lists.empty() && marker.number != 1) return {};
  return marker;
}

// Enters the item of a list whose marker is at column `indent`, after it has left the levels that end here.
void enter_item(Marker& marker, int indent, size_t gap, MarkdownState& state, const std::string& bars,
                LineShape& shape) {
  while (!state.lists.empty() && indent < state.lists.back().marker + 2) {
    const ListLevel& last = state.lists.back();
    // "1. 1. 1." counts up, as in all Markdown. Other numbers stay as written, because the text may refer to
    // them.
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

bool is_heading(std::string_view text) {
  const size_t hashes = run_length(text, 0, '#');
  return hashes >= 1 && hashes <= 6 && (hashes == text.size() || text[hashes] == ' ');
}

std::string_view without_line_end(std::string_view line) {
  constexpr std::string_view kReturnSign = "␍";  // a safe text has this for \r
  for (;;) {
    if (line.ends_with('\r')) {
      line.remove_suffix(1);
    } else if (line.ends_with(kReturnSign)) {
      line.remove_suffix(kReturnSign.size());
    } else {
      return line;
    }
  }
}

// Reads one line from the left: its quote marks, its indent, the markers of lists, and then its content.
class LineReader {
 public:
  LineReader(std::string_view line, MarkdownState& state) : line_(without_line_end(line)), state_(state) {
    shape_.end = line_.size();
  }

  LineShape read() {
    if (state_.fence != 0 && read_in_fence()) return shape_;
    enter_quotes();
    indent_ = take_indent(line_, at_);
    if (at_ >= line_.size()) {
      state_.paragraph = false;
      shape_.skip = at_;
      shape_.first = bars_;
      return shape_;
    }
    const bool went_on = state_.paragraph;
    enter_items();
    shape_.skip = at_;
    if (const size_t run = fence_run(text()); run > 0) {
      open_fence(run);
    } else if (is_heading(text())) {
      begin_block(LineKind::heading);
    } else if (is_rule(text())) {
      begin_block(LineKind::rule);
    } else {
      read_text(went_on);
    }
    return shape_;
  }

 private:
  std::string_view text() const { return line_.substr(at_); }
  int shown_indent() const { return state_.lists.empty() ? 0 : state_.lists.back().shown; }

  // Reads a line of code or the fence that ends the code. Returns false if the quote around the fence is
  // over; then the line is read like any other.
  bool read_in_fence() {
    const int depth = take_quotes(line_, at_, state_.quote);
    if (depth != state_.quote) {
      state_.fence = 0;
      at_ = 0;
      return false;
    }
    shape_.first = shape_.rest = quote_bars(depth) + spaces(shown_indent());
    if (ends_fence()) {
      state_.fence = 0;
      shape_.kind = LineKind::fence_end;
      shape_.skip = shape_.end;
      shape_.first += "╰─";
      return true;
    }
    shape_.kind = LineKind::code;
    shape_.fenced = true;
    for (int i = 0; i < state_.fence_indent && at_ < line_.size() && line_[at_] == ' '; ++i) ++at_;
    shape_.skip = at_;
    shape_.first += "│ ";
    shape_.rest += "│ ";
    return true;
  }

  bool ends_fence() const {
    size_t mark = at_;
    take_indent(line_, mark);
    const std::string_view text = line_.substr(mark);
    const size_t run = !text.empty() && text[0] == state_.fence ? run_length(text, 0, state_.fence) : 0;
    return run >= static_cast<size_t>(state_.fence_length) &&
           text.find_first_not_of(" \t", run) == std::string_view::npos;
  }

  void enter_quotes() {
    const int depth = take_quotes(line_, at_, kMostQuotes);
    if (depth != state_.quote) {
      state_.lists.clear();
      state_.paragraph = false;
      state_.quote = depth;
    }
    shape_.quoted = depth > 0;
    bars_ = quote_bars(depth);
  }

  void enter_items() {
    for (int markers = 0; markers < kMostMarkers && !is_rule(text()); ++markers) {
      Marker marker = list_marker(text(), state_);
      if (marker.bytes == 0) return;
      const size_t gap = std::min<size_t>(run_length(text(), marker.bytes, ' '), 4);
      LineShape inner;
      enter_item(marker, indent_, std::max<size_t>(gap, 1), state_, bars_, inner);
      shape_.first = item_ ? shape_.first + marker.shown + " " : inner.first;
      shape_.rest = inner.rest;
      item_ = true;
      indent_ = state_.lists.back().content;
      at_ = std::min(at_ + marker.bytes + gap, line_.size());
      take_box();
      state_.paragraph = false;
    }
  }

  void take_box() {
    if (!text().starts_with("[ ] ") && !text().starts_with("[x] ") && !text().starts_with("[X] ")) return;
    shape_.first += text()[1] == ' ' ? "☐ " : "☑ ";
    shape_.rest += "  ";
    at_ += 4;
  }

  // A block to the left of an item's content does not belong to the item.
  void leave_items() {
    if (item_) return;
    while (!state_.lists.empty() && indent_ <= state_.lists.back().marker) state_.lists.pop_back();
    shape_.first = shape_.rest = bars_ + spaces(shown_indent());
  }

  void begin_block(LineKind kind) {
    leave_items();
    state_.paragraph = false;
    shape_.kind = kind;
  }

  void open_fence(size_t run) {
    begin_block(LineKind::fence);
    state_.fence = text()[0];
    state_.fence_length = static_cast<int>(run);
    state_.fence_indent = indent_;
    shape_.skip = at_ + run;
    shape_.first += "╭─ ";
    shape_.rest += "│ ";
  }

  // Reads a line of a paragraph or a table, which may go on with the line before it, or of indented code.
  void read_text(bool went_on) {
    shape_.kind = LineKind::text;
    const bool piped = text()[0] == '|';
    const bool in_table = state_.piped && text().find('|') != std::string_view::npos;
    const size_t most = in_table ? kLongestTable : kLongestStyledLine;
    shape_.joins = went_on && !item_ && line_.size() <= kLongestStyledLine &&
                   state_.bytes + line_.size() <= most && (state_.piped ? in_table : !piped);
    if (!shape_.joins) {
      leave_items();
      state_.bytes = 0;
      state_.piped = piped && text().size() <= kLongestStyledLine;  // no table begins with a very long line
      if (!went_on && take_indented_code()) return;
    }
    state_.bytes += line_.size() + 1;
    state_.paragraph = true;
  }

  bool take_indented_code() {
    const int outer = state_.lists.empty() ? 0 : state_.lists.back().content;
    if (item_ || indent_ < outer + 4) return false;
    shape_.kind = LineKind::code;
    for (int i = outer + 4; i < indent_ && line_[shape_.skip - 1] == ' '; ++i) --shape_.skip;
    shape_.first = shape_.rest = bars_ + spaces(shown_indent() + 2);
    return true;
  }

  const std::string_view line_;
  MarkdownState& state_;
  LineShape shape_;
  size_t at_ = 0;      // so many bytes of line_ have been read
  int indent_ = 0;     // columns of the source before at_
  std::string bars_;   // how the quote marks are shown
  bool item_ = false;  // the line begins an item of a list
};

}  // namespace

LineShape read_line(std::string_view line, MarkdownState& state) { return LineReader(line, state).read(); }

std::string_view without_blanks_before(std::string_view answer) {
  answer.remove_prefix(std::min(answer.find_first_not_of(" \n"), answer.size()));
  return answer;
}

std::vector<CodeBlock> code_blocks(std::string_view message) {
  message = without_blanks_before(message);
  std::vector<CodeBlock> blocks;
  MarkdownState state;
  for (size_t at = 0; at < message.size();) {
    const size_t end = std::min(message.find('\n', at), message.size());
    const std::string_view line = message.substr(at, end - at);
    // The screen reads the safe text, and how long a line is decides what the next one is. What is skipped is
    // ASCII that is safe as it is, so the content begins at the same byte of both.
    const LineShape shape = read_line(make_safe(line), state);
    const std::string_view whole = without_line_end(line);
    const std::string_view content = whole.substr(std::min(shape.skip, whole.size()));
    if (shape.kind == LineKind::fence) {
      const size_t from = std::min(content.find_first_not_of(' '), content.size());
      blocks.push_back({std::string(content.substr(from, content.find(' ', from) - from)), ""});
    } else if (shape.fenced) {
      blocks.back().text += std::string(content) + "\n";
    }
    at = end + 1;
  }
  return blocks;
}

}  // namespace bitnet
