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

// Returns `text` with stand-ins for what CommonMark would take out of it or would take for marks:
//   the backslash and the bracket of \( \) \[ \], which are the marks of a formula;
//   each *, _, ~ and backslash inside of a formula, such as \\ in a row, but no backslash before a bar, a
//   backtick or the end of a line;
//   the bracket that begins the definition of a link, which is not shown otherwise;
//   each asterisk of a product, as in 2*3*4, where the 3 would be in italics. Such an asterisk stands between
//   digits, or it follows a factor at once while no emphasis is open that it could close.
// Elsewhere \\ is one backslash, as in CommonMark.
//
// $$ are the marks of a formula too, and so are two $ with no blank inside of them and no letter or digit
// around them. A formula without an end goes on to the end of the text. Unless the text is `growing`, only
// its backslashes are kept then.
std::string with_text_kept(std::string_view text, bool growing);

// Returns `text` with the characters that the stand-ins stand for.
std::string without_stand_ins(std::string_view text);

// The same for the target or the title of a link, where a backslash before a bracket is no text.
std::string without_escapes(std::string_view text);

}  // namespace bitnet
