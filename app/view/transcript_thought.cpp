// What the model thought, in the transcript.
#include <algorithm>
#include <utility>

#include "app/text/markdown_lines.h"
#include "app/text/text_wrap.h"
#include "app/text/thinking.h"
#include "rows.h"
#include "transcript.h"

namespace bitnet {
namespace {

constexpr int kWidestColumns = 102;  // longer rows are hard to read
constexpr size_t kGrowingRows = 2;   // of a folded thought that grows

}  // namespace

// Puts a block before that of the answer, which is hidden until the thought ends.
void TranscriptView::begin_thought() {
  thought_ = growing_++;
  Block block;
  block.kind = Kind::thought;
  block.open = true;
  block.gap_before = blocks_[thought_].gap_before;
  block.first_row = blocks_[thought_].first_row;
  blocks_[thought_].gap_before = blocks_[thought_].hidden = true;
  blocks_.insert(blocks_.begin() + static_cast<std::ptrdiff_t>(thought_), std::move(block));
  if (first_laid_ > thought_) ++first_laid_;
  if (first_changed_ > thought_) ++first_changed_;
  if (match_block_ != kNone && match_block_ >= thought_) ++match_block_;
  change(thought_);
  change(growing_);
}

void TranscriptView::end_thought() {
  if (thought_ == kNone || !blocks_[thought_].open) return;
  blocks_[thought_].open = blocks_[growing_].hidden = false;
  change(thought_);
  change(growing_);
}

void TranscriptView::append_thought(std::string_view text) {
  if (text.empty()) return;
  if (growing_ == kNone) begin_answer();
  if (thought_ == kNone) begin_thought();
  blocks_[thought_].raw += text;
  change(thought_);
}

void TranscriptView::count_thought(size_t tokens) {
  if (thought_ == kNone || blocks_[thought_].tokens == tokens) return;
  blocks_[thought_].tokens = tokens;
  change(thought_);
}

bool TranscriptView::has_thoughts() const {
  return std::any_of(blocks_.begin(), blocks_.end(), [](const Block& b) { return b.kind == Kind::thought; });
}

void TranscriptView::unfold_thoughts(bool on) {
  lay_out();
  const Place place = top_place();
  unfolded_ = on;
  size_t last = kNone;
  for (size_t i = 0; i < blocks_.size(); ++i) {
    if (blocks_[i].kind == Kind::thought) change(last = i);
  }
  lay_out();
  go_to(place);
  if (!on || !following_ || last == kNone || blocks_[last].open) return;
  // The last thought is shown from its start.
  const size_t rows_from_there = rows_laid() - blocks_[last].first_row;
  scroll_by(-static_cast<int>(rows_from_there - std::min(rows_from_there, static_cast<size_t>(height_))));
}

void TranscriptView::lay_out_thought(Block& block) {
  WrapStyle style;
  style.columns = std::min(columns_, kWidestColumns);
  style.first = style.rest = {"  ", kQuiet};
  if (unfolded_) return lay_out_unfolded(block, style);
  block.rows.clear();
  block.settled_rows = 0;
  if (!block.open) {
    wrap_line({{thought_label(block.tokens) + " (Tab shows)", kQuiet, 0}}, style, block.rows);
    return;
  }
  // The line that grows and the one before it take long enough to read.
  const std::string_view text = block.text;
  size_t begin = text.rfind('\n', std::min(text.find_last_not_of(" \n"), text.size()));
  if (begin != std::string_view::npos && begin > 0) begin = text.rfind('\n', begin - 1);
  begin = begin == std::string_view::npos ? 0 : begin + 1;
  // Long lines are shown from a place that stays while they grow by so many bytes.
  if (text.size() - begin > 2 * kLongestStyledLine) {
    begin = (text.size() / kLongestStyledLine - 1) * kLongestStyledLine;
    while ((static_cast<unsigned char>(text[begin]) & 0xC0) == 0x80) ++begin;
  }
  for (size_t end = 0; begin < text.size(); begin = end + 1) {
    end = std::min(text.find('\n', begin), text.size());
    if (end > begin) wrap_line({{text.substr(begin, end - begin), kQuiet, begin}}, style, block.rows);
  }
  if (block.rows.size() > kGrowingRows)
    block.rows.erase(block.rows.begin(), block.rows.end() - static_cast<std::ptrdiff_t>(kGrowingRows));
}

// Of a thought that grows only the line that grows is laid out again, and of a long one only its last row.
void TranscriptView::lay_out_unfolded(Block& block, const WrapStyle& style) {
  if (!block.open || block.settled_rows == 0) {
    block.rows.clear();
    const std::string label = block.open ? "thinking" : thought_label(block.tokens);
    wrap_line({{label + " (Tab folds)", kQuiet, 0}}, style, block.rows);
    block.settled_text = 0;
    block.settled_rows = block.rows.size();
    block.settled_join = Join::none;
  }
  block.rows.resize(block.settled_rows);
  const size_t last_line = block.text.rfind('\n') + 1;
  const auto lay_out_to = [&](size_t end) {
    lay_out_lines(block, block.settled_text, end);
    if (block.rows.size() > block.settled_rows) block.rows[block.settled_rows].join = block.settled_join;
  };
  if (last_line > block.settled_text) {
    lay_out_to(last_line);
    block.settled_text = last_line;
    block.settled_rows = block.rows.size();
    block.settled_join = Join::none;
  }
  lay_out_to(block.text.size());
  if (block.text.size() - block.settled_text < kLongestStyledLine ||
      block.rows.size() < block.settled_rows + 2)
    return;
  block.settled_text = block.rows.back().source;
  block.settled_rows = block.rows.size() - 1;
  block.settled_join = block.rows.back().join;
}

}  // namespace bitnet
