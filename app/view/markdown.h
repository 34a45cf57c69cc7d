// Markdown as it streams: an answer's text to rows, each block laid out once it is whole.
//
// Thread rule: values; no sharing between threads.
//
// Lines say where blocks begin and end (markdown_lines.h); what stands inside a block is parsed by md4c
// (view_spans.h). Blocks are found here and not by md4c, because md4c wants the whole text and gives nothing
// before its end, while a line here never changes what came before it: only the paragraph or table at the end
// is laid out again as it grows, and of code only the last line. It also forgives what models do and
// CommonMark does not: fences and nested lists that are not indented enough. A break in the source stays one.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "app/text/markdown_lines.h"
#include "app/text/text_wrap.h"

namespace bitnet {

struct StyledBlock;

class MarkdownFlow {
 public:
  // Brings `rows` up to date with `text`, which is safe and begins with what it began with at the last call,
  // as did `rows`, of which those at the end may have been removed or added to since. `growing`: more may
  // follow. `first_number`: of its first code block.
  void update(std::string_view text, bool growing, int columns, size_t first_number, std::vector<Row>& rows);
  void reset() { *this = {}; }
  size_t code_count() const { return codes_; }
  size_t settled() const { return settled_; }  // rows that will not change any more
  void keep_settled(size_t rows) { settled_ = settled_ < rows ? settled_ : rows; }

 private:
  struct BlockLine {
    size_t begin;  // of the content, in the text
    size_t end;
  };
  struct Target;

  void take_line(const Target& to, size_t begin, size_t end);
  void put_tail(const Target& to);
  void put_block(const Target& to, bool growing);
  void put_table(const Target& to, const StyledBlock& table, std::string_view head, bool growing);
  void put_line(const Target& to, const LineShape& shape, size_t begin, bool growing);
  void put_pieces(const Target& to, const LineShape& shape, std::vector<Piece> pieces, bool words, bool first,
                  bool growing);

  MarkdownState state_;           // at line_
  LineShape shape_;               // of the open block's first line
  std::vector<BlockLine> block_;  // lines of the paragraph or table that may go on
  size_t line_ = 0;               // where the line that may still grow begins
  size_t scanned_ = 0;            // text before this holds no line end after line_
  size_t settled_ = 0;
  size_t resume_ = 0;  // where the rows of a very long line that may still change begin
  Join resume_join_ = Join::none;
  size_t codes_ = 0;
  // Of a table too long to be laid out again: its head, and the columns it keeps.
  std::string table_head_;
  std::vector<int> table_widths_;
};

}  // namespace bitnet
