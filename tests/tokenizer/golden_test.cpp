// Tests both kinds of vocabulary against other programs: golden/cases.json has the ids that Hugging Face's
// tokenizers and Google's SentencePiece give; make_tokenizer_cases.mjs makes it and says how.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "engine/error.h"
#include "tokenizer/byte_alphabet.h"
#include "tokenizer/tokenizer.h"

namespace bitnet {
namespace {

using nlohmann::json;

const std::filesystem::path kData = TOKENIZER_GOLDEN;

const json& read(const char* name) {
  static std::map<std::string, json> files;
  if (!files.contains(name)) files[name] = json::parse(std::ifstream(kData / name));
  return files[name];
}

std::string from_hex(const std::string& hex) {
  std::string bytes;
  for (size_t i = 0; i < hex.size(); i += 2)
    bytes += static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16));
  return bytes;
}

std::vector<std::string> texts() {
  std::vector<std::string> all = read("cases.json")["texts"];
  for (const std::string hex : read("cases.json")["not_utf8"]) all.push_back(from_hex(hex));
  return all;
}

Vocabulary bpe(const std::string& pre) {
  const json& file = read("vocabularies.json")["bpe"];
  Vocabulary v;
  v.model = "gpt2";
  v.pre = pre;
  v.tokens = file["tokens"];
  v.merges = file["merges"];
  return v;
}

Vocabulary spm(const char* name) {
  Vocabulary v;
  v.model = "llama";
  for (const json& piece : read("vocabularies.json")[name]) {
    v.tokens.push_back(piece[0]);
    v.scores.push_back(piece[1]);
    v.types.push_back(piece[2]);
  }
  return v;
}

// Compares all texts and decodes what is lossless; returns how many there were. A user-defined token is
// recognised everywhere by SentencePiece, and here only in text that is trusted.
size_t compare(const Tokenizer& tokenizer, const json& wanted) {
  const std::vector<std::string> all = texts();
  size_t n = 0;
  for (size_t i = 0; i < all.size(); ++i) {
    if (wanted[i].is_null()) continue;  // the other program takes no such text
    ++n;
    const std::vector<int32_t> ids = tokenizer.encode(all[i], all[i].find("<tool>") != std::string::npos);
    EXPECT_EQ(ids, wanted[i].get<std::vector<int32_t>>()) << i << ": " << printable(all[i]);
  }
  return n;
}

std::string spaces_for_marks(std::string text) {
  for (size_t at; (at = text.find("\u2581")) != std::string::npos;) text.replace(at, 3, " ");
  return text;
}

class EveryPre : public testing::TestWithParam<const char*> {};

TEST_P(EveryPre, GivesTheIdsOfHuggingFacesTokenizers) {
  const Tokenizer tokenizer(bpe(GetParam()));
  EXPECT_EQ(tokenizer.pre(), GetParam());
  EXPECT_GE(compare(tokenizer, read("cases.json")["ids"][GetParam()]), 300u);
  for (const std::string& text : texts()) {
    EXPECT_EQ(tokenizer.decode(tokenizer.encode(text, false), false), text) << printable(text);
  }
}

INSTANTIATE_TEST_SUITE_P(Golden, EveryPre,
                         testing::Values("gpt-2", "llama-bpe", "qwen2", "smollm", "falcon", "default"),
                         [](const auto& info) {
                           std::string name = info.param;
                           std::erase(name, '-');
                           return name;
                         });

TEST(Golden, ThePreTokenizersDiffer) {
  const json& ids = read("cases.json")["ids"];
  for (const char* a : {"gpt-2", "llama-bpe", "qwen2", "smollm", "falcon", "default"}) {
    for (const char* b : {"gpt-2", "llama-bpe", "qwen2", "smollm", "falcon", "default"}) {
      EXPECT_EQ(ids[a] == ids[b], a == std::string_view(b)) << a << " " << b;
    }
  }
}

TEST(Golden, SpmGivesTheIdsOfSentencePiece) {
  const Tokenizer tokenizer(spm("llama"));
  EXPECT_EQ(tokenizer.bos(), 1);
  EXPECT_EQ(tokenizer.eos(), 2);
  EXPECT_TRUE(tokenizer.add_bos());
  EXPECT_GE(compare(tokenizer, read("cases.json")["ids"]["llama"]), 300u);
  for (const std::string& text : texts()) {
    const std::vector<int32_t> ids = tokenizer.encode(text, true);
    EXPECT_EQ(tokenizer.decode(ids, true), spaces_for_marks(text)) << printable(text);
  }
}

TEST(Golden, SpmWithoutBytesAndWithoutTheSpaceBefore) {
  Vocabulary v = spm("plain");
  v.add_space_prefix = false;
  EXPECT_GE(compare(Tokenizer(std::move(v)), read("cases.json")["ids"]["plain"]), 280u);
}

}  // namespace
}  // namespace bitnet
