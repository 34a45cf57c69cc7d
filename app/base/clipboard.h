// Copies text to the person's clipboard, byte for byte: text of a model goes through without_controls before
// (app/text/text_safe.h).
//
// Thread rule: call from one thread. Nothing here waits for another program.
#pragma once

#include <string>
#include <string_view>

namespace bitnet {

// xterm's OSC 52 (ctlseqs, "Manipulate Selection Data"): a terminal that allows it puts the text into its
// clipboard, over ssh too. The sequence has the text in base64, so no byte of it reaches the terminal as it
// is.
std::string clipboard_sequence(std::string_view text);

// Gives the text to wl-copy, xclip, xsel or pbcopy, whichever is installed and has a display. Returns its
// name, or "" if there is none.
std::string give_to_clipboard_tool(std::string_view text);

}  // namespace bitnet
