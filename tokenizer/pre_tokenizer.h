// Cuts text into the pieces (pre-tokens) inside which merges happen.
//
// A pre-tokenizer is a list of patterns. The first cuts the text: every match is a piece and so is every
// stretch between matches; the next cuts each of these pieces again, seeing nothing outside it. Bytes
// that are not UTF-8 are pieces of their own, so that the pieces always add up to the text.
//
// Thread rule: immutable once constructed; any number of threads.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace bitnet {

class PreTokenizer {
 public:
  // `name` as tokenizer.ggml.pre has it. An unknown one throws Error(model) that lists the known ones.
  explicit PreTokenizer(std::string_view name);
  ~PreTokenizer();

  // The pieces in order, as views into `text`; none is empty.
  std::vector<std::string_view> split(std::string_view text) const;

  const std::string& name() const { return name_; }      // the canonical one, e.g. "llama-bpe" for "llama3"
  bool ignore_merges() const { return ignore_merges_; }  // a piece that is itself a token is taken whole

 private:
  struct Pattern;
  std::string name_;
  bool ignore_merges_ = false;
  std::vector<std::unique_ptr<Pattern>> patterns_;
};

}  // namespace bitnet
