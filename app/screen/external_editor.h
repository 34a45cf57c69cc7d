// The person's own editor, on a text.
//
// Thread rule: lives on the loop's thread, and holds it until the editor ends.
#pragma once

#include <string>
#include <string_view>

namespace bitnet {

// Runs $VISUAL, else $EDITOR, else vi on a file with `text` and gives back what it then holds, without the
// newline at its end. The terminal must be free (Terminal::lend). Throws Error(runtime) where the editor cannot
// be run or says that it failed.
std::string edit_externally(std::string_view text);

}  // namespace bitnet
