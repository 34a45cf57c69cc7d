#include "text_encoder.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/error.h"
#include "utf8.h"

namespace bitnet {
namespace {

constexpr std::string_view kSpaceMark = "\u2581";  // ▁

}  // namespace

void TextEncoder::insert(int32_t id, std::string_view bytes) {
  const int32_t first = ordinary_.insert(bytes, id);
  if (first < 0) return;
  throw Error(ErrorKind::model,
              fmt::format("tokenizer.ggml.tokens[{}]: \"{}\" is there already, as token {}; wanted each once",
                          id, printable(bytes), first));
}

void TextEncoder::fail_without_byte(char byte, const std::string& name_of_token) {
  throw Error(ErrorKind::model,
              fmt::format("tokenizer.ggml.tokens: the text holds the byte 0x{:02X}, for which the vocabulary "
                          "has no token (\"{}\" is missing)",
                          static_cast<unsigned char>(byte), name_of_token));
}

void TextEncoder::spell(std::string_view character, int32_t unknown, std::vector<int32_t>& ids) const {
  const auto missing = std::ranges::find_if(
      character, [&](char byte) { return byte_token_[static_cast<unsigned char>(byte)] < 0; });
  if (missing == character.end()) {
    for (const char byte : character) ids.push_back(byte_token_[static_cast<unsigned char>(byte)]);
    return;
  }
  if (unknown < 0) fail_without_byte(*missing, fmt::format("<0x{:02X}>", static_cast<uint8_t>(*missing)));
  if (ids.empty() || ids.back() != unknown) ids.push_back(unknown);
}

void check_utf8(int32_t id, std::string_view text) {
  for (size_t at = 0; at < text.size();) {
    const Utf8Step step = utf8_step(text.substr(at));
    if (step.kind != Utf8::valid) {
      throw Error(ErrorKind::model, fmt::format("tokenizer.ggml.tokens[{}]: \"{}\" is not UTF-8; wanted text",
                                                id, printable(text)));
    }
    at += step.length;
  }
}

std::string with_spaces(std::string_view text) {
  std::string out;
  out.reserve(text.size() + 1);
  while (true) {
    const size_t mark = text.find(kSpaceMark);
    out += text.substr(0, mark);
    if (mark == std::string_view::npos) return out;
    out += ' ';
    text.remove_prefix(mark + kSpaceMark.size());
  }
}

}  // namespace bitnet
