// Text to token ids and back: byte-level BPE as GGUF files of model type "gpt2" carry it.
//
// Thread rule: a Tokenizer is immutable once constructed and may be used by any number of threads;
// a StreamDecoder belongs to one thread.
//
// The pre-tokenizer patterns are those of llama.cpp's llm_tokenizer_bpe; the merge rule is Sennrich et al.
// 2016 over the byte alphabet of GPT-2.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tokenizer/segment.h"

namespace bitnet {

// What a GGUF file says about its tokenizer (keys tokenizer.ggml.*). The caller copies it from the file.
struct Vocabulary {
  std::string model;                // "gpt2"
  std::string pre;                  // pre-tokenizer; empty where the file names none
  std::vector<std::string> tokens;  // [n_vocab], in GPT-2's byte alphabet; specials as they read
  std::vector<int32_t> types;       // [n_vocab] or empty: 1 normal, 3 control, 4 user defined, 6 byte
  std::vector<std::string> merges;  // "left right", best first
  int32_t bos = -1;                 // -1 = none
  int32_t eos = -1;
  int32_t eot = -1;
  bool add_bos = false;
};

class Tokenizer {
 public:
  // Throws Error(model) that names the key for: no tokens, types of another length, a merge that is not
  // two known tokens, an id past the vocabulary, a pre-tokenizer or model that is not known.
  explicit Tokenizer(Vocabulary vocabulary);
  ~Tokenizer();
  Tokenizer(const Tokenizer&) = delete;
  Tokenizer& operator=(const Tokenizer&) = delete;

  // Any bytes; invalid UTF-8 is kept byte by byte. Special tokens are recognised only where asked. Never adds
  // BOS. Throws Error(model) where the text has a byte for which the vocabulary has no token.
  std::vector<int32_t> encode(std::string_view text, bool parse_special) const;

  // The segments as one string: merges run across their borders, but a special token is recognised only
  // where all its bytes lie in segments with parse_special.
  std::vector<int32_t> encode(std::span<const Segment> segments) const;

  // The exact bytes; control tokens give their text only with show_special, otherwise nothing.
  // Ids outside the vocabulary throw Error(usage).
  std::string decode(std::span<const int32_t> ids, bool show_special) const;
  std::string_view token_bytes(int32_t id) const;  // of one token, specials as they read

  int32_t n_vocab() const;
  int32_t bos() const;  // -1 = none
  int32_t eos() const;
  bool add_bos() const;
  bool is_control(int32_t id) const;
  int32_t find(std::string_view token_text) const;  // id of a special token by its text, or -1
  const std::string& pre() const;                   // the pre-tokenizer in use, e.g. "llama-bpe"

  // Every token that ends a turn: the file's eos and eot, and the names vocabularies give it
  // (<|eot_id|>, <|end_of_text|>, <|im_end|>, <|endoftext|>, </s>, ...). Sorted.
  std::span<const int32_t> end_of_turn() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// Turns a stream of ids into text that never ends inside a UTF-8 character.
class StreamDecoder {
 public:
  explicit StreamDecoder(const Tokenizer& tokenizer) : tokenizer_(tokenizer) {}

  // The characters that this token completes; invalid bytes come out as U+FFFD, an incomplete
  // character is held back. Control tokens give nothing.
  std::string push(int32_t id);

  // What is still held back, as U+FFFD. The decoder is then as new.
  std::string finish();

 private:
  const Tokenizer& tokenizer_;
  std::string held_;  // at most 3 bytes: the start of a character
};

}  // namespace bitnet
