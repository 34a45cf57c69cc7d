// Encodes and decodes text with one of our vocabularies, or with one that the input describes. Layout: a byte
// that chooses; then text, or bos, eos (a byte each), lines of tokens, NUL, merges (of SentencePiece's kind:
// a byte for each score), NUL, types, NUL, text.
#include "tokenizer/tokenizer.h"

#include <cmath>
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

std::vector<std::string> byte_names() {
  constexpr const char* kHex = "0123456789ABCDEF";
  std::vector<std::string> names;
  for (int byte = 0; byte < 256; ++byte)
    names.push_back(std::string("<0x") + kHex[byte / 16] + kHex[byte % 16] + ">");
  return names;
}

// Of Gemma 4's kind: <unk>, <bos>, the bytes, characters, what merges make, line ends that none makes, and
// marks.
Vocabulary small_gemma4() {
  Vocabulary v;
  v.model = "gemma4";
  v.tokens = {"<unk>", "<bos>"};
  v.types = {2, 3};
  const auto add = [&](const std::string& text, int32_t type) {
    v.tokens.push_back(text);
    v.types.push_back(type);
  };
  for (const std::string& byte : byte_names()) add(byte, 6);
  for (const char* character : {"▁", "t", "h", "e", "a", "n", "1", "2", "<", "s", ">", "é", "\n"})
    add(character, 1);
  for (const char* merge : {"t h", "th e", "▁ the", "▁ ▁", "the ▁", "▁▁ ▁", "n ▁", "1 2", "< s"}) {
    std::string joined = merge;
    joined.erase(joined.find(' '), 1);
    v.merges.emplace_back(merge);
    add(joined, 1);
  }
  add("\n\n", 1);
  for (const char* mark : {"<td>", "\n\n\n\n", "<|turn>"}) add(mark, 4);
  v.unknown = 0;
  v.bos = 1;
  return v;
}

// Of SentencePiece's kind: <unk>, <s>, </s>, the bytes, and pieces of equal and of different scores.
Vocabulary small_spm(bool space_prefix) {
  Vocabulary v;
  v.model = "llama";
  v.add_space_prefix = space_prefix;
  const auto add = [&](const std::string& text, float score, int32_t type) {
    v.tokens.push_back(text);
    v.scores.push_back(score);
    v.types.push_back(type);
  };
  add("<unk>", 0, 2);
  add("<s>", 0, 3);
  add("</s>", 0, 3);
  for (const std::string& byte : byte_names()) add(byte, 0, 6);
  for (const char* piece : {"▁t", "he", "▁the", "th", "▁▁", "an", "▁a", "12", "é", "<s", "s>"})
    add(piece, -static_cast<float>(v.tokens.size() / 2), 1);
  for (const char* character : {"▁", "t", "h", "e", "a", "n", "1", "2", "<", "s", ">", "/"})
    add(character, -1000, 1);
  if (!space_prefix) add("t▁h", -2, 1), add("▁h", -3, 1);  // a space inside
  add("<x>", 0, 4);
  add("▁▁▁", 0, 4);
  return v;
}

// In such a vocabulary ▁ is a space.
std::string with_spaces(std::string_view text) {
  constexpr std::string_view kMark = "▁";
  std::string out(text);
  for (size_t at = 0; (at = out.find(kMark, at)) != std::string::npos; ++at)
    out.replace(at, kMark.size(), " ");
  return out;
}

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const Utf8Step step = utf8_step(text);
    if (step.kind != Utf8::valid) return false;
    text.remove_prefix(step.length);
  }
  return true;
}

// `complete`: the vocabulary has a token for every byte, so any text can be encoded and comes back.
void encode_and_back(const Tokenizer& tokenizer, std::string_view text, bool complete, bool spaced = false) {
  const std::string wanted = spaced ? with_spaces(text) : std::string(text);
  for (const bool special : {false, true}) {
    std::optional<std::vector<int32_t>> ids;
    try {
      ids = tokenizer.encode(text, special);
    } catch (const Error& error) {
      fuzz::promise(!complete);  // any text has tokens if every byte has one
      fuzz::check_message(error);
      continue;
    }
    if (complete || !spaced) fuzz::promise(tokenizer.decode(*ids, true) == wanted);
    StreamDecoder decoder(tokenizer);
    std::string streamed;
    for (const int32_t id : *ids) {
      const std::string part = decoder.push(id);
      fuzz::promise(is_utf8(part));
      streamed += part;
    }
    streamed += decoder.finish();
    if (complete && !special && is_utf8(text)) fuzz::promise(streamed == wanted);
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

void any_vocabulary(fuzz::Input input, const char* model) {
  const bool spm = model == std::string_view("llama");
  Vocabulary v;
  v.model = model;
  v.pre = "default";
  v.bos = input.byte() - 1;
  v.eos = input.byte() - 1;
  v.tokens = lines_of(input.part());
  const std::string_view merges = input.part();
  if (spm) {
    for (const char c : merges) v.scores.push_back(c == '?' ? NAN : c);
    if (!merges.empty()) v.scores.resize(v.tokens.size(), 0);
    v.unknown = v.eos;
  } else {
    v.merges = lines_of(merges);
  }
  for (const char c : input.part()) v.types.push_back(static_cast<int8_t>(c) - '0');
  try {
    const Tokenizer tokenizer(std::move(v));
    encode_and_back(tokenizer, input.left, false, model != std::string_view("gpt2"));
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
  static const Tokenizer spms[] = {Tokenizer(small_spm(true)), Tokenizer(small_spm(false))};
  fuzz::Input input(data, size);
  static const Tokenizer gemma4(small_gemma4());
  const uint8_t choice = input.byte() % 9;
  if (choice < 3) {
    encode_and_back(tokenizers[choice], input.left, true);
  } else if (choice == 4 || choice == 5) {
    encode_and_back(spms[choice - 4], input.left, true, /*spaced=*/true);
  } else if (choice == 7) {
    encode_and_back(gemma4, input.left, true, /*spaced=*/true);
  } else {
    any_vocabulary(input, choice == 3 ? "gpt2" : choice == 6 ? "llama" : "gemma4");
  }
  return 0;
}
