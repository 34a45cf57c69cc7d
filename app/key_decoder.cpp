#include "key_decoder.h"

#include <array>
#include <cctype>
#include <utility>

#include "text_width.h"

namespace bitnet {
namespace {

constexpr std::string_view kPasteBegin = "\x1b[200~";
constexpr std::string_view kPasteEnd = "\x1b[201~";

struct NamedSequence {
  std::string_view bytes;
  Key key;
};
constexpr std::array kSequences = {
    NamedSequence{"\x1b[5~", Key::page_up},
    NamedSequence{"\x1b[6~", Key::page_down},
    NamedSequence{"\x1b[1;5H", Key::to_start},
    NamedSequence{"\x1b[1;5F", Key::to_end},
    NamedSequence{"\x1b[1;5A", Key::line_up},
    NamedSequence{"\x1b[1;5B", Key::line_down},
    NamedSequence{"\x1b[A", Key::up},
    NamedSequence{"\x1bOA", Key::up},
    NamedSequence{"\x1b[B", Key::down},
    NamedSequence{"\x1bOB", Key::down},
    NamedSequence{"\x1bOP", Key::help},
    NamedSequence{"\x1b[11~", Key::help},
    NamedSequence{"\x1b[[A", Key::help},
    NamedSequence{"\x1b[P", Key::help},
    NamedSequence{"\x1b\r", Key::newline},
    NamedSequence{"\x1b\n", Key::newline},
    NamedSequence{"\x1b[13;2u", Key::newline},
    NamedSequence{"\x1b[13;3u", Key::newline},
    NamedSequence{"\x1b[27;2;13~", Key::newline},
    NamedSequence{"\x1b[27;3;13~", Key::newline},
};

struct NamedKey {
  std::string_view name;
  std::string_view bytes;
};
constexpr std::array kKeys = {
    NamedKey{"Enter", "\r"},       NamedKey{"Esc", "\x1b"},         NamedKey{"Escape", "\x1b"},
    NamedKey{"Tab", "\t"},         NamedKey{"Space", " "},          NamedKey{"Backspace", "\x7f"},
    NamedKey{"Delete", "\x1b[3~"}, NamedKey{"Up", "\x1b[A"},        NamedKey{"Down", "\x1b[B"},
    NamedKey{"Right", "\x1b[C"},   NamedKey{"Left", "\x1b[D"},      NamedKey{"Home", "\x1b[H"},
    NamedKey{"End", "\x1b[F"},     NamedKey{"PgUp", "\x1b[5~"},     NamedKey{"PgDn", "\x1b[6~"},
    NamedKey{"F1", "\x1bOP"},      NamedKey{"C-Home", "\x1b[1;5H"}, NamedKey{"C-End", "\x1b[1;5F"},
    NamedKey{"C-Up", "\x1b[1;5A"}, NamedKey{"C-Down", "\x1b[1;5B"},
};

// Bytes of the escape sequence at the front, 0 while it is not whole.
size_t sequence_length(std::string_view s) {
  if (s.size() < 2) return 0;
  if (s[1] == 'O') return s.size() < 3 ? 0 : 3;
  if (s[1] != '[') return s[1] == '\x1b' ? 1 : 2;
  if (s.size() > 2 && s[2] == '[') return s.size() < 4 ? 0 : 4;
  for (size_t i = 2; i < s.size(); ++i) {
    if (s[i] >= 0x40 && s[i] <= 0x7E) return i + 1;
    if (s[i] < 0x20) return i;  // cut off by something else
  }
  return s.size() < 64 ? 0 : s.size();
}

std::optional<Key> control_key(char c) {
  switch (c) {
    case '\r':
      return Key::enter;
    case '\n':
      return Key::newline;
    case 0x03:
      return Key::interrupt;
    case 0x04:
      return Key::eof;
    case 0x0C:
      return Key::redraw;
    case 0x1A:
      return Key::suspend;
    default:
      return std::nullopt;
  }
}

}  // namespace

bool KeyDecoder::in_paste() const { return buffer_.starts_with(kPasteBegin); }

KeyPress KeyDecoder::take(size_t length, Key key) {
  KeyPress press{key, buffer_.substr(0, length)};
  buffer_.erase(0, length);
  return press;
}

std::optional<KeyPress> KeyDecoder::next() {
  if (buffer_.empty()) return std::nullopt;
  if (in_paste()) {
    const size_t end = buffer_.find(kPasteEnd, kPasteBegin.size());
    if (end == std::string::npos) return std::nullopt;
    KeyPress press{Key::paste, buffer_.substr(kPasteBegin.size(), end - kPasteBegin.size())};
    buffer_.erase(0, end + kPasteEnd.size());
    return press;
  }
  if (const auto control = control_key(buffer_[0])) return take(1, *control);
  if (buffer_[0] == '\x1b') {
    const size_t length = sequence_length(buffer_);
    if (length == 0) return std::nullopt;
    if (length == 1) return take(1, Key::escape);
    const std::string_view sequence = std::string_view(buffer_).substr(0, length);
    for (const NamedSequence& named : kSequences) {
      if (named.bytes == sequence) return take(length, named.key);
    }
    return take(length, Key::text);
  }
  size_t end = 1;
  while (end < buffer_.size() && buffer_[end] != '\x1b' && !control_key(buffer_[end])) ++end;
  return take(end, Key::text);
}

std::optional<KeyPress> KeyDecoder::give_up_waiting() {
  if (buffer_.empty() || in_paste()) return std::nullopt;
  return buffer_.size() == 1 ? take(1, Key::escape) : take(buffer_.size(), Key::text);
}

std::string bytes_of_key(std::string_view name) {
  if (name.starts_with("M-") && name.size() > 2) {
    const std::string key = bytes_of_key(name.substr(2));
    return key.empty() ? key : "\x1b" + key;
  }
  for (const NamedKey& key : kKeys) {
    if (key.name == name) return std::string(key.bytes);
  }
  if (name.starts_with("C-") && name.size() == 3) {
    const int c = std::toupper(static_cast<unsigned char>(name[2]));
    if (c >= '@' && c <= '_') return std::string(1, static_cast<char>(c & 0x1F));
    return {};
  }
  if (!name.empty() && first_cluster(name).bytes == name.size()) return std::string(name);
  return {};
}

}  // namespace bitnet
