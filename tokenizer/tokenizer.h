// Turns text into token ids and back. The method is byte-level BPE, which GGUF files call model "gpt2".
//
// The pre-tokenizer's patterns are those of llama.cpp's llm_tokenizer_bpe; the merge rule is that of Sennrich
// et al. 2016 over the byte alphabet of GPT-2.
//
// Thread rule: a Tokenizer is immutable once constructed, and any number of threads may use it. A
// StreamDecoder belongs to one thread.
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
  std::string pre;                  // the pre-tokenizer; empty if the file names none
  std::vector<std::string> tokens;  // [n_vocab], in GPT-2's byte alphabet; special tokens as plain text
  std::vector<int32_t> types;  // [n_vocab] or empty: 1 normal, 3 control, 4 user defined, 5 unused, 6 byte
  std::vector<std::string> merges;  // "left right", the best first
  int32_t bos = -1;                 // -1 if there is none
  int32_t eos = -1;
  int32_t eot = -1;
  bool add_bos = false;
};

class Tokenizer {
 public:
  // Throws Error(model) that names the key for a fault in the vocabulary: there are no tokens, or not as many
  // types as tokens; a token that is used is empty, is not UTF-8 or comes twice; a merge is not two known
  // tokens; an id lies outside the vocabulary; a type, the pre-tokenizer or the model is unknown.
  explicit Tokenizer(Vocabulary vocabulary);
  ~Tokenizer();
  Tokenizer(const Tokenizer&) = delete;
  Tokenizer& operator=(const Tokenizer&) = delete;

  // Takes any bytes; invalid UTF-8 is encoded byte by byte. Special tokens are recognised only with
  // parse_special. BOS is never added. Throws Error(model) if the text has a byte for which the vocabulary
  // has no token.
  std::vector<int32_t> encode(std::string_view text, bool parse_special) const;

  // Encodes the segments as one string. Merges may cross the borders of segments, but a special token is
  // recognised only if all its bytes lie in segments with parse_special.
  std::vector<int32_t> encode(std::span<const Segment> segments) const;

  // Returns the exact bytes. Control tokens give their text with show_special and nothing without it. Throws
  // Error(usage) for an id outside the vocabulary, as token_bytes and is_control do.
  std::string decode(std::span<const int32_t> ids, bool show_special) const;
  std::string_view token_bytes(int32_t id) const;  // of one token; of a special one its text

  int32_t n_vocab() const;
  int32_t bos() const;  // -1 if there is none
  int32_t eos() const;
  bool add_bos() const;
  bool is_control(int32_t id) const;
  int32_t find(std::string_view token_text) const;  // the id of a special token, or -1
  const std::string& pre() const;                   // the pre-tokenizer in use, such as "llama-bpe"

  // Returns the ids of all tokens that end a turn, sorted: the file's eos and eot, and special tokens of a
  // name that vocabularies use for this (<|eot_id|>, <|end_of_text|>, <|im_end|>, <|endoftext|>, </s>, ...).
  std::span<const int32_t> end_of_turn() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// Turns a stream of ids into text that never ends inside a UTF-8 character. The Tokenizer must outlive it.
class StreamDecoder {
 public:
  explicit StreamDecoder(const Tokenizer& tokenizer) : tokenizer_(tokenizer) {}

  // Returns the characters that this token completes. Invalid bytes become U+FFFD, an incomplete character is
  // held back, and control tokens give nothing. Throws Error(usage) for an id outside the vocabulary.
  std::string push(int32_t id);

  // Returns U+FFFD if an incomplete character is held back, and forgets it. The decoder is then as new.
  std::string finish();

 private:
  const Tokenizer& tokenizer_;
  std::string held_;  // the start of a character, at most 3 bytes
};

}  // namespace bitnet
