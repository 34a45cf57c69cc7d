#include "text_encoder.h"

#include <fmt/format.h>

#include "engine/error.h"
#include "utf8.h"

namespace bitnet {

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

}  // namespace bitnet
