// Parses what stands inside a paragraph, a heading or a table with md4c: emphasis, code, links, entities,
// cells.
//
// Thread rule: free functions; safe anywhere.
//
// md4c gets one block at a time (markdown.h finds them), so the work is bounded by the block that grows. HTML
// is shown as it is written. A line break in the source is one on the screen.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "app/text/text_wrap.h"

namespace bitnet {

// A text of one look. It may differ from the source, as an entity's character or a link's address does.
struct StyledText {
  std::string text;
  Face face;
  size_t source = 0;  // its place in the block's text
};
using StyledLine = std::vector<StyledText>;

enum class Align : uint8_t { left, center, right };

struct StyledBlock {
  std::vector<StyledLine> lines;  // of a paragraph or heading
  // If the block is a table: its rows of cells, the header first.
  std::vector<std::vector<StyledLine>> table;
  std::vector<Align> align;
};

// `text` is one paragraph, heading or table. It must be safe (text_safe.h) and without the marks of the lists
// and quotes around it. With `growing`, marks without a partner count as closed at the end, so that the text
// does not jump when the partner comes.
StyledBlock styled_block(std::string_view text, Face face, bool growing);

// Returns `text` with marks that close the emphasis, code and strikethrough that are open at its end. Marks
// at the very end, which say nothing yet, are removed.
std::string with_marks_closed(std::string_view text);

}  // namespace bitnet
