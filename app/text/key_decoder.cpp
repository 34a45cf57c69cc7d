#include "key_decoder.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <utility>

#include "text_width.h"

namespace bitnet {
namespace {

constexpr std::string_view kPasteBegin = "\x1b[200~";
constexpr std::string_view kPasteEnd = "\x1b[201~";
constexpr std::string_view kMouseBegin = "\x1b[<";

struct NamedKey {
  std::string_view name;
  std::string_view bytes;
};
// The first row of a name has the usual sequence.
constexpr NamedKey kKeys[] = {
    {"Enter", "\r"},
    {"Esc", "\x1b"},
    {"Escape", "\x1b"},
    {"Tab", "\t"},
    {"Space", " "},
    {"Backspace", "\x7f"},
    {"Insert", "\x1b[2~"},
    {"Delete", "\x1b[3~"},
    {"Up", "\x1b[A"},
    {"Up", "\x1bOA"},
    {"Down", "\x1b[B"},
    {"Down", "\x1bOB"},
    {"Right", "\x1b[C"},
    {"Right", "\x1bOC"},
    {"Left", "\x1b[D"},
    {"Left", "\x1bOD"},
    {"Home", "\x1b[H"},
    {"Home", "\x1bOH"},
    {"Home", "\x1b[1~"},
    {"End", "\x1b[F"},
    {"End", "\x1bOF"},
    {"End", "\x1b[4~"},
    {"PgUp", "\x1b[5~"},
    {"PgDn", "\x1b[6~"},
    {"F1", "\x1bOP"},
    {"F1", "\x1b[11~"},
    {"F1", "\x1b[[A"},
    {"F1", "\x1b[P"},
    {"F2", "\x1bOQ"},
    {"F2", "\x1b[12~"},
    {"F2", "\x1b[[B"},
    {"F3", "\x1bOR"},
    {"F3", "\x1b[13~"},
    {"F3", "\x1b[[C"},
    {"F4", "\x1bOS"},
    {"F4", "\x1b[14~"},
    {"F4", "\x1b[[D"},
    {"F5", "\x1b[15~"},
    {"F5", "\x1b[[E"},
    {"F6", "\x1b[17~"},
    {"F7", "\x1b[18~"},
    {"F8", "\x1b[19~"},
    {"F9", "\x1b[20~"},
    {"F10", "\x1b[21~"},
    {"F11", "\x1b[23~"},
    {"F12", "\x1b[24~"},
    {"C-Home", "\x1b[1;5H"},
    {"C-End", "\x1b[1;5F"},
    {"C-Up", "\x1b[1;5A"},
    {"C-Down", "\x1b[1;5B"},
    {"C-Right", "\x1b[1;5C"},
    {"C-Left", "\x1b[1;5D"},
    {"M-Enter", "\x1b\r"},
    {"M-Enter", "\x1b\n"},
    {"M-Enter", "\x1b[13;3u"},
    {"M-Enter", "\x1b[27;3;13~"},
    {"S-Enter", "\x1b[13;2u"},
    {"S-Enter", "\x1b[27;2;13~"},
};

// Of UTF-8, by its first byte; 1 where that begins none.
size_t bytes_of_character(char first) {
  const auto byte = static_cast<unsigned char>(first);
  return byte >= 0xF0 && byte < 0xF8   ? 4
         : byte >= 0xE0 && byte < 0xF0 ? 3
         : byte >= 0xC0 && byte < 0xE0 ? 2
                                       : 1;
}

// Whether these bytes are what a terminal has to say of itself, such as its colours, or begin that: an OSC
// with its number, or a DCS. Two bytes alone are a key that was pressed with Alt.
bool is_reply(std::string_view s) {
  if (s.size() < 3 || s[0] != '\x1b') return false;
  const bool digit = s[2] >= '0' && s[2] <= '9';
  return (s[1] == ']' && digit) || (s[1] == 'P' && (digit || s[2] == '>' || s[2] == '!'));
}

// Returns the length of the reply at the front with its end, or 0 while it is not whole.
size_t reply_length(std::string_view s) {
  constexpr size_t kLongestReply = 4096;
  for (size_t i = 2; i < s.size(); ++i) {
    if (s[i] == '\x07') return i + 1;
    if (s[i] == '\x1b' && i + 1 == s.size()) return 0;
    if (s[i] == '\x1b' && s[i + 1] == '\\') return i + 2;
    if (static_cast<unsigned char>(s[i]) < 0x20) return i;  // something else cuts it off
  }
  return s.size() < kLongestReply ? 0 : s.size();
}

// Returns the length of the escape sequence at the front, or 0 while it is not whole.
size_t sequence_length(std::string_view s) {
  if (s.size() < 2) return 0;
  if (is_reply(s)) return reply_length(s);
  if (s[1] == 'O') return s.size() < 3 ? 0 : 3;
  if (s[1] == '\x1b') return 1;
  if (const size_t alt = 1 + bytes_of_character(s[1]); alt > 2) return s.size() < alt ? 0 : alt;
  if (s[1] != '[') return 2;
  if (s.size() > 2 && s[2] == '[') return s.size() < 4 ? 0 : 4;
  for (size_t i = 2; i < s.size(); ++i) {
    if (s[i] >= 0x40 && s[i] <= 0x7E) return i + 1;
    if (s[i] < 0x20) return i;  // something else cuts it off
  }
  return s.size() < 64 ? 0 : s.size();
}

}  // namespace

namespace {

// Whether these bytes, read at a time, are text of several characters and no control.
bool is_plain_text(std::string_view bytes) {
  const auto is_control = [](unsigned char c) { return c < 0x20 || c == 0x7F; };
  return first_cluster(bytes).bytes < bytes.size() && std::none_of(bytes.begin(), bytes.end(), is_control);
}

// Whether these bytes, read at a time, may be keys behind a paste whose end has not come: one alone, or keys
// that are sequences.
bool may_be_keys(std::string_view bytes) {
  if (first_cluster(bytes).bytes == bytes.size()) return true;
  while (!bytes.empty()) {
    const size_t length = bytes[0] == '\x1b' ? sequence_length(bytes) : 0;
    if (length == 0 || bytes.starts_with(kPasteEnd)) return false;
    if (bytes.starts_with(kPasteBegin)) return true;
    bytes.remove_prefix(length);
  }
  return true;
}

}  // namespace

void KeyDecoder::feed(std::string_view bytes) {
  // Plain text is inserted all the same, whether it was typed or is of the paste, and does not tell which.
  if (paste_goes_on_ && buffer_.empty() && !is_plain_text(bytes)) {
    if (may_be_keys(bytes))
      paste_goes_on_ = false;
    else
      buffer_ = kPasteBegin;
  }
  buffer_ += bytes;
}

bool KeyDecoder::in_paste() const { return buffer_.starts_with(kPasteBegin); }

KeyPress KeyDecoder::take(size_t length) {
  KeyPress press{Key::text, buffer_.substr(0, length)};
  buffer_.erase(0, length);
  if (const Keymap::Binding* binding = keymap_.find(press.bytes)) {
    press.key = binding->key;
    if (!binding->bytes.empty()) press.bytes = binding->bytes;
  } else if (press.bytes == "\x1b") {
    press.key = Key::escape;
  } else if (press.bytes.starts_with(kMouseBegin)) {
    read_mouse(press);
  } else if (is_reply(press.bytes)) {
    press.key = Key::none;
  } else if (press.bytes.size() > 1 && static_cast<unsigned char>(press.bytes[1]) >= 0x80) {
    press.bytes.clear();  // readline has no such key, and would take it apart
  }
  return press;
}

// Reads "\x1b[<BUTTON;COLUMN;ROWM", which ends in m where the button is let go. A click goes down and up in
// the same place; whoever draws the mouse along wants to select, or has changed their mind.
void KeyDecoder::read_mouse(KeyPress& press) {
  constexpr int kLeft = 0, kWheelUp = 64, kWheelDown = 65;
  constexpr int kModifiers = 4 | 8 | 16;
  int numbers[3] = {};
  const char* at = press.bytes.data() + kMouseBegin.size();
  const char* const end = press.bytes.data() + press.bytes.size();
  press.key = Key::mouse;
  for (int& number : numbers) {
    const auto [next, error] = std::from_chars(at, end, number);
    if (error != std::errc() || next == end) return;
    at = next + 1;
  }
  const auto [code, column, row] = numbers;
  const bool goes_down = press.bytes.back() == 'M';
  const int button = code & ~kModifiers;
  if (goes_down && (button == kWheelUp || button == kWheelDown))
    press.key = button == kWheelUp ? Key::wheel_up : Key::wheel_down;
  if (button != kLeft) return;
  press.column = column - 1;
  press.row = row - 1;
  const std::pair place(press.column, press.row);
  if (!goes_down && place == button_down_) press.key = Key::click;
  button_down_ = goes_down ? place : std::pair(-1, -1);
}

std::optional<KeyPress> KeyDecoder::next() {
  // The end of a paste that was given up is no key.
  while (buffer_.starts_with(kPasteEnd)) buffer_.erase(0, kPasteEnd.size());
  if (buffer_.empty()) return std::nullopt;
  if (in_paste()) {
    const size_t from = std::max(kPasteBegin.size(), paste_scanned_);
    const size_t end = buffer_.find(kPasteEnd, from);
    if (end == std::string::npos) {
      paste_scanned_ = buffer_.size() - std::min(buffer_.size(), kPasteEnd.size());
      return std::nullopt;
    }
    KeyPress press{Key::paste, buffer_.substr(kPasteBegin.size(), end - kPasteBegin.size())};
    buffer_.erase(0, end + kPasteEnd.size());
    paste_scanned_ = 0;
    paste_goes_on_ = false;
    return press;
  }
  const auto is_bound = [&](size_t at) {
    return keymap_.find(std::string_view(buffer_).substr(at, 1)) != nullptr;
  };
  if (buffer_[0] == '\x1b') {
    const size_t length = sequence_length(buffer_);
    if (length == 0) return std::nullopt;
    return take(length);
  }
  if (is_bound(0)) return take(1);
  size_t end = 1;
  while (end < buffer_.size() && buffer_[end] != '\x1b' && !is_bound(end)) ++end;
  KeyPress press{Key::text, buffer_.substr(0, end)};
  buffer_.erase(0, end);
  return press;
}

std::optional<KeyPress> KeyDecoder::give_up_waiting() {
  if (buffer_.empty()) return std::nullopt;
  if (buffer_.size() == 1) return take(1);
  const Key key = in_paste() ? Key::paste : is_reply(buffer_) ? Key::none : Key::text;
  KeyPress press{key, std::move(buffer_)};
  if (press.key == Key::paste) press.bytes.erase(0, kPasteBegin.size());
  paste_goes_on_ = press.key == Key::paste;
  buffer_.clear();
  paste_scanned_ = 0;
  return press;
}

std::vector<std::string> sequences_of_key(std::string_view name) {
  std::vector<std::string> found;
  for (const NamedKey& key : kKeys) {
    if (key.name == name) found.emplace_back(key.bytes);
  }
  if (!found.empty()) return found;
  if (name.starts_with("M-") && name.size() > 2) {
    for (const std::string& key : sequences_of_key(name.substr(2))) found.push_back("\x1b" + key);
    return found;
  }
  if (name.starts_with("C-") && name.size() == 3) {
    const int c = std::toupper(static_cast<unsigned char>(name[2]));
    if (c >= '@' && c <= '_') found.emplace_back(1, static_cast<char>(c & 0x1F));
    return found;
  }
  if (!name.empty() && first_cluster(name).bytes == name.size()) found.emplace_back(name);
  return found;
}

std::string bytes_of_key(std::string_view name) {
  const std::vector<std::string> found = sequences_of_key(name);
  return found.empty() ? std::string() : found.front();
}

}  // namespace bitnet
