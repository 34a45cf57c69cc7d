// Bytes from a terminal (or a script) as keys.
//
// Thread rule: a value; no sharing between threads.
//
// Only the keys that the screen acts on itself are named; everything else stays bytes for the line editor, a
// whole escape sequence at a time. Sequences: ECMA-48, xterm's ctlseqs, the Linux console's F1.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace bitnet {

enum class Key {
  text,       // for the line editor
  enter,      // ^M
  newline,    // ^J, Alt-Enter, Shift-Enter where the terminal tells
  escape,     // Esc alone
  interrupt,  // ^C
  eof,        // ^D
  redraw,     // ^L
  suspend,    // ^Z
  page_up,
  page_down,
  to_start,   // ^Home
  to_end,     // ^End
  line_up,    // ^Up
  line_down,  // ^Down
  up,
  down,
  help,   // F1
  paste,  // bracketed; bytes is what was pasted
};

struct KeyPress {
  Key key;
  std::string bytes;
};

class KeyDecoder {
 public:
  void feed(std::string_view bytes) { buffer_ += bytes; }
  std::optional<KeyPress> next();

  // Bytes are held back that may be the beginning of an escape sequence: when nothing follows soon, they
  // are keys of their own.
  bool waiting() const { return !buffer_.empty() && !in_paste(); }
  std::optional<KeyPress> give_up_waiting();

 private:
  bool in_paste() const;
  KeyPress take(size_t length, Key key);

  std::string buffer_;
};

// What a terminal sends for the key: Enter, Esc, Tab, Space, Backspace, Delete, Up, Down, Left, Right, Home,
// End, PgUp, PgDn, F1, a character, C-x (Ctrl) or M-x (Alt, before any of these). Empty for a name that is no
// key.
std::string bytes_of_key(std::string_view name);

}  // namespace bitnet
