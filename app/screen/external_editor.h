// Lets the person edit a text with their own editor.
//
// Thread rule: runs on the loop's thread and blocks it until the editor ends.
#pragma once

#include <string>
#include <string_view>

namespace bitnet {

struct EditedText {
  std::string text;     // without the newline at its end
  std::string problem;  // of an editor that was killed after it had saved; else empty
};

// Runs $VISUAL, else $EDITOR, else vi on a file that holds `text`. Returns what the file holds afterwards.
// Requires that the terminal has been lent (Terminal::lend). Throws Error(runtime) if the editor cannot be
// run, exits with an error, by which a person says that they do not want the text, or is killed before it has
// saved.
EditedText edit_externally(std::string_view text);

}  // namespace bitnet
