// Tells what each line of a Markdown text is. Only the lines before it decide that, so it can be told while
// the text grows.
//
// Thread rule: values and free functions; safe anywhere.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace bitnet {

// Longer lines and paragraphs are not parsed, which bounds the work per added token.
inline constexpr size_t kLongestStyledLine = 4096;

struct ListLevel {
  int marker = 0;   // column of the marker in the source
  int content = 0;  // column of what follows the marker
  int shown = 0;    // columns before the content on the screen
  int number = 0;   // of the last item; 0 = not numbered
  bool operator==(const ListLevel&) const = default;
};

// What the lines before a line say about it.
struct MarkdownState {
  char fence = 0;  // '`' or '~' while inside a fenced block
  int fence_length = 0;
  int fence_indent = 0;
  int quote = 0;  // depth
  std::vector<ListLevel> lists;
  bool paragraph = false;  // the paragraph of the line before may go on
  bool piped = false;      // the block began with '|', so it is a table
  size_t bytes = 0;        // of the block so far
};

enum class LineKind : uint8_t { blank, text, heading, rule, fence, code, fence_end };

struct LineShape {
  LineKind kind = LineKind::blank;
  bool joins = false;  // the line goes on with the block of the line before
  size_t skip = 0;     // bytes before the content
  size_t end = 0;      // where the content ends
  bool quoted = false;
  bool fenced = false;  // it is a line of code of a fenced block
  std::string first;  // shown before its first row, such as a bullet
  std::string rest;   // shown before its other rows
};

// Reads one line, given without its newline, and brings `state` up to date. The text may be safe
// (text_safe.h) or the raw text of a message.
LineShape read_line(std::string_view line, MarkdownState& state);

// Returns an answer without the blanks and line ends before it, which are not shown. What is behind them
// begins at the first column.
std::string_view without_blanks_before(std::string_view answer);

// A fenced block of a message as /copy copies it, without the fences and their indent. The blocks are those
// that the screen numbers, in that order; the text is as the model wrote it, not safe.
struct CodeBlock {
  std::string language;
  std::string text;
};
std::vector<CodeBlock> code_blocks(std::string_view message);

}  // namespace bitnet
