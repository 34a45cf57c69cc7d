// What each line of a Markdown text is, from the lines before it alone: so that it can be told while the text
// grows.
//
// Thread rule: values and free functions; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace bitnet {

// Longer lines and paragraphs are not parsed, so that the work per added token stays bounded.
inline constexpr size_t kLongestStyledLine = 4096;

struct ListLevel {
  int marker = 0;   // column of the marker in the source
  int content = 0;  // and of what follows it
  int shown = 0;    // columns on the screen before the content
  int number = 0;   // of the last item; 0 = not numbered
  bool operator==(const ListLevel&) const = default;
};

// What a line needs to know of the lines before it.
struct MarkdownState {
  char fence = 0;  // '`' or '~' while inside a fenced block
  int fence_length = 0;
  int fence_indent = 0;
  int quote = 0;  // depth
  std::vector<ListLevel> lists;
  bool paragraph = false;  // the line before may go on
  bool piped = false;      // it began with '|': a table's row
  size_t bytes = 0;        // of the block so far
};

enum class LineKind : uint8_t { blank, text, heading, rule, fence, code, fence_end };

struct LineShape {
  LineKind kind = LineKind::blank;
  bool joins = false;  // goes on with the block of the line before
  size_t skip = 0;     // bytes before the content
  size_t end = 0;      // of the content
  bool quoted = false;
  std::string first;  // shown before its first row, such as a bullet
  std::string rest;   // and before the others
};

// `line` without its newline. Works on safe text and on the raw text of a message alike.
LineShape read_line(std::string_view line, MarkdownState& state);

// A fenced block of a message, as /copy takes it: without the fences and their indent.
struct CodeBlock {
  std::string language;
  std::string text;
};
std::vector<CodeBlock> code_blocks(std::string_view message);

}  // namespace bitnet
