// Markdown, one line at a time: what a line of an answer looks like.
//
// Thread rule: a value; no sharing between threads.
//
// Headings, lists, quotes, rules, fenced code, `code`, **bold** and *italic* are shown, not spelled. The only
// thing one line needs to know of the lines before it is whether a code fence is open, so lines that are
// finished never change. In a line that still grows a marker without its partner counts as open to the end,
// so text does not jump when the partner comes.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "text_wrap.h"

namespace bitnet {

// Longer lines are one piece, so that the work per added token stays bounded.
inline constexpr size_t kLongestStyledLine = 4096;

struct MarkdownState {
  char fence = 0;  // '`' or '~' while inside a fenced block
  int fence_length = 0;
  bool operator==(const MarkdownState&) const = default;
};

struct MarkdownLine {
  std::vector<Piece> pieces;  // views of the line, and of text that lives as long as the program
  Span first;                 // marker before its first row, such as a bullet
  Span rest;                  // indent of the others
  bool words = true;          // false: code, which is broken anywhere
  int rule_columns = 0;       // not 0: a rule across the text
  MarkdownState after;        // for the next line
};

// `line` without its newline, already safe; `source` is where it begins in the message.
MarkdownLine markdown_line(std::string_view line, MarkdownState state, bool finished, size_t source);

// The pieces of a line of running text.
std::vector<Piece> markdown_inline(std::string_view text, Face face, bool finished, size_t source);

}  // namespace bitnet
