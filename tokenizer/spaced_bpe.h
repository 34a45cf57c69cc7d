// Gemma 4's BPE, which GGUF files call model "gemma4": the characters of a text, whose spaces are ▁ as with
// SentencePiece, are joined in the order of the file's merges (Sennrich et al. 2016). Text is cut only
// between line ends and the rest; line ends that are a token together are that token. A character that no
// token has becomes the tokens of its bytes, <0x00> to <0xFF>.
//
// Thread rule: as TextEncoder says.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "bpe.h"
#include "special_tokens.h"
#include "text_encoder.h"

namespace bitnet {

class SpacedBpe final : public TextEncoder {
 public:
  // `unknown`: the token for a character that has neither token nor bytes; -1 if there is none.
  SpacedBpe(size_t n_tokens, size_t n_merges, int32_t unknown);

  void add_token(int32_t id, const std::string& text, std::string& bytes) override;

  // Requires: all tokens are added. A merge of or to a special token is left out: these are recognised by
  // their whole text only. Throws Error(model) unless `line` is two tokens that make a third.
  void add_merge(std::string_view line, size_t index, const SpecialTokens& special);

  void encode(std::string_view text, bool starts, std::vector<int32_t>& ids) const override;

 private:
  void encode_piece(std::string_view piece, std::vector<int32_t>& ids) const;

  Bpe bpe_;
  int32_t unknown_;
};

}  // namespace bitnet
