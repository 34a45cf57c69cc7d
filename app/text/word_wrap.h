// Text that streams to a terminal, broken between words and not in them.
//
// Thread rule: belongs to one thread.
//
// A word is held back until what follows it is known: it may still grow past the edge. What is fenced as code
// is let through as it comes, and a word wider than the terminal is the terminal's to break.
#pragma once

#include <string>
#include <string_view>

namespace bitnet {

class WordWrap {
 public:
  // What can be shown of the text so far, on a terminal of that many columns; 0: not known, nothing is
  // broken.
  std::string add(std::string_view text, int columns);
  // What was held back, at the end of the text. The next text may go on in the same row.
  std::string finish(int columns);
  bool holds() const { return !word_.empty() || !spaces_.empty(); }
  void new_row();  // something else has ended the row

 private:
  void put_word(std::string& out, int columns);

  std::string spaces_;  // before the word
  std::string word_;
  std::string begun_;  // of the line: enough to see a fence
  int column_ = 0;
  bool goes_on_ = false;  // the word's beginning was shown already
  bool code_ = false;
};

}  // namespace bitnet
