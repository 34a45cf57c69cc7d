// Encodes and decodes text with one of our vocabularies, or with one that the input describes. Layout: a byte
// that chooses; then text, or bos, eos (a byte each), lines of tokens, NUL, merges, NUL, types, NUL, text.
#include "tokenizer/tokenizer.h"

#include <cstring>
#include <optional>

#include "byte_alphabet.h"
#include "fuzz.h"
#include "utf8.h"

namespace bitnet {
namespace {

Vocabulary small_vocabulary(const char* pre) {
  Vocabulary v;
  v.model = "gpt2";
  v.pre = pre;
  for (int byte = 0; byte < 256; ++byte) {
    const char c = static_cast<char>(byte);
    v.tokens.push_back(to_alphabet(std::string_view(&c, 1)));
  }
  for (const char* merge : {"t h", "th e", "a n", "Ġ a", "1 2", "Ã ©", "Ċ Ċ", "Ġ Ġ", "ĠĠ ĠĠ"}) {
    std::string joined = merge;
    joined.erase(joined.find(' '), 1);
    v.merges.emplace_back(merge);
    v.tokens.push_back(joined);
  }
  v.types.assign(v.tokens.size(), 1);
  for (const char* special : {"<|begin_of_text|>", "<|eot_id|>", "<|", "é<|"}) {
    v.tokens.emplace_back(special);
    v.types.push_back(3);
  }
  v.bos = static_cast<int32_t>(v.tokens.size()) - 4;
  v.eos = v.eot = v.bos + 1;
  return v;
}

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const Utf8Step step = utf8_step(text);
    if (step.kind != Utf8::valid) return false;
    text.remove_prefix(step.length);
  }
  return true;
}

void encode_and_back(const Tokenizer& tokenizer, std::string_view text, bool whole_alphabet) {
  for (const bool special : {false, true}) {
    std::optional<std::vector<int32_t>> ids;
    try {
      ids = tokenizer.encode(text, special);
    } catch (const Error& error) {
      fuzz::promise(!whole_alphabet);  // any bytes
      fuzz::check_message(error);
      continue;
    }
    fuzz::promise(tokenizer.decode(*ids, true) == text);
    StreamDecoder decoder(tokenizer);
    std::string streamed;
    for (const int32_t id : *ids) {
      const std::string part = decoder.push(id);
      fuzz::promise(is_utf8(part));
      streamed += part;
    }
    streamed += decoder.finish();
    if (!special && is_utf8(text)) fuzz::promise(streamed == text);
  }
}

std::vector<std::string> lines_of(std::string_view text) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    lines.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

void any_vocabulary(fuzz::Input input) {
  Vocabulary v;
  v.model = "gpt2";
  v.pre = "default";
  v.bos = input.byte() - 1;
  v.eos = input.byte() - 1;
  v.tokens = lines_of(input.part());
  v.merges = lines_of(input.part());
  for (const char c : input.part()) v.types.push_back(static_cast<int8_t>(c) - '0');
  try {
    const Tokenizer tokenizer(std::move(v));
    encode_and_back(tokenizer, input.left, false);
  } catch (const Error& error) {
    fuzz::promise(error.kind() == ErrorKind::model);
    fuzz::check_message(error);
  }
}

}  // namespace
}  // namespace bitnet

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace bitnet;
  static const Tokenizer tokenizers[] = {Tokenizer(small_vocabulary("llama-bpe")),
                                         Tokenizer(small_vocabulary("qwen2")),
                                         Tokenizer(small_vocabulary("gpt-2"))};
  fuzz::Input input(data, size);
  const uint8_t choice = input.byte() % 4;
  if (choice == 3) {
    any_vocabulary(input);
  } else {
    encode_and_back(tokenizers[choice], input.left, true);
  }
  return 0;
}
