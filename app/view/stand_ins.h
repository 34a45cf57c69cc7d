// What stands in a block for characters that are text, while md4c parses it and would take them for marks.
//
// Thread rule: free functions; safe anywhere.
//
// A character and what stands for it are one byte each, so all places in the text stay. The bytes are in no
// UTF-8, so safe text (text_safe.h) has none of them.
#pragma once

#include <string>
#include <string_view>

namespace bitnet {

// Returns `text` with stand-ins for each asterisk of a product, as in 2*3*4, where CommonMark would set the 3
// in italics. Such an asterisk stands between digits, or it follows a factor at once while no emphasis is
// open that it could close.
std::string with_products_kept(std::string_view text);

// Puts stand-ins for what CommonMark would take out of the text:
//   the bracket that begins the definition of a link, which is not shown otherwise;
//   the backslash and the bracket of \( \) \[ \], which are the marks of a formula;
//   each other backslash inside of a formula, also one between $$ and $$, such as \\ in a row, but not before
//   a bar, a backtick or the end of a line.
// Elsewhere \\ is one backslash, as in CommonMark.
void keep_text(std::string& text);

// Returns `text` with the characters that the stand-ins stand for.
std::string without_stand_ins(std::string_view text);

// The same for the target or the title of a link, where a backslash before a bracket is no text.
std::string without_escapes(std::string_view text);

}  // namespace bitnet
