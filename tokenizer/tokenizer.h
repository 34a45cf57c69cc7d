// Turns text into token ids and back, with the vocabulary that a GGUF file carries: byte-level BPE (model
// "gpt2"), SentencePiece's BPE with bytes for what it lacks (model "llama"), or Gemma 4's BPE, which joins
// the characters of whole lines by rank and has bytes too (model "gemma4").
//
// The pre-tokenizer's patterns are those of llama.cpp's llm_tokenizer_bpe. The merge rule of the first kind
// is that of Sennrich et al. 2016 over the byte alphabet of GPT-2; of the second, that of SentencePiece.
//
// Thread rule: a Tokenizer is immutable once constructed, and any number of threads may use it. A
// StreamDecoder belongs to one thread.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tokenizer/segment.h"

namespace bitnet {

// What a GGUF file says about its tokenizer (keys tokenizer.ggml.*). The caller copies it from the file.
struct Vocabulary {
  std::string model;                // "gpt2", "llama" or "gemma4"
  std::string pre;                  // the pre-tokenizer of "gpt2"; empty if the file names none
  std::vector<std::string> tokens;  // [n_vocab]; "gpt2" spells them in GPT-2's byte alphabet
  // [n_vocab] or empty: 1 normal, 2 unknown, 3 control, 4 user defined, 5 unused, 6 byte
  std::vector<int32_t> types;
  std::vector<std::string> merges;  // of "gpt2" and "gemma4": "left right", the best first
  std::vector<float> scores;        // [n_vocab], of "llama": the token of the highest score is made first
  int32_t bos = -1;                 // -1 if the file names none
  int32_t eos = -1;
  int32_t eot = -1;
  int32_t unknown = -1;
  std::vector<int32_t> other_ends;  // those of the keys eom, fim_pad, fim_rep and fim_sep; -1 counts for none
  std::vector<int32_t> suppressed;  // ids that the model must never give
  std::vector<int32_t> lstrip;      // special tokens that take the white space before them, ...
  std::vector<int32_t> rstrip;      // ... and after them, out of a text
  std::optional<bool> add_bos;      // these two are empty if the file does not say
  std::optional<bool> add_space_prefix;
};

class Tokenizer {
 public:
  // What the file does not say is as llama.cpp has it: "llama" has BOS 1, EOS 2 and unknown 0 if these are
  // special tokens, adds BOS, and puts a space before a text; of "gpt2" only the pre-tokenizer llama-bpe adds
  // BOS; "gemma4" always adds it, whatever the file says. Throws Error(model) that names the key for a fault
  // in the vocabulary: there are no tokens, or not as many types or scores as tokens; a token that is used is
  // empty, is not UTF-8 or comes twice; a merge is not two known tokens; a score is not finite; an id lies
  // outside the vocabulary; a type or the model is unknown.
  explicit Tokenizer(Vocabulary vocabulary);
  ~Tokenizer();
  Tokenizer(const Tokenizer&) = delete;
  Tokenizer& operator=(const Tokenizer&) = delete;

  // Takes any bytes; invalid UTF-8 is encoded byte by byte. Special tokens are recognised only with
  // parse_special, except user-defined ones that are a way to write text: white space, and HTML's tags. BOS
  // and EOS are never added. Throws Error(model) if the vocabulary has no token for a part of the text.
  std::vector<int32_t> encode(std::string_view text, bool parse_special) const;

  // Encodes the segments as one string. Merges may cross the borders of segments, but a special token is
  // recognised only if all its bytes lie in segments with parse_special. `after` is the token that stands
  // before them: a text begins after a control token and where there is none (-1), and only there a
  // vocabulary puts its space before the text.
  std::vector<int32_t> encode(std::span<const Segment> segments, int32_t after = -1) const;

  // Returns the bytes of the text that gives these ids, exactly; of "llama" ▁ comes back as a space, and the
  // space that encoding put before a text is left out. Control tokens give their text with show_special and
  // nothing without it. Throws Error(usage) for an id outside the vocabulary, as token_bytes and is_control
  // do.
  std::string decode(std::span<const int32_t> ids, bool show_special) const;
  std::string_view token_bytes(int32_t id) const;  // of one token; of a special one its text

  int32_t n_vocab() const;
  int32_t bos() const;                              // -1 if there is none
  int32_t eos() const;                              // -1 if there is none
  bool add_bos() const;                             // whether a prompt begins with BOS
  bool is_control(int32_t id) const;                // a control token or the unknown token
  int32_t find(std::string_view token_text) const;  // the id of a special token, or -1

  // The pre-tokenizer in use, such as "llama-bpe"; "none (SentencePiece)" for "llama"; "gemma4" for "gemma4".
  const std::string& pre() const;
  // The file's name for its pre-tokenizer if we do not know it and use another; empty otherwise.
  const std::string& unknown_pre() const;

  // Returns the ids of all tokens after which nothing is generated, sorted: those that the file's keys name,
  // and special tokens of a name that vocabularies use for this (<|eot_id|>, <|im_end|>, </s>, ...).
  std::span<const int32_t> end_of_turn() const;

  // Returns the ids that the model must never give, sorted.
  std::span<const int32_t> suppressed() const;

 private:
  friend class StreamDecoder;
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// Turns a stream of ids into text that never ends inside a UTF-8 character. The Tokenizer must outlive it.
class StreamDecoder {
 public:
  // `after` is the token that stands before the stream, as for Tokenizer::encode. Throws Error(usage) for an
  // id outside the vocabulary.
  explicit StreamDecoder(const Tokenizer& tokenizer, int32_t after = -1);

  // Returns the characters that this token completes. Invalid bytes become U+FFFD, an incomplete character is
  // held back, and control tokens give nothing. Throws Error(usage) for an id outside the vocabulary.
  std::string push(int32_t id);

  // Returns U+FFFD if an incomplete character is held back, and forgets it. A text begins after it.
  std::string finish();

 private:
  const Tokenizer& tokenizer_;
  std::string held_;    // the start of a character, at most 3 bytes
  bool starts_ = true;  // whether a text begins with the next token
};

}  // namespace bitnet
