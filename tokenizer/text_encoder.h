// What all kinds of vocabulary have in common: text that holds no special token becomes ids.
//
// Thread rule: once all tokens are added, any number of threads may call encode().
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "token_table.h"

namespace bitnet {

class TextEncoder {
 public:
  explicit TextEncoder(size_t n_tokens) : ordinary_(n_tokens) { byte_token_.fill(-1); }
  virtual ~TextEncoder() = default;
  TextEncoder(const TextEncoder&) = delete;
  TextEncoder& operator=(const TextEncoder&) = delete;

  // Adds a token that is neither special nor a byte's. `bytes`, which must stay where it is, becomes what the
  // token stands for. Throws Error(model) if the token is not UTF-8 or is there already.
  virtual void add_token(int32_t id, const std::string& text, std::string& bytes) = 0;

  // Adds a token that stands for one byte; the first one for a byte is used.
  void add_byte(int32_t id, char byte) {
    int32_t& known = byte_token_[static_cast<unsigned char>(byte)];
    if (known < 0) known = id;
  }

  // Appends the ids of `text`. `starts` says that a text begins here, and not in the middle of one.
  // Throws Error(model) if the vocabulary has no token for a part of it.
  virtual void encode(std::string_view text, bool starts, std::vector<int32_t>& ids) const = 0;

 protected:
  // Puts an ordinary token into the table. Throws Error(model) if another one has the same bytes.
  void insert(int32_t id, std::string_view bytes);
  // Appends the tokens <0x00> to <0xFF> of the bytes of one character; if one is missing, `unknown`, once for
  // a run of such characters. Throws Error(model) if there is no unknown token (-1) either.
  void spell(std::string_view character, int32_t unknown, std::vector<int32_t>& ids) const;
  [[noreturn]] static void fail_without_byte(char byte, const std::string& name_of_token);

  TokenTable ordinary_;                  // by bytes; what text can become
  std::array<int32_t, 256> byte_token_;  // -1 if there is none
};

// Throws Error(model) if the text of a token is not UTF-8.
void check_utf8(int32_t id, std::string_view text);

// Writes ▁ (U+2581) as a space. SentencePiece and its heirs write a space as ▁; we keep spaces as they are,
// so that the tables hold " the" for the token "▁the", and a ▁ in a text is a space.
std::string with_spaces(std::string_view text);

}  // namespace bitnet
