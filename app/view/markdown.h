// Lays out Markdown while it streams: an answer's text becomes rows, and each block is final once it is
// whole.
//
// Thread rule: values; no sharing between threads.
//
// The lines say where blocks begin and end (markdown_lines.h), and md4c parses what stands inside a block
// (spans.h). We find the blocks ourselves because md4c needs the whole text and gives nothing before its end.
// Here a line never changes what came before it: only the paragraph or table at the end is laid out again as
// it grows, and of code only the last line. This also forgives what models write and CommonMark does not
// allow, such as fences and nested lists that are not indented enough. A line break in the source is one on
// the screen.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "app/text/markdown_lines.h"
#include "app/text/text_wrap.h"
#include "code_colors.h"

namespace bitnet {

struct StyledBlock;

class MarkdownFlow {
 public:
  // Brings `rows` up to date with `text`, which must be safe (text_safe.h). `text` must begin with the text
  // of the last call, and `rows` with the settled() rows of that call; what comes after those is replaced.
  // `growing` says that more text may follow. `first_number` is the number of the first code block.
  void update(std::string_view text, bool growing, int columns, size_t first_number, std::vector<Row>& rows);
  void reset() { *this = {}; }
  size_t code_count() const { return codes_; }
  size_t settled() const { return settled_; }  // number of rows that will not change any more
  void keep_settled(size_t rows) { settled_ = settled_ < rows ? settled_ : rows; }

 private:
  struct BlockLine {
    size_t begin;  // where its content begins in the text
    size_t end;
  };
  struct Target;

  void take_line(const Target& to, size_t begin, size_t end);
  void put_tail(const Target& to);
  void put_block(const Target& to, bool growing);
  void put_table(const Target& to, const StyledBlock& table, std::string_view head, bool growing);
  void put_line(const Target& to, const LineShape& shape, size_t begin, bool growing);
  void number_code(const Target& to, size_t begin);
  void put_pieces(const Target& to, const LineShape& shape, const std::vector<Piece>& pieces, bool words,
                  bool first);
  void put_long_line(const Target& to, const LineShape& shape, Piece line, bool words, bool growing);

  MarkdownState state_;           // before line_
  LineShape shape_;               // shape of the open block's first line
  std::vector<BlockLine> block_;  // lines of the open block, a paragraph or table that may go on
  size_t line_ = 0;               // start of the line that may still grow
  size_t scanned_ = 0;            // there is no line end between line_ and this place
  size_t settled_ = 0;
  size_t resume_ = 0;  // where in a very long line the row begins that may still change
  Join resume_join_ = Join::none;
  size_t codes_ = 0;
  std::unique_ptr<CodeColors> colors_;  // of the code block that is open, where its language is known
  // The first lines and the column widths of a table whose later rows are laid out on their own.
  std::string table_head_;
  std::vector<int> table_widths_;
};

}  // namespace bitnet
