// The transcript as rows of the screen: what was said, wrapped, with a place to look at it from.
//
// Thread rule: lives on the loop's thread; no terminal in it.
//
// Adding text lays out only what grows (view_markdown.h): rows of finished blocks are never touched again
// until the width changes. The view follows the end while it is at the end, and stays where it is otherwise.
//
// A long conversation is laid out from its end, as far up as the view has been: what nobody looked at has no
// rows yet, so that opening it or changing the width costs what the screen shows. Rows are counted from the
// first one that is laid out; when more come above it, the places in the view move along.
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
  // marked: as command, with bold text between kMarkOn and kMarkOff (front_end.h).
  enum class Kind { user, answer, command, marked, notice, error };

  void clear();
  // `text` is made safe here. `label` is the command line that a command's outcome belongs to, or the place
  // of a user's turn among its siblings.
  void add(Kind kind, std::string_view text, std::string_view label = {});

  // One answer at a time may grow; other blocks may be added after it meanwhile.
  void begin_answer();
  void append_answer(std::string_view text);
  // `finish` as front_end.h has it; anything but "stop" and "" is said in a row of its own, and so is
  // `sibling`
  // ("2/3").
  void end_answer(std::string_view finish, std::string_view sibling = {});

  void set_size(int columns, int rows);  // of the place on the screen; the top row stays where it was
  int height() const { return height_; }

  bool empty() const { return blocks_.empty(); }
  size_t row_count();  // of all: lays out everything, as row() does
  Row row(size_t index);
  std::vector<Row> visible();  // at most `rows`

  void scroll_by(int rows);  // negative = towards the beginning
  void scroll_to_start();
  void scroll_to_end();
  // Where the last block does not fit the screen, and the view is at the end: from its first row on.
  void show_last_from_its_start();
  bool at_end() const { return following_; }
  size_t new_rows();  // rows added since the view left the end
  size_t rows_below();

  // Matches of `words` are brought out in visible(), until they are empty. The view goes to the last one that
  // is not below it; next_match goes on from there, around the ends.
  void find(std::string_view words);
  void next_match(int direction);
  size_t match_count();
  size_t match_here();  // from 1; 0 = nowhere

 private:
  static constexpr size_t kNone = static_cast<size_t>(-1);

  struct Block {
    Kind kind = Kind::notice;
    std::string text;    // safe
    std::string raw;     // what follows it: made safe when it is laid out
    std::string finish;  // what is said below an answer
    bool open = false;   // an answer that may still grow
    bool changed = true;
    MarkdownFlow flow;      // of an answer
    size_t first_code = 1;  // number of its first code block
    size_t codes = kNone;   // how many it has; kNone: not counted yet
    std::vector<Row> rows;
    bool gap_before = true;
    size_t first_row = 0;  // counted from first_laid_, of the gap if there is one
    size_t shown = 0;      // rows without blank ones at the end
    bool searched = false;
    std::vector<Match> matches;
    bool empty() const { return text.empty() && raw.empty(); }
    void make_text();
    size_t height() const { return shown + (gap_before ? 1 : 0); }
  };

  void change(size_t block);
  void lay_out();
  void lay_out_above(size_t rows);
  void lay_out_all() { lay_out_above(kNone); }
  void lay_out(Block& block);
  void lay_out_lines(Block& block);
  static size_t count_codes(Block& block);
  size_t rows_laid() const;
  Row laid_row(size_t index) const;
  size_t block_at(size_t row) const;
  size_t last_top();
  void settle_top();
  void search();
  void show_match();
  void bring_out_matches(size_t top, std::vector<Row>& rows);

  std::vector<Block> blocks_;
  size_t growing_ = kNone;  // the block of the open answer
  size_t first_laid_ = 0;   // blocks from here on have rows; those before have none
  size_t first_changed_ = 0;
  int columns_ = 80;
  int height_ = 24;
  bool following_ = true;
  size_t top_ = 0;        // first visible row where not following
  size_t rows_seen_ = 0;  // rows_laid when the view left the end
  std::string words_;     // looked for, folded; empty: nothing is
  size_t match_block_ = kNone;
  size_t match_index_ = 0;  // in that block
};

}  // namespace bitnet
