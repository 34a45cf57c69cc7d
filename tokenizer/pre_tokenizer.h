// Cuts text into pieces (pre-tokens). Merges never join tokens of two pieces.
//
// A pre-tokenizer is a list of patterns. The first pattern cuts the text: every match is a piece, and so is
// every stretch between matches. The next pattern cuts each of these pieces again and sees nothing outside
// the piece. Each byte that is not UTF-8 is a piece of its own, so the pieces always add up to the text.
//
// Thread rule: a PreTokenizer is immutable once constructed; any number of threads may use it.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace bitnet {

class PreTokenizer {
 public:
  // `name` is the value of tokenizer.ggml.pre. Throws Error(model) that lists the known names if it is
  // unknown.
  explicit PreTokenizer(std::string_view name);
  ~PreTokenizer();

  // Returns the pieces in order, as views into `text`. None is empty.
  std::vector<std::string_view> split(std::string_view text) const;

  const std::string& name() const { return name_; }  // the canonical name, such as "llama-bpe" for "llama3"
  bool ignore_merges() const {
    return ignore_merges_;
  }  // whether a piece that is itself a token skips the merges

 private:
  struct Pattern;
  std::string name_;
  bool ignore_merges_ = false;
  std::vector<std::unique_ptr<Pattern>> patterns_;
};

}  // namespace bitnet
