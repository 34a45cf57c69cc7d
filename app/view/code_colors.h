// Colours the lines of a code block, while they come.
//
// Thread rule: lives on the loop's thread, and so do the language definitions, which are read once.
//
// libt3highlight finds the tokens: it goes from line to line with one number as its state, so a line that
// still grows is coloured again from the state before it and no other line is. Its definitions come with its
// Debian package; those of assets/languages join them. The work is bounded whatever the block holds: long
// lines, all lines after the first 128 KiB of a block, and those after deep nesting or after a tenth of a
// second are left as they are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "app/text/styled_text.h"
#include "app/text/text_wrap.h"

namespace bitnet {

class CodeColors {
 public:
  // For the language as a fence names it ("python", "C++"); nullptr where it is not known, or where its
  // definition cannot be read.
  static std::unique_ptr<CodeColors> of(std::string_view language);
  ~CodeColors();
  CodeColors(const CodeColors&) = delete;
  CodeColors& operator=(const CodeColors&) = delete;

  // The next line, as pieces of `line`, which must be valid UTF-8 without a newline; `source` is where it
  // begins in its source. A line that is `growing` will be given again: its last word is coloured once it
  // cannot become another one.
  std::vector<Piece> line(std::string_view line, size_t source, bool growing);

 private:
  struct Match;
  explicit CodeColors(std::unique_ptr<Match> match);
  std::vector<Piece> tokens(std::string_view line, size_t source);
  bool goes_on(size_t bytes);

  std::unique_ptr<Match> match_;
  int state_ = 0;     // at the beginning of the line
  size_t bytes_ = 0;  // so many were coloured
  int64_t nanoseconds_ = 0;
  bool over_ = false;  // the rest of the block is not coloured
};

}  // namespace bitnet
