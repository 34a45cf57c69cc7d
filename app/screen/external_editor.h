// Lets the person edit a text with their own editor.
//
// Thread rule: runs on the loop's thread and blocks it until the editor ends.
#pragma once

#include <string>
#include <string_view>

namespace bitnet {

// Runs $VISUAL, else $EDITOR, else vi on a file that holds `text`. Returns what the file holds afterwards,
// without the newline at its end. Requires that the terminal has been lent (Terminal::lend). Throws
// Error(runtime) if the editor cannot be run or exits with an error.
std::string edit_externally(std::string_view text);

}  // namespace bitnet
