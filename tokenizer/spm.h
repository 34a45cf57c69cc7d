// SentencePiece's BPE, which GGUF files call model "llama": text is not cut into pieces first. Its characters
// are joined wherever two neighbours make a token, the token of the highest score first, the leftmost among
// equals. A character that no token has becomes the tokens of its bytes, <0x00> to <0xFF>.
//
// SentencePiece writes a space as ▁ (with_spaces tells what we do about that) and puts one before every text.
//
// Thread rule: as TextEncoder says.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "text_encoder.h"

namespace bitnet {

class Spm final : public TextEncoder {
 public:
  // `scores`: one for each token, all finite. `space_prefix`: whether a text begins with a space that nobody
  // wrote. `unknown`: the token for a character that has neither token nor bytes; -1 if there is none.
  Spm(std::vector<float> scores, bool space_prefix, int32_t unknown);

  void add_token(int32_t id, const std::string& text, std::string& bytes) override;
  void encode(std::string_view text, bool starts, std::vector<int32_t>& ids) const override;

  bool space_prefix() const { return space_prefix_; }

 private:
  struct Range {
    uint32_t begin, size;
    bool operator==(const Range&) const = default;
  };
  void encode_stretch(std::string_view text, std::vector<Range>& symbols, std::vector<int32_t>& ids) const;

  std::vector<float> scores_;
  bool space_prefix_;
  int32_t unknown_;
  size_t longest_ = 0;         // bytes of the longest token that text can become
  bool space_inside_ = false;  // whether some token has a space after something else
};

}  // namespace bitnet
