// Makes text from the model, a file or another program harmless for a terminal.
//
// Thread rule: free functions; safe anywhere.
#pragma once

#include <string>
#include <string_view>

namespace bitnet {

// Returns `text` with a visible sign for everything that a terminal would obey or that hides or reorders what
// a person reads: C0 controls other than \n and \t as their pictures (ESC becomes U+241B) and DEL as U+2421;
// C1 controls, the bidirectional overrides, embeddings and isolates, line and paragraph separators, the byte
// order mark and tag characters as <U+XXXX>. Each ill-formed sequence of bytes becomes U+FFFD. Safe text
// comes back unchanged, and for whole characters make_safe(a + b) == make_safe(a) + make_safe(b).
std::string make_safe(std::string_view text);

// Returns `text` without what make_safe shows a sign for: for text that goes on into another program, where
// nobody would see these characters. Ill-formed bytes become U+FFFD here too.
std::string without_controls(std::string_view text);

// As make_safe, with spaces in place of newlines and tabs.
std::string one_line(std::string_view text);

}  // namespace bitnet
