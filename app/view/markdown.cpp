#include "markdown.h"

#include <fmt/format.h>

#include <algorithm>

#include "app/text/text_width.h"
#include "rows.h"
#include "spans.h"
#include "table.h"

namespace bitnet {
namespace {

constexpr int kRuleColumns = 24;
constexpr int kLanguageColumns = 40;  // most that are shown of a code block's language
constexpr char kMargin[] = "  ";

// Cuts an indent or a mark that would take more than half of the width.
Span clipped(std::string text, int columns) {
  if (columns_of(text) > columns / 2) text = prefix_of_columns(text, columns / 2);
  return {std::move(text), kQuiet};
}

// While a growing line has nothing but marks, it does not say yet what it will be. Inside of a fenced block
// these are the fence's own, `fence`.
bool says_nothing_yet(std::string_view line, const LineShape& shape, char fence) {
  const std::string_view content = line.substr(shape.skip, shape.end - shape.skip);
  if (shape.kind == LineKind::code && fence != 0) {
    const size_t mark = content.find_first_not_of(" \t");
    return mark != std::string_view::npos && content.find_first_not_of(fence, mark) == std::string_view::npos;
  }
  if (shape.kind != LineKind::text && shape.kind != LineKind::rule) return false;
  if (content.empty()) return line.ends_with('-') || line.ends_with('*') || line.ends_with('+');
  return content.find_first_not_of("-=*_#`~+|: ") == std::string_view::npos;
}

}  // namespace

struct MarkdownFlow::Target {
  std::string_view text;
  int columns;
  size_t first_number;
  std::vector<Row>& rows;
};

void MarkdownFlow::update(std::string_view text, bool growing, int columns, size_t first_number,
                          std::vector<Row>& rows) {
  const Target to{text, columns, first_number, rows};
  rows.resize(settled_);
  for (size_t newline; (newline = text.find('\n', scanned_)) != std::string::npos;) {
    take_line(to, line_, newline);
    line_ = scanned_ = newline + 1;
  }
  scanned_ = text.size();
  if (growing) {
    put_tail(to);
    return;
  }
  if (line_ < text.size()) take_line(to, line_, text.size());
  put_block(to, false);
  block_.clear();
  line_ = text.size();
  settled_ = rows.size();
}

// Takes a whole line, which goes on with the open block or ends it.
void MarkdownFlow::take_line(const Target& to, size_t begin, size_t end) {
  const MarkdownState before = state_;
  LineShape shape = read_line(to.text.substr(begin, end - begin), state_);
  if (state_.fence == 0) colors_.reset();
  if (!shape.joins) {
    // A table whose block had become too long goes on in the next one, but not in an item of a list or in a
    // line further in or out.
    const bool table_goes_on = shape.kind == LineKind::text && before.paragraph && before.piped &&
                               state_.piped && !block_.empty() && shape.first == shape_.rest &&
                               shape.rest == shape_.rest;
    // put_tail() has begun this very long line, and it is finished here.
    const bool resumed = block_.size() == 1 && block_[0].begin == begin + shape.skip;
    if (!resumed) {
      put_block(to, false);
      block_.clear();
      settled_ = to.rows.size();
    }
    if (!table_goes_on) table_head_.clear();
  }
  if (shape.kind == LineKind::text) {
    if (!shape.joins) {
      shape_ = shape;
      block_.clear();
    }
    block_.push_back({begin + shape.skip, begin + shape.end});
    // A very long line is a block of its own: what put_tail() has begun of it is finished here, once.
    if (!shape.joins && shape.end - shape.skip > kLongestStyledLine) {
      put_block(to, false);
      block_.clear();
      settled_ = to.rows.size();
    }
    return;
  }
  put_line(to, shape, begin, false);
  resume_ = 0;
  settled_ = to.rows.size();
}

// Lays out what may still change: the open block and the line that grows.
void MarkdownFlow::put_tail(const Target& to) {
  const std::string_view line = to.text.substr(line_);
  MarkdownState state = state_;
  const LineShape shape = line.empty() ? LineShape{} : read_line(line, state);
  if (line.empty() || says_nothing_yet(line, shape, state.fence)) {
    put_block(to, true);
    return;
  }
  // Where the line ends if no more of it comes: what was laid out behind that would be taken back.
  const BlockLine content{line_ + shape.skip, line_ + shape.end};
  if (shape.kind == LineKind::text && shape.joins) {
    block_.push_back(content);
    put_block(to, true);
    block_.pop_back();
    return;
  }
  const bool resumed = block_.size() == 1 && block_[0].begin == content.begin;
  if (!resumed) {
    std::string head = table_head_;
    std::vector<int> widths = table_widths_;
    put_block(to, false);
    table_head_ = std::move(head);
    table_widths_ = std::move(widths);
  }
  if (shape.kind != LineKind::text) {
    if (line.size() > kLongestStyledLine && !block_.empty()) {
      block_.clear();
      settled_ = to.rows.size();
    }
    const size_t codes = codes_;
    put_line(to, shape, line_, true);
    codes_ = codes;
    return;
  }
  std::vector<BlockLine> before = std::move(block_);
  const LineShape shape_before = shape_;
  // A line of this length joins no block, so what is before it is whole.
  const bool settles = line.size() > kLongestStyledLine;
  if (settles && !resumed) settled_ = to.rows.size();
  block_ = {content};
  shape_ = shape;
  put_block(to, true);
  if (settles) return;
  block_ = std::move(before);
  shape_ = shape_before;
}

void MarkdownFlow::put_block(const Target& to, bool growing) {
  if (block_.empty()) return;
  if (block_.size() == 1 && block_[0].end - block_[0].begin > kLongestStyledLine) {
    const BlockLine& line = block_[0];
    put_long_line(to, shape_, {to.text.substr(line.begin, line.end - line.begin), {}, line.begin}, true,
                  growing);
    return;
  }
  // The content of the block's lines, and where each of them begins in it.
  std::string content = table_head_;
  std::vector<size_t> starts;
  for (const BlockLine& line : block_) {
    if (!content.empty() && !starts.empty()) content += '\n';
    starts.push_back(content.size());
    content += to.text.substr(line.begin, line.end - line.begin);
  }
  const auto source_of = [&](size_t at) {
    const auto after = std::upper_bound(starts.begin(), starts.end(), at);
    const auto i = static_cast<size_t>(std::max<std::ptrdiff_t>(after - starts.begin() - 1, 0));
    return std::min(block_[i].begin + (at - std::min(at, starts[i])), block_[i].end);
  };
  const Face face{Tone::text, false, shape_.quoted};
  const StyledBlock block = styled_block(content, face, growing);
  if (!block.table.empty()) {
    const std::string_view head =
        starts.size() > 2 ? std::string_view(content).substr(0, starts[2]) : content;
    put_table(to, block, head, growing);
    return;
  }
  bool first = true;
  for (const StyledLine& line : block.lines) {
    std::vector<Piece> pieces;
    for (const StyledText& part : line) pieces.push_back({part.text, part.face, source_of(part.source)});
    if (pieces.empty()) pieces.push_back({"", {}, block_[0].begin});
    put_pieces(to, shape_, pieces, true, first);
    first = false;
  }
  if (block.lines.empty()) put_pieces(to, shape_, {{"", {}, block_[0].begin}}, true, true);
}

// `head` is the table's first two lines.
void MarkdownFlow::put_table(const Target& to, const StyledBlock& table, std::string_view head,
                             bool growing) {
  const Span lead = clipped(kMargin + shape_.rest, to.columns);
  const bool goes_on = !table_head_.empty();
  std::vector<size_t> sources;  // of the rows; behind the head stands a line that is no row
  for (size_t r = 0; r < table.table.size(); ++r) {
    const size_t line = r == 0 ? 0 : goes_on ? r - 1 : r + 1;
    sources.push_back(block_[std::min(line, block_.size() - 1)].begin);
  }
  // A row may have more cells than any row that is settled.
  const bool fits = table_widths_.empty() || table.align.size() <= table_widths_.size();
  const std::vector<int> widths =
      goes_on && fits ? table_widths_ : table_columns(table, to.columns - columns_of(lead.text));
  lay_out_table(table, goes_on ? 1 : 0, widths, lead, to.columns, sources, to.rows);
  if (growing) return;
  table_widths_ = widths;
  if (goes_on || block_.size() < 2) return;
  table_head_ = head;
  if (!table_head_.ends_with('\n')) table_head_ += '\n';
}

// Lays out a line that is a block of its own.
void MarkdownFlow::put_line(const Target& to, const LineShape& shape, size_t begin, bool growing) {
  const size_t at = begin + shape.skip;
  const size_t before = to.rows.size();
  const std::string_view content = to.text.substr(at, shape.end - shape.skip);
  switch (shape.kind) {
    case LineKind::blank: {
      if (to.rows.empty() || is_blank(to.rows.back())) return;
      Row& row = to.rows.emplace_back();
      row.source = begin;
      const Span lead = clipped(kMargin + shape.first, to.columns);
      row.add(lead.text, lead.face);
      row.lead = row.text().size();
      return;
    }
    case LineKind::rule: {
      const Span lead = clipped(kMargin + shape.first, to.columns);
      std::string rule;
      const int room = std::max(to.columns - columns_of(lead.text), 1);
      for (int i = 0; i < std::min(kRuleColumns, room); ++i) rule += "─";
      put_pieces(to, shape, {{rule, kQuiet, begin}}, false, true);
      to.rows.back().lead = to.rows.back().text().size();
      return;
    }
    case LineKind::fence: {
      ++codes_;
      const size_t from = std::min(content.find_first_not_of(' '), content.size());
      const std::string language(content.substr(from, content.find(' ', from) - from));
      std::string label = shortened(language, kLanguageColumns);
      if (!label.empty()) label += " · ";
      label += fmt::format("/copy {}", to.first_number + codes_ - 1);
      put_pieces(to, shape, {{label, kQuiet, at}}, true, true);
      number_code(to, before);
      if (!growing) colors_ = CodeColors::of(language);
      return;
    }
    case LineKind::heading: {
      if (content.size() > kLongestStyledLine) {
        put_long_line(to, shape, {content, {Tone::heading}, at}, true, growing);
        return;
      }
      const StyledBlock block = styled_block(content, {Tone::heading, true}, growing);
      std::vector<Piece> pieces;
      if (!block.lines.empty()) {
        for (const StyledText& part : block.lines[0]) {
          pieces.push_back({part.text, part.face, at + std::min(part.source, content.size())});
        }
      }
      put_pieces(to, shape, pieces, true, true);
      return;
    }
    case LineKind::code:
      if (content.size() > kLongestStyledLine) {
        put_long_line(to, shape, {content, {Tone::code}, at}, false, growing);
      } else {
        const std::vector<Piece> plain{{content, {Tone::code}, at}};
        put_pieces(to, shape, colors_ ? colors_->line(content, at, growing) : plain, false, true);
      }
      if (shape.fenced) number_code(to, before);
      return;
    default:
      put_pieces(to, shape, {{"", {}, at}}, true, true);
      number_code(to, before);
  }
}

// The rows from `begin` on belong to the code block that was begun last.
void MarkdownFlow::number_code(const Target& to, size_t begin) {
  for (size_t i = begin; i < to.rows.size(); ++i) to.rows[i].code = to.first_number + codes_ - 1;
}

// Wraps one line of the screen's text.
void MarkdownFlow::put_pieces(const Target& to, const LineShape& shape, const std::vector<Piece>& pieces,
                              bool words, bool first) {
  WrapStyle style;
  style.columns = std::min(to.columns, words ? kWidestText + 2 : to.columns);
  style.words = words;
  style.rest = clipped(kMargin + shape.rest, style.columns);
  style.first = first ? clipped(kMargin + shape.first, style.columns) : style.rest;
  wrap_line(pieces, style, to.rows);
}

// The same for a very long line of the source, as it is written. While it grows it is taken up again at its
// last row.
void MarkdownFlow::put_long_line(const Target& to, const LineShape& shape, Piece line, bool words,
                                 bool growing) {
  const bool resumed = resume_ > line.source;
  if (resumed) {
    line.text.remove_prefix(resume_ - line.source);
    line.source = resume_;
  }
  const size_t before = to.rows.size();
  put_pieces(to, shape, {line}, words, !resumed);
  if (resumed && before < to.rows.size()) to.rows[before].join = resume_join_;
  if (growing && to.rows.size() > before + 1) {
    settled_ = to.rows.size() - 1;
    resume_ = to.rows.back().source;
    resume_join_ = to.rows.back().join;
  } else if (!growing) {
    resume_ = 0;
  }
}

}  // namespace bitnet
