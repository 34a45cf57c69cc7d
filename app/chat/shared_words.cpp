#include "shared_words.h"

#include <algorithm>
#include <cstdint>
#include <set>
#include <string>

namespace bitnet {
namespace {

constexpr size_t kStem = 6;  // characters

constexpr std::string_view kCommon =
    "a an the and or but if so as of to in on at by for from with into about than then that this these those "
    "there here "
    "it its is are was were be been being am do does did done has have had can could will would shall should "
    "may might "
    "must not no yes i me my you your he she him her his we us our they them their who whom whose what which "
    "when where "
    "why how all any some one also just only very more most other such up out over";

uint32_t code_point(std::string_view bytes) {
  const auto first = static_cast<uint8_t>(bytes[0]);
  if (bytes.size() == 1) return first;
  uint32_t point = first & (0x7FU >> bytes.size());
  for (const char c : bytes.substr(1)) point = point << 6 | (static_cast<uint8_t>(c) & 0x3FU);
  return point;
}

// Bytes of the character that begins here. For text that is no UTF-8 any number does.
size_t length_at(std::string_view text) {
  const auto first = static_cast<uint8_t>(text[0]);
  const size_t length = first < 0xC0 ? 1 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
  return std::min(length, text.size());
}

bool in_word(uint32_t c) {
  if (c < 0x80) return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z');
  const bool sign = c < 0xC0 || (c >= 0x2000 && c < 0x2C00) || (c >= 0x3000 && c < 0x3040) ||
                    (c >= 0xFF00 && c < 0xFF10) || c >= 0x1F000;
  return !sign || c == 0xAA || c == 0xB5 || c == 0xBA;
}

// True from the CJK radicals on, and in the alphabets of South East Asia that leave no spaces.
bool stands_alone(uint32_t c) {
  return c >= 0x2E80 || (c >= 0xE00 && c < 0xF00) || (c >= 0x1000 && c < 0x10A0) ||
         (c >= 0x1780 && c < 0x1800);
}

std::set<std::string> set_of_words(std::string_view text) {
  std::set<std::string> words;
  std::string word;
  size_t length = 0;  // of `word`
  const auto end_word = [&] {
    if (!word.empty()) words.insert(std::move(word));
    word.clear();
    length = 0;
  };
  while (!text.empty()) {
    std::string character(text.substr(0, length_at(text)));
    text.remove_prefix(character.size());
    if (character[0] >= 'A' && character[0] <= 'Z') character[0] = static_cast<char>(character[0] + 32);
    const uint32_t point = code_point(character);
    if (!in_word(point)) {
      end_word();
    } else if (stands_alone(point)) {
      end_word();
      words.insert(std::move(character));
    } else if (++length <= kStem) {
      word += character;
    }
  }
  end_word();
  return words;
}

}  // namespace

SharedWords shared_words(std::string_view text, std::string_view source, std::string_view ignored) {
  static const std::set<std::string> common = set_of_words(kCommon);
  const std::set<std::string> there = set_of_words(source), left_out = set_of_words(ignored);
  SharedWords result;
  for (const std::string& word : set_of_words(text)) {
    if (common.contains(word) || left_out.contains(word)) continue;
    ++result.of;
    result.shared += there.contains(word) ? 1 : 0;
  }
  return result;
}

}  // namespace bitnet
