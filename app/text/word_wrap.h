// Breaks text that streams to a terminal between words.
//
// Thread rule: belongs to one thread.
//
// A word is held back until the text after it is known, because the word may still grow past the edge. Fenced
// code passes unchanged, and the terminal itself breaks a word that is wider than a row.
#pragma once

#include <string>
#include <string_view>

#include "markdown_lines.h"

namespace bitnet {

class WordWrap {
 public:
  // Returns what can be shown of the text so far on a terminal of `columns`. With 0 columns (not known)
  // nothing is broken.
  std::string add(std::string_view text, int columns);
  // Returns what was held back, at the end of the text. The next text may go on in the same row.
  std::string finish(int columns);
  bool holds() const { return !word_.empty() || !spaces_.empty(); }
  void new_row();  // tells that something else has ended the row

 private:
  void put_word(std::string& out, int columns);

  std::string spaces_;  // before the word
  std::string word_;
  std::string line_;  // the line so far, as much of it as says whether it is a fence
  MarkdownState markdown_;
  int column_ = 0;
  bool goes_on_ = false;  // the beginning of word_ has been shown already
  bool code_ = false;     // the line is inside of fenced code
};

}  // namespace bitnet
