// Bytes from a terminal (or a script) as keys.
//
// Thread rule: a value; no sharing between threads.
//
// What a keymap (keymap.h) binds is named; everything else stays bytes for the line editor, a whole escape
// sequence at a time. Sequences: ECMA-48, xterm's ctlseqs, the Linux console's F1.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "keymap.h"

namespace bitnet {

struct KeyPress {
  Key key;
  std::string bytes;
};

class KeyDecoder {
 public:
  explicit KeyDecoder(Keymap keymap = {}) : keymap_(std::move(keymap)) {}
  const Keymap& keymap() const { return keymap_; }
  void feed(std::string_view bytes) { buffer_ += bytes; }
  std::optional<KeyPress> next();

  // Bytes are held back that may be the beginning of an escape sequence: when nothing follows soon, they
  // are keys of their own.
  bool waiting() const { return !buffer_.empty() && !in_paste(); }
  std::optional<KeyPress> give_up_waiting();

 private:
  bool in_paste() const;
  KeyPress take(size_t length);

  Keymap keymap_;
  std::string buffer_;
  size_t paste_scanned_ = 0;  // of buffer_, where no end of the paste is
};

// What a terminal sends for the key: Enter, Esc, Tab, Space, Backspace, Delete, Insert, Up, Down, Left,
// Right, Home, End, PgUp, PgDn, F1 to F12, a character, C-x (Ctrl) or M-x (Alt, before any of these),
// S-Enter, and arrows, Home and End with C-. Empty for a name that is no key.
std::string bytes_of_key(std::string_view name);
// All that different terminals send for it, the usual one first.
std::vector<std::string> sequences_of_key(std::string_view name);

}  // namespace bitnet
