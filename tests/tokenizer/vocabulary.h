// Makes vocabularies for the tests of the tokenizer: a small one that needs no file, and LLaMA-3's from its
// ranks.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tokenizer/tokenizer.h"

namespace bitnet {

// Returns the 256 bytes in the order of their value (so that a byte is its id), one token per merge in the
// order given (id 256 onwards), then <|begin|>, <|eot_id|>, <|eot_id|>x (control) and <tool> (user defined).
// The merges are given as bytes.
Vocabulary small_vocabulary(const std::string& pre,
                            const std::vector<std::pair<std::string, std::string>>& merges = {});

// Returns LLaMA-3's tokens, types and merges from a file of tiktoken's ranks, as conversion to GGUF makes
// them, with the special tokens after `n_ranks` ordinary ones. A rank that the file leaves out becomes an
// unused token, so that every other token keeps its id. The result names no pre-tokenizer. Throws
// std::runtime_error if the file cannot be read.
Vocabulary llama3_vocabulary(const std::filesystem::path& ranks, size_t n_ranks = 128000);

// Encodes `text` and returns the bytes of the tokens with | between them.
std::string pieces(const Tokenizer& tokenizer, std::string_view text);

}  // namespace bitnet
