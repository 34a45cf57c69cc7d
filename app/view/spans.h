// What stands inside a paragraph, a heading or a table, by md4c: emphasis, code, links, entities, cells.
//
// Thread rule: free functions; safe anywhere.
//
// md4c is given one block at a time (view_markdown.h finds them), so the work stays bounded by the block that
// grows. HTML is shown as it is written. A line break in the source is one on the screen.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "app/text/text_wrap.h"

namespace bitnet {

// Text that is not in the source as it stands, such as a link's address or an entity's character.
struct StyledText {
  std::string text;
  Face face;
  size_t source = 0;  // in the block's text
};
using StyledLine = std::vector<StyledText>;

enum class Align : uint8_t { left, center, right };

struct StyledBlock {
  std::vector<StyledLine> lines;  // of a paragraph or heading
  // Of a table instead: rows of cells, the header first.
  std::vector<std::vector<StyledLine>> table;
  std::vector<Align> align;
};

// `text`: one paragraph, heading or table, safe and without the marks of lists and quotes around it. With
// `growing`, marks without a partner count as closed at the end, so text does not jump when the partner
// comes.
StyledBlock styled_block(std::string_view text, Face face, bool growing);

// `text` with what would close the emphasis, code and strikethrough still open at its end; marks at the very
// end, which say nothing yet, are taken off.
std::string with_marks_closed(std::string_view text);

}  // namespace bitnet
