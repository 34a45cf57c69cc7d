// A prompt as tokens, each with its place in the text, and which of them a probe looks at.
//
// Thread rule: free functions and values; any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tokenizer/tokenizer.h"

namespace bitnet {

struct PromptText {
  std::string text;
  std::vector<int32_t> ids;  // with BOS where the vocabulary adds it
  // Of each token, in characters (code points) of the text; {0, 0} of a token that stands for no text.
  std::vector<std::pair<size_t, size_t>> offsets;
  bool spelled = true;  // the ids decode to the text
};
// `special`: the text of a special token is read as that token. Throws Error(usage) for an empty prompt.
PromptText read_prompt(const Tokenizer& tokenizer, const std::string& text, bool special);

// Tokens that a probe looks at; their values are averaged. `last` is the last token of the text, `root` and
// `pattern` are where these labels of a stimulus stand in its prompt, `prompt_mean` is all tokens of the
// text, `mean` these and BOS, and otherwise it is an index, -1 for the last token.
struct ProbePosition {
  std::string name;
  // Throws Error(usage) for a word that is none of these.
  static ProbePosition read(std::string_view word);
  // Throws Error(usage) where there is no such token, and where a label is not in the prompt or is in it more
  // than once.
  std::vector<size_t> tokens_of(const PromptText& prompt, const std::string& root,
                                const std::string& pattern) const;
};

}  // namespace bitnet
