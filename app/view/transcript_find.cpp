// Finding words in the transcript.
#include <algorithm>

#include "app/text/fold_case.h"
#include "transcript.h"

namespace bitnet {

void TranscriptView::find(std::string_view words) {
  std::string wanted = fold_case(words);
  if (wanted == words_) return;
  words_ = std::move(wanted);
  match_block_ = kNone;
  for (Block& block : blocks_) block.searched = false;
  if (words_.empty()) return;
  search();
  const size_t top = following_ ? last_top() : top_;
  const size_t bottom = top + static_cast<size_t>(height_);
  for (size_t b = blocks_.size(); b-- > 0;) {
    const Block& block = blocks_[b];
    const size_t first = block.first_row + (block.gap_before ? 1 : 0);
    for (size_t m = block.matches.size(); m-- > 0;) {
      if (first + block.matches[m].rows[0].row >= bottom) continue;
      match_block_ = b;
      match_index_ = m;
      return show_match();
    }
  }
  next_match(1);
}

void TranscriptView::search() {
  if (!words_.empty()) lay_out_all();
  for (Block& block : blocks_) {
    if (block.searched) continue;
    block.searched = true;
    block.matches.clear();
    if (!words_.empty()) block.matches = find_in_rows(block.rows, block.shown, words_);
  }
}

size_t TranscriptView::match_count() {
  search();
  size_t count = 0;
  for (const Block& block : blocks_) count += block.matches.size();
  return count;
}

size_t TranscriptView::match_here() {
  search();
  if (match_block_ >= blocks_.size() || match_index_ >= blocks_[match_block_].matches.size()) return 0;
  size_t before = 0;
  for (size_t b = 0; b < match_block_; ++b) before += blocks_[b].matches.size();
  return before + match_index_ + 1;
}

void TranscriptView::next_match(int direction) {
  const size_t count = match_count();
  if (count == 0) return;
  const size_t here = match_here();
  size_t wanted = direction > 0 ? here : here < 2 ? count - 1 : here - 2;  // from 0
  if (wanted >= count) wanted = 0;
  for (size_t b = 0; b < blocks_.size(); ++b) {
    if (wanted < blocks_[b].matches.size()) {
      match_block_ = b;
      match_index_ = wanted;
      return show_match();
    }
    wanted -= blocks_[b].matches.size();
  }
}

// Scrolls only if the match is not in view, and then puts it a third from the top.
void TranscriptView::show_match() {
  const Block& block = blocks_[match_block_];
  const size_t row = block.first_row + (block.gap_before ? 1 : 0) + block.matches[match_index_].rows[0].row;
  const size_t top = following_ ? last_top() : top_;
  if (row >= top && row < top + static_cast<size_t>(height_)) return;
  const auto wanted = static_cast<std::ptrdiff_t>(row) - height_ / 3;
  scroll_by(static_cast<int>(wanted - static_cast<std::ptrdiff_t>(top)));
}

void TranscriptView::bring_out_matches(size_t top, std::vector<Row>& rows) {
  if (blocks_.empty()) return;
  for (size_t b = block_at(top); b < blocks_.size(); ++b) {
    const Block& block = blocks_[b];
    const size_t first = block.first_row + (block.gap_before ? 1 : 0);
    if (first >= top + rows.size()) return;
    for (size_t m = 0; m < block.matches.size(); ++m) {
      const bool here = b == match_block_ && m == match_index_;
      for (const Match::InRow& in_row : block.matches[m].rows) {
        const size_t row = first + in_row.row;
        if (row < top || row >= top + rows.size()) continue;
        bring_out(rows[row - top], in_row.begin, in_row.end, here ? Tone::match_here : Tone::match);
      }
    }
  }
}

}  // namespace bitnet
