// The transcript as rows of the screen: what was said, wrapped, and which part of it is in view.
//
// Thread rule: lives on the loop's thread; it knows no terminal.
//
// Adding text lays out only what grows (markdown.h): rows of finished blocks do not change until the width
// changes. A view at the end follows the end; any other view stays at its text.
//
// A long conversation is laid out from its end and only as far up as the view has been, so that opening it or
// changing the width costs no more than what the screen shows. Rows are counted from the first one that is
// laid out. When more rows are laid out above it, all row numbers kept here move along.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "app/text/styled_text.h"
#include "find.h"
#include "markdown.h"

namespace bitnet {

class TranscriptView {
 public:
  // `marked` is a command's output with bold text between kMarkOn and kMarkOff (front_end.h).
  enum class Kind { user, answer, command, marked, notice, error, thought };

  void clear();
  // Makes `text` safe. `label` is the command line that a command's output belongs to, or the place of a
  // user's turn among its siblings.
  void add(Kind kind, std::string_view text, std::string_view label = {});

  // One answer at a time may grow. Other blocks may be added after it meanwhile.
  void begin_answer();
  void append_answer(std::string_view text);
  // What the model thinks before it answers, in a block of its own before the answer. Folded, it shows its
  // last two rows while it grows and then one row that tells its tokens.
  void append_thought(std::string_view text);
  void count_thought(size_t tokens);  // of the answer that may grow; 0: not known
  bool has_thoughts() const;
  bool thoughts_unfolded() const { return unfolded_; }
  void unfold_thoughts(bool on);
  // `finish` is that of ShownMessage (front_end.h). Anything but "stop" and "" is said in a row of its own,
  // and so is `sibling` ("2/3").
  void end_answer(std::string_view finish, std::string_view sibling = {});

  void set_size(int columns, int rows);  // of the transcript's place; the view stays at its text
  int height() const { return height_; }

  bool empty() const { return blocks_.empty(); }
  size_t row_count();  // lays out everything, and so does row()
  Row row(size_t index);
  std::vector<Row> visible();  // at most height() rows
  // Returns the number of the code block in this row of visible(), as /copy takes it; 0: none is there.
  size_t code_at(int visible_row);

  void scroll_by(int rows);  // negative = towards the beginning
  void scroll_to_start();
  void scroll_to_end();
  // If the view is at the end and the last block does not fit into it, moves the view to the block's first
  // row.
  void show_last_from_its_start();
  bool at_end() const { return following_; }
  size_t new_rows();  // rows added since the view left the end
  size_t rows_below();

  // visible() brings out the matches of `words` until find("") is called. The view goes to the last match
  // that is not below it. next_match() goes on from there and wraps around at the ends.
  void find(std::string_view words);
  void next_match(int direction);
  size_t match_count();
  size_t match_here();  // number of the current match from 1; 0: there is none

 private:
  static constexpr size_t kNone = static_cast<size_t>(-1);

  struct Block {
    Kind kind = Kind::notice;
    std::string text;     // safe
    std::string raw;      // follows `text`; made safe when the block is laid out
    std::string finish;   // said below the block
    bool open = false;    // an answer or a thought that may still grow
    bool hidden = false;  // an answer that is still being thought about
    size_t tokens = 0;    // of a thought
    bool changed = true;
    MarkdownFlow flow;  // lays out an answer
    // Of an unfolded thought that grows: bytes whose rows will not change, and these rows.
    size_t settled_text = 0;
    size_t settled_rows = 0;         // 0: it is not laid out
    Join settled_join = Join::none;  // of the row behind them
    size_t first_code = 1;           // number of its first code block
    size_t codes = kNone;            // number of its code blocks; kNone: not counted yet
    std::vector<Row> rows;
    bool gap_before = true;
    size_t first_row = kNone;  // its first row or gap, counted from that of first_laid_; kNone: not laid out
    size_t shown = 0;      // number of rows without the blank ones at the end
    bool searched = false;
    std::vector<Match> matches;
    bool empty() const { return text.empty() && raw.empty(); }
    void make_text();
    size_t height() const { return hidden ? 0 : shown + (gap_before ? 1 : 0); }
  };

  // What stands in the top row.
  struct Place {
    size_t block = 0;
    size_t source = 0;
    size_t index = 0;  // among the rows of this source, such as those of a wrapped cell
    bool at_gap = false;
  };
  Place top_place() const;
  void go_to(const Place& place);

  void change(size_t block);
  void begin_thought();
  void end_thought();
  void lay_out();
  void lay_out_above(size_t rows);
  void lay_out_all() { lay_out_above(kNone); }
  void lay_out(Block& block);
  void lay_out_lines(Block& block, size_t from, size_t to);
  void lay_out_thought(Block& block);
  void lay_out_unfolded(Block& block, const WrapStyle& style);
  static size_t count_codes(Block& block);
  size_t rows_laid() const;
  Row laid_row(size_t index) const;
  size_t first_visible();
  size_t block_at(size_t row) const;
  size_t last_top();
  void settle_top();
  void search();
  void show_match();
  void bring_out_matches(size_t top, std::vector<Row>& rows);

  std::vector<Block> blocks_;
  size_t growing_ = kNone;  // index of the open answer
  size_t thought_ = kNone;  // index of its thought, if there is one
  bool unfolded_ = false;   // thoughts are shown whole
  size_t first_laid_ = 0;   // blocks from here on have rows; those before it have none
  size_t first_changed_ = 0;
  int columns_ = 80;
  int height_ = 24;
  bool following_ = true;
  size_t top_ = 0;        // the first visible row, unless following_
  size_t rows_seen_ = 0;  // rows_laid() when the view left the end
  std::string words_;     // the words to find, of fold_case(); empty: none
  size_t match_block_ = kNone;
  size_t match_index_ = 0;  // index in the matches of that block
};

}  // namespace bitnet
