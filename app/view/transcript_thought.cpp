// What the model thought, in the transcript.
#include <algorithm>
#include <utility>

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
  block.rows.clear();
  WrapStyle style;
  style.columns = std::min(columns_, kWidestColumns);
  style.first = style.rest = {"  ", kQuiet};
  const auto say = [&](const std::string& text) { wrap_line({{text, kQuiet, 0}}, style, block.rows); };
  const std::string label = block.open ? "thinking" : thought_label(block.tokens);
  if (!block.open && !unfolded_) return say(label + " (Tab shows)");
  if (unfolded_) {
    say(label + " (Tab folds)");
    return lay_out_lines(block);
  }
  // The line that grows and the one before it take long enough to read.
  const std::string_view text = block.text;
  size_t begin = text.rfind('\n', std::min(text.find_last_not_of(" \n"), text.size()));
  if (begin != std::string_view::npos && begin > 0) begin = text.rfind('\n', begin - 1);
  begin = begin == std::string_view::npos ? 0 : begin + 1;
  for (size_t end = 0; begin < text.size(); begin = end + 1) {
    end = std::min(text.find('\n', begin), text.size());
    if (end > begin) wrap_line({{text.substr(begin, end - begin), kQuiet, begin}}, style, block.rows);
  }
  if (block.rows.size() > kGrowingRows)
    block.rows.erase(block.rows.begin(), block.rows.end() - static_cast<std::ptrdiff_t>(kGrowingRows));
}

}  // namespace bitnet
