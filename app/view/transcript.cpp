#include "transcript.h"

#include <fmt/format.h>

#include <algorithm>

#include "app/chat/front_end.h"
#include "app/text/text_safe.h"
#include "app/text/text_width.h"
#include "app/text/text_wrap.h"
#include "rows.h"

namespace bitnet {
namespace {

constexpr size_t kAhead = 4;  // so many screens are laid out at once above the view

struct BlockLook {
  const char* first;
  Face mark;
  Face text;
};

BlockLook look_of(TranscriptView::Kind kind) {
  switch (kind) {
    case TranscriptView::Kind::user:
      return {"› ", {Tone::accent, true, false}, {Tone::text, true, false}};
    case TranscriptView::Kind::answer:
      return {"  ", {}, {}};
    case TranscriptView::Kind::command:
    case TranscriptView::Kind::marked:
      return {"  ", {}, {}};
    case TranscriptView::Kind::thought:
      return {"  ", {}, kQuiet};
    case TranscriptView::Kind::notice:
      return {"· ", {Tone::notice}, {Tone::notice}};
    case TranscriptView::Kind::error:
      return {"! ", {Tone::error, true, false}, {Tone::error}};
  }
  return {};
}

std::string describe_finish(std::string_view finish, bool empty) {
  if (finish == "interrupted") return "(stopped)";
  if (finish == "length") return "(cut: max_tokens reached)";
  if (finish == "context") return "(cut: the context is full)";
  if (finish == "numeric") return "(cut: the model gave no usable numbers)";
  if (finish == "elsewhere") return "(another program is still writing; /open shows more)";
  if (finish == "device_lost") return "(cut: the device was lost)";
  if (finish.empty() || finish == "stop") return empty ? "(no answer)" : "";
  return fmt::format("({})", make_safe(finish));
}

bool is_command(TranscriptView::Kind kind) {
  return kind == TranscriptView::Kind::command || kind == TranscriptView::Kind::marked;
}

bool is_mark(char c) { return c == kMarkOn || c == kMarkOff; }

// Is make_safe, but keeps the marks.
std::string make_marked_safe(std::string_view text) {
  std::string safe;
  while (!text.empty()) {
    const auto end = static_cast<size_t>(std::find_if(text.begin(), text.end(), is_mark) - text.begin());
    safe += make_safe(text.substr(0, end));
    if (end < text.size()) safe += text[end];
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return safe;
}

// Returns a line with marks as pieces without them. `source` is where the line begins.
void add_marked(std::string_view line, Face face, size_t source, std::vector<Piece>& pieces) {
  size_t begin = 0;
  for (size_t i = 0; i <= line.size(); ++i) {
    if (i < line.size() && !is_mark(line[i])) continue;
    if (i > begin) pieces.push_back({line.substr(begin, i - begin), face, source + begin});
    if (i < line.size()) face.bold = line[i] == kMarkOn;
    begin = i + 1;
  }
  if (pieces.empty()) pieces.push_back({{}, face, source});
}

// Returns where the last column of a table's line begins, after the last gap of spaces; 0 if there is no gap.
size_t last_column(std::string_view line) {
  const size_t gap = line.rfind("  ");
  const size_t begin = gap == std::string_view::npos ? gap : line.find_first_not_of(' ', gap);
  return begin == std::string_view::npos ? 0 : begin;
}

// Returns whether the last column of this line has to be wrapped, but has too little room for that.
bool wants_stack(std::string_view line, int room) {
  const size_t column = last_column(line);
  const int hanging = columns_of(line.substr(0, column));
  return column > 0 && hanging + columns_of(line.substr(column)) > room && hanging * 3 > room;
}

// Lays out a line of a command's output. Its last column is wrapped as a column, or begins a row of its own
// if `stacked`.
void put_table_line(std::string_view line, size_t source, bool marked, bool stacked, WrapStyle style,
                    std::vector<Row>& rows) {
  const auto put = [&](size_t begin, size_t end, Face face) {
    std::vector<Piece> pieces;
    const std::string_view part = line.substr(begin, end - begin);
    if (marked) {
      add_marked(part, face, source + begin, pieces);
    } else {
      pieces.push_back({part, face, source + begin});
    }
    wrap_line(pieces, style, rows);
  };
  const size_t column = last_column(line);
  if (column == 0 || !stacked) {
    const int hanging = std::min(columns_of(line.substr(0, column)), (style.columns - 2) / 2);
    style.rest.text += std::string(static_cast<size_t>(hanging), ' ');
    put(0, line.size(), {});
    return;
  }
  const size_t head = line.find_last_not_of(' ', column - 1) + 1;
  style.rest = {"      ", {}};
  if (head > 0) put(0, head, {Tone::accent});
  style.first = style.rest = {head == 0 ? "  " : "      ", {}};
  put(column, line.size(), {});
}

template <typename Use>
void for_each_line(std::string_view text, size_t from, const Use& use) {
  for (size_t begin = from, end = 0; begin < text.size(); begin = end + 1) {
    end = std::min(text.find('\n', begin), text.size());
    use(text.substr(begin, end - begin), begin);
  }
}

}  // namespace

void TranscriptView::clear() {
  blocks_.clear();
  growing_ = thought_ = kNone;
  first_laid_ = first_changed_ = 0;
  following_ = true;
  top_ = rows_seen_ = 0;
  match_block_ = kNone;
}

void TranscriptView::add(Kind kind, std::string_view text, std::string_view label) {
  Block block;
  block.kind = kind;
  if (is_command(kind) && !label.empty()) block.text = make_safe(label) + "\n";
  if (kind == Kind::marked) {
    block.text += make_marked_safe(text);
  } else {
    block.raw = text;
  }
  if (kind == Kind::user && !label.empty()) block.finish = fmt::format("({})", label);
  const bool joins = kind == Kind::notice && !blocks_.empty() && blocks_.back().kind == Kind::notice;
  block.gap_before = !blocks_.empty() && !joins;
  first_changed_ = std::min(first_changed_, blocks_.size());
  blocks_.push_back(std::move(block));
}

void TranscriptView::begin_answer() {
  end_answer("");
  add(Kind::answer, "");
  growing_ = blocks_.size() - 1;
  blocks_[growing_].open = true;
}

void TranscriptView::append_answer(std::string_view text) {
  if (growing_ == kNone) begin_answer();
  Block& block = blocks_[growing_];
  if (block.empty()) text = without_blanks_before(text);
  if (!text.empty()) end_thought();
  block.raw += text;
  change(growing_);
}

void TranscriptView::end_answer(std::string_view finish, std::string_view sibling) {
  if (growing_ == kNone) return;
  end_thought();
  thought_ = kNone;
  Block& block = blocks_[growing_];
  block.open = false;
  block.finish = describe_finish(finish, block.empty());
  if (!sibling.empty()) block.finish += fmt::format("{}({})", block.finish.empty() ? "" : " ", sibling);
  change(growing_);
  growing_ = kNone;
}

void TranscriptView::change(size_t block) {
  blocks_[block].changed = true;
  blocks_[block].codes = kNone;
  if (block >= first_laid_) first_changed_ = std::min(first_changed_, block);
}

TranscriptView::Place TranscriptView::top_place() const {
  Place place;
  if (following_ || blocks_.empty()) return place;
  place.block = block_at(top_);
  const Block& block = blocks_[place.block];
  const size_t inside = top_ - block.first_row;
  const size_t gap = block.gap_before ? 1 : 0;
  place.at_gap = inside < gap;
  if (place.at_gap || inside - gap >= block.rows.size()) return place;
  const size_t row = inside - gap;
  place.source = block.rows[row].source;
  while (place.index < row && block.rows[row - place.index - 1].source == place.source) ++place.index;
  return place;
}

void TranscriptView::go_to(const Place& place) {
  if (following_ || blocks_.empty()) return;
  const Block& block = blocks_[place.block];
  const auto after = std::upper_bound(block.rows.begin(), block.rows.end(), place.source,
                                      [](size_t value, const Row& row) { return value < row.source; });
  auto inside = static_cast<size_t>(std::max<std::ptrdiff_t>(after - block.rows.begin() - 1, 0));
  if (inside < block.rows.size() && block.rows[inside].source == place.source) {
    const size_t last = inside;
    while (inside > 0 && block.rows[inside - 1].source == place.source) --inside;
    inside = std::min(inside + place.index, last);
  }
  top_ = place.at_gap ? block.first_row : block.first_row + (block.gap_before ? 1 : 0) + inside;
  rows_seen_ = rows_laid();
  settle_top();
}

void TranscriptView::set_size(int columns, int rows) {
  height_ = std::max(rows, 0);
  if (columns == columns_) return;
  lay_out();
  const Place place = top_place();  // the character at the top left stays in the top row
  columns_ = columns;
  for (Block& block : blocks_) {
    block.flow.reset();
    block.rows.clear();
    block.settled_rows = 0;
    block.changed = true;
  }
  first_laid_ = first_changed_ = following_ ? 0 : place.block;
  lay_out();
  go_to(place);
}

size_t TranscriptView::count_codes(Block& block) {
  if (block.codes == kNone) {
    if (!block.text.empty()) block.make_text();
    const std::string& text = block.text.empty() ? block.raw : block.text;
    const bool fenced = block.kind == Kind::answer &&
                        (text.find("```") != std::string::npos || text.find("~~~") != std::string::npos);
    block.codes = fenced ? code_blocks(text).size() : 0;
  }
  return block.codes;
}

size_t TranscriptView::rows_laid() const {
  return first_laid_ >= blocks_.size() ? 0 : blocks_.back().first_row + blocks_.back().height();
}

// Lays out what has changed, and enough above it to fill the screen. What grows above the view moves it
// along.
void TranscriptView::lay_out() {
  if (first_changed_ < blocks_.size()) {
    const size_t top_block = following_ ? kNone : block_at(top_);
    const size_t row_before = following_ ? 0 : blocks_[top_block].first_row;
    // Everything is new: lay_out_above() starts at the end.
    if (first_changed_ == 0 && following_ && blocks_.size() > 1)
      first_laid_ = first_changed_ = blocks_.size();
    for (size_t i = first_changed_; i < blocks_.size(); ++i) {
      Block& block = blocks_[i];
      if (i == first_laid_) {
        block.first_row = 0;
        block.first_code = 1;
        for (size_t before = 0; before < i; ++before) block.first_code += count_codes(blocks_[before]);
      } else {
        block.first_row = blocks_[i - 1].first_row + blocks_[i - 1].height();
        block.first_code = blocks_[i - 1].first_code + count_codes(blocks_[i - 1]);
      }
      if (block.changed) lay_out(block);
    }
    first_changed_ = blocks_.size();
    if (top_block != kNone) {
      top_ += blocks_[top_block].first_row - row_before;
      rows_seen_ += blocks_[top_block].first_row - row_before;
    }
  }
  const size_t laid = rows_laid();
  if (laid < static_cast<size_t>(height_)) lay_out_above(static_cast<size_t>(height_) - laid);
}

// Lays out at least so many more rows above those that have been laid out, as far as there is text.
void TranscriptView::lay_out_above(size_t rows) {
  if (first_changed_ < blocks_.size()) lay_out();
  if (first_laid_ == 0 || rows == 0) return;
  const size_t old_first = first_laid_;
  size_t next_code = 1;
  if (old_first < blocks_.size()) {
    next_code = blocks_[old_first].first_code;
  } else {
    for (Block& block : blocks_) next_code += count_codes(block);
  }
  size_t added = 0;
  while (first_laid_ > 0 && added < rows) {
    Block& block = blocks_[--first_laid_];
    next_code -= count_codes(block);
    block.first_code = next_code;
    if (block.changed) lay_out(block);
    added += block.height();
  }
  for (size_t i = first_laid_, row = 0; i < blocks_.size(); row += blocks_[i].height(), ++i) {
    blocks_[i].first_row = row;
  }
  first_changed_ = blocks_.size();
  top_ += added;
  rows_seen_ += added;
}

void TranscriptView::Block::make_text() {
  if (raw.empty()) return;
  text += make_safe(raw);
  std::string().swap(raw);
}

void TranscriptView::lay_out(Block& block) {
  block.make_text();
  if (block.kind == Kind::thought) {
    lay_out_thought(block);
  } else if (block.kind == Kind::answer) {
    block.flow.update(block.text, block.open, columns_, block.first_code, block.rows);
  } else {
    block.rows.clear();
    lay_out_lines(block, 0, block.text.size());
  }
  block.shown = block.rows.size();
  while (block.shown > 0 && is_blank(block.rows[block.shown - 1])) --block.shown;
  const bool waiting = block.open && block.shown == 0 && !block.hidden;
  if (waiting || !block.finish.empty()) {
    block.rows.resize(block.shown);
    block.flow.keep_settled(block.shown);
    WrapStyle style;
    style.columns = columns_;
    style.first = style.rest = {"  ", {}};
    wrap_line({{waiting ? "…" : block.finish, kQuiet, block.text.size()}}, style, block.rows);
    block.shown = block.rows.size();
  }
  block.codes = block.kind == Kind::answer ? block.flow.code_count() : 0;
  block.changed = false;
  block.searched = false;
}

// Lays out the lines of a block that are between `from` and `to`, as they are, after the mark of its kind.
void TranscriptView::lay_out_lines(Block& block, size_t from, size_t to) {
  const BlockLook look = look_of(block.kind);
  const std::string_view text = std::string_view(block.text).substr(0, to);
  WrapStyle style;
  style.columns = is_command(block.kind) ? columns_ : std::min(columns_, kWidestText + 2);
  bool stacked = false;
  for_each_line(text, from, [&](std::string_view line, size_t) {
    stacked = stacked || wants_stack(line, style.columns - 2);
  });
  for_each_line(text, from, [&](std::string_view line, size_t begin) {
    const bool label = begin == 0 && is_command(block.kind) && text[0] == '/';
    style.first = {begin == 0 ? look.first : "  ", look.mark};
    style.rest = {"  ", look.mark};
    if (is_command(block.kind) && !label) {
      put_table_line(line, begin, block.kind == Kind::marked, stacked, style, block.rows);
    } else {
      wrap_line({{line, label ? kQuiet : look.text, begin}}, style, block.rows);
    }
  });
}

size_t TranscriptView::block_at(size_t row) const {
  const auto first = blocks_.begin() + static_cast<std::ptrdiff_t>(first_laid_);
  const auto after = std::upper_bound(
      first, blocks_.end(), row, [](size_t value, const Block& block) { return value < block.first_row; });
  return static_cast<size_t>(std::max(after - blocks_.begin() - 1, first - blocks_.begin()));
}

size_t TranscriptView::row_count() {
  lay_out_all();
  return rows_laid();
}

Row TranscriptView::row(size_t index) { return index < row_count() ? laid_row(index) : Row{}; }

Row TranscriptView::laid_row(size_t index) const {
  const Block& block = blocks_[block_at(index)];
  const size_t inside = index - block.first_row;
  const size_t gap = block.gap_before ? 1 : 0;
  return inside < gap ? Row{} : block.rows[inside - gap];
}

size_t TranscriptView::first_visible() {
  lay_out();
  settle_top();
  return following_ ? last_top() : top_;
}

size_t TranscriptView::code_at(int visible_row) {
  if (visible_row < 0 || visible_row >= height_) return 0;
  const size_t index = first_visible() + static_cast<size_t>(visible_row);
  return index < rows_laid() ? laid_row(index).code : 0;
}

std::vector<Row> TranscriptView::visible() {
  if (!words_.empty()) search();  // before `top` is taken: it lays out what is above, which moves the rows
  const size_t top = first_visible();
  const size_t end = std::min(rows_laid(), top + static_cast<size_t>(height_));
  std::vector<Row> rows;
  for (size_t i = top; i < end; ++i) rows.push_back(laid_row(i));
  if (!words_.empty()) bring_out_matches(top, rows);
  return rows;
}

size_t TranscriptView::last_top() {
  lay_out();
  const size_t count = rows_laid();
  return count > static_cast<size_t>(height_) ? count - static_cast<size_t>(height_) : 0;
}

void TranscriptView::settle_top() {
  if (!following_ && top_ >= last_top()) following_ = true;
}

void TranscriptView::scroll_by(int rows) {
  lay_out();
  const auto from = static_cast<std::ptrdiff_t>(following_ ? last_top() : top_);
  if (from + rows < 0) {
    lay_out_above(std::max(static_cast<size_t>(-(from + rows)), kAhead * static_cast<size_t>(height_)));
  }
  const auto last = static_cast<std::ptrdiff_t>(last_top());
  const auto top =
      std::clamp<std::ptrdiff_t>(static_cast<std::ptrdiff_t>(following_ ? last_top() : top_) + rows, 0, last);
  if (following_) rows_seen_ = rows_laid();
  top_ = static_cast<size_t>(top);
  following_ = top == last;
}

void TranscriptView::scroll_to_start() {
  scroll_by(-static_cast<int>(std::min<size_t>(row_count(), 1u << 30)));
}
void TranscriptView::scroll_to_end() { following_ = true; }

void TranscriptView::show_last_from_its_start() {
  if (!following_ || blocks_.empty()) return;
  lay_out();
  const Block& last = blocks_.back();
  scroll_by(-std::max(static_cast<int>(last.shown) - height_, 0));
}

size_t TranscriptView::new_rows() {
  lay_out();
  const size_t count = rows_laid();
  return following_ || count < rows_seen_ ? 0 : count - rows_seen_;
}

size_t TranscriptView::rows_below() { return following_ ? 0 : last_top() - std::min(top_, last_top()); }

}  // namespace bitnet
