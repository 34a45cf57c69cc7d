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
  // Whether `name`, a value of tokenizer.ggml.pre, has a row in the table.
  static bool knows(std::string_view name);

  // Requires: knows(name).
  explicit PreTokenizer(std::string_view name);
  ~PreTokenizer();

  // Returns the pieces in order, as views into `text`. None is empty.
  std::vector<std::string_view> split(std::string_view text) const;

  const std::string& name() const { return name_; }  // the canonical name, such as "llama-bpe" for "llama3"
  bool ignore_merges() const { return ignore_merges_; }  // whether a piece that is a token skips the merges
  bool add_bos() const { return add_bos_; }  // whether a prompt begins with BOS if the file does not say

 private:
  struct Pattern;
  std::string name_;
  bool ignore_merges_ = false;
  bool add_bos_ = false;
  std::vector<std::unique_ptr<Pattern>> patterns_;
};

}  // namespace bitnet
