#include "byte_alphabet.h"

#include <array>
#include <cstddef>
#include <cstdint>

namespace bitnet {
namespace {

constexpr int kCharacters = 0x100 + 68;

struct Alphabet {
  std::array<uint16_t, 256> character{};       // by byte
  std::array<int16_t, kCharacters> byte_of{};  // by character; -1 if it is not in the alphabet
};

constexpr Alphabet make_alphabet() {
  Alphabet a;
  a.byte_of.fill(-1);
  uint16_t next = 0x100;
  for (int b = 0; b < 256; ++b) {
    const bool itself = (b >= 0x21 && b <= 0x7e) || (b >= 0xa1 && b <= 0xac) || b >= 0xae;
    a.character[b] = itself ? static_cast<uint16_t>(b) : next++;
    a.byte_of[a.character[b]] = static_cast<int16_t>(b);
  }
  return a;
}

constexpr Alphabet kAlphabet = make_alphabet();

}  // namespace

bool append_alphabet_bytes(std::string_view text, std::string& out) {
  for (size_t i = 0; i < text.size(); ++i) {
    const unsigned lead = static_cast<unsigned char>(text[i]);
    unsigned character = lead;
    if (lead >= 0x80) {  // the alphabet lies below U+0800, so this is two bytes
      if (lead < 0xc2 || lead > 0xdf || i + 1 == text.size()) return false;
      const unsigned tail = static_cast<unsigned char>(text[++i]);
      if ((tail & 0xc0) != 0x80) return false;
      character = (lead & 0x1f) << 6 | (tail & 0x3f);
    }
    if (character >= kCharacters || kAlphabet.byte_of[character] < 0) return false;
    out += static_cast<char>(kAlphabet.byte_of[character]);
  }
  return true;
}

std::string to_alphabet(std::string_view bytes) {
  std::string text;
  text.reserve(bytes.size() * 2);
  for (const char byte : bytes) {
    const unsigned character = kAlphabet.character[static_cast<unsigned char>(byte)];
    if (character < 0x80) {
      text += static_cast<char>(character);
    } else {
      text += static_cast<char>(0xc0 | character >> 6);
      text += static_cast<char>(0x80 | (character & 0x3f));
    }
  }
  return text;
}

}  // namespace bitnet
