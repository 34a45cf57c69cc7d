// The tokens that are recognised by their whole text and never made by merges: control tokens, the unknown
// token, and those that the makers of a vocabulary defined.
//
// Thread rule: once all tokens are added, any number of threads may read it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "token_table.h"

namespace bitnet {

class SpecialTokens {
 public:
  explicit SpecialTokens(size_t n_expected) : by_text_(n_expected) {}

  // `text` must stay where it is. With `anywhere` the token is recognised in any text, otherwise only in text
  // that is trusted. Throws Error(model) if the text is there already.
  void add(int32_t id, std::string_view text, bool anywhere);

  int32_t find(std::string_view text) const { return by_text_.find(text); }  // -1 if there is none

  // Returns the longest token that begins at `at` and ends by `trusted_end`, or anywhere if it may; -1 if
  // there is none.
  int32_t at(std::string_view text, size_t at, size_t trusted_end) const;

 private:
  TokenTable by_text_;
  std::unordered_set<int32_t> anywhere_;
  std::array<std::vector<size_t>, 256> lengths_;  // by first byte; the longest first, each once
};

// Whether vocabularies use this text for a token after which nothing is generated.
bool is_end_name(std::string_view text);

// Returns the token that ends a turn, by its text; -1 if there is none.
int32_t find_end_of_turn(const SpecialTokens& tokens);

// Returns all tokens after which nothing is generated, sorted: `named` (those that the file's keys name; -1
// is left out) and those that have such a text. `html` says that </s> is a tag of HTML.
std::vector<int32_t> find_ends(const SpecialTokens& tokens, std::span<const int32_t> named, bool html);

}  // namespace bitnet
