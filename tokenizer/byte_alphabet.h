// GPT-2's byte alphabet writes each of the 256 bytes as one printable character, so that a vocabulary of byte
// strings can be stored as text. The bytes 0x21-0x7E, 0xA1-0xAC and 0xAE-0xFF stand for themselves (as
// Latin-1); the other 68 are U+0100 onwards, in order. A space is therefore U+0120.
//
// Thread rule: these are pure functions.
#pragma once

#include <string>
#include <string_view>

namespace bitnet {

// Appends the bytes that `text` spells. Returns false if a character is not in the alphabet or not UTF-8;
// `out` then holds what came before it.
bool append_alphabet_bytes(std::string_view text, std::string& out);

// Spells `bytes` in the alphabet, as UTF-8.
std::string to_alphabet(std::string_view bytes);

}  // namespace bitnet
