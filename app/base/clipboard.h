// Text to the person's clipboard.
//
// Thread rule: call from one thread; nothing here waits for another program.
#pragma once

#include <string>
#include <string_view>

namespace bitnet {

// xterm's OSC 52 (ctlseqs, "Manipulate Selection Data"): a terminal that allows it takes the text as its
// clipboard, over ssh too. Only base64 is in it, so no byte of the text reaches the terminal as it is.
std::string clipboard_sequence(std::string_view text);

// Hands the text to wl-copy, xclip, xsel or pbcopy, whichever is there and has a display to speak to; the
// name of the one taken, or "" where there is none.
std::string give_to_clipboard_tool(std::string_view text);

}  // namespace bitnet
