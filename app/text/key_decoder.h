// Turns the bytes from a terminal or a script into keys.
//
// Thread rule: a value; no sharing between threads.
//
// A key that the keymap (keymap.h) binds gets its name. Everything else stays bytes for the line editor, one
// whole escape sequence at a time. The sequences are those of ECMA-48, xterm's ctlseqs (mouse mode 1006
// included) and the Linux console's F1. A string with which a terminal replies (OSC, DCS) is Key::none.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "keymap.h"

namespace bitnet {

struct KeyPress {
  Key key;
  std::string bytes;
  int column = 0;  // of a click, from 0
  int row = 0;
};

class KeyDecoder {
 public:
  explicit KeyDecoder(Keymap keymap = {}) : keymap_(std::move(keymap)) {}
  const Keymap& keymap() const { return keymap_; }
  void feed(std::string_view bytes);  // as they were read at a time; not empty
  std::optional<KeyPress> next();

  // Bytes that may begin an escape sequence are held back. If nothing follows them soon, they are keys of
  // their own, and give_up_waiting() returns them. So is a paste up to its end, which may never come; what
  // comes behind is of that paste too, until its end, or a key alone, which a person presses: a line that
  // stalled must not type what was to be pasted.
  bool waiting() const { return !buffer_.empty(); }
  bool in_paste() const;
  std::optional<KeyPress> give_up_waiting();

 private:
  KeyPress take(size_t length);
  void read_mouse(KeyPress& press);

  Keymap keymap_;
  std::string buffer_;
  bool paste_goes_on_ = false;                  // give_up_waiting() gave a paste whose end has not come
  size_t paste_scanned_ = 0;                    // so many bytes of buffer_ hold no end of the paste
  std::pair<int, int> button_down_ = {-1, -1};  // where the left button went down: column, row
};

// Returns what a terminal sends for the key: Enter, Esc, Tab, Space, Backspace, Delete, Insert, Up, Down,
// Left, Right, Home, End, PgUp, PgDn, F1 to F12, a character, C-x (Ctrl) or M-x (Alt, before any of these),
// S-Enter, and arrows, Home and End with C-. Returns nothing for a name that is no key.
std::string bytes_of_key(std::string_view name);
// Returns everything that terminals send for the key, the usual sequence first.
std::vector<std::string> sequences_of_key(std::string_view name);

}  // namespace bitnet
