// What tokenizer.json and the files beside it say of text, as the keys tokenizer.* of a GGUF file.
//
// Thread rule: a free function.
//
// Source: the serialised form of Hugging Face's tokenizers; conversion of vocabularies as in llama.cpp's
// convert_hf_to_gguf.py.
#pragma once

#include <optional>

#include "fields.h"
#include "metadata.h"

namespace bitnet::hub {

struct TokenFiles {
  Fields config;                             // config.json
  Fields tokenizer;                          // tokenizer.json
  std::optional<Fields> tokenizer_config;    // tokenizer_config.json
  std::optional<Fields> generation_config;   // generation_config.json
  std::optional<std::string> chat_template;  // chat_template.jinja
};

// `n_vocab` is the rows of the embedding; ids that the vocabulary leaves out are tokens of no use.
void read_tokens(const TokenFiles& files, uint32_t n_vocab, Metadata& to);

}  // namespace bitnet::hub
