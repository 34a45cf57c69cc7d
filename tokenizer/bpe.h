// Byte-level BPE, which GGUF files call model "gpt2": the pre-tokenizer cuts text into pieces, and byte-pair
// merging (Sennrich et al. 2016) joins the bytes of each piece in the order of the file's merges.
//
// Thread rule: Bpe, once all merges are added, and ByteBpe as TextEncoder says.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "pre_tokenizer.h"
#include "text_encoder.h"

namespace bitnet {

class Bpe {
 public:
  explicit Bpe(size_t n_merges);

  // Requires: merges come in order of rank, best first. A pair that is added again keeps its first, better
  // rank.
  void add_merge(int32_t left, int32_t right, int32_t merged);

  // Joins `ids` (the byte tokens of one piece) in place, in O(n log n) of their number.
  void merge(std::vector<int32_t>& ids) const;

 private:
  struct Slot {
    uint64_t pair;  // left << 32 | right; kFree = none
    uint32_t rank;
    int32_t merged;
  };
  static constexpr uint64_t kFree = ~uint64_t{0};
  const Slot* find(int32_t left, int32_t right) const;  // null if no merge joins the two

  uint64_t seed_;
  std::vector<Slot> slots_;  // open addressing, a power of two, at most half full
  uint32_t n_merges_ = 0;
};

// A line of tokenizer.ggml.merges, which must outlive this.
struct MergeLine {
  std::string_view left, right;
  std::string_view line;
  size_t index;

  [[noreturn]] void fail_unknown(std::string_view token) const;  // Error(model): `token` is not a token
};
// Throws Error(model) unless `line` is two tokens with a space between.
MergeLine parse_merge(std::string_view line, size_t index);

class ByteBpe final : public TextEncoder {
 public:
  // `pre` is a name that PreTokenizer knows.
  ByteBpe(std::string_view pre, size_t n_tokens, size_t n_merges);

  // A token is spelled in GPT-2's byte alphabet. Some converters write added tokens, such as runs of spaces,
  // in plain text instead; they can be decoded, but no text becomes one.
  void add_token(int32_t id, const std::string& text, std::string& bytes) override;

  // Requires: all tokens are added. Throws Error(model) unless `line` is two tokens that make a third.
  void add_merge(std::string_view line, size_t index);

  void encode(std::string_view text, bool starts, std::vector<int32_t>& ids) const override;

  const PreTokenizer& pre() const { return pre_; }

 private:
  PreTokenizer pre_;
  Bpe bpe_;
  std::string scratch_;  // of add_merge
};

}  // namespace bitnet
