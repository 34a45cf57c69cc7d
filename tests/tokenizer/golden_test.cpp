// Tests every kind of vocabulary against other programs: golden/cases.json has the ids that Hugging Face's
// tokenizers and Google's SentencePiece give; make_tokenizer_cases.mjs makes it and says how.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "engine/error.h"
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

std::vector<std::string> texts(bool gemma = false) {
  std::vector<std::string> all = read("cases.json")["texts"];
  if (gemma) {
    for (const json& text : read("cases.json")["gemma_texts"]) all.push_back(text);
  }
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
size_t compare(const Tokenizer& tokenizer, const json& wanted, bool gemma = false) {
  const std::vector<std::string> all = texts(gemma);
  EXPECT_EQ(all.size(), wanted.size());
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
                         testing::Values("gpt-2", "llama-bpe", "dbrx", "qwen2", "qwen35", "gpt-4o", "tekken",
                                         "deepseek-coder", "smollm", "falcon", "default"),
                         [](const auto& info) {
                           std::string name = info.param;
                           std::erase(name, '-');
                           return name;
                         });

TEST(Golden, ThePreTokenizersDiffer) {
  const json& ids = read("cases.json")["ids"];
  constexpr const char* kAll[] = {"gpt-2",  "llama-bpe",      "dbrx",   "qwen2",  "qwen35", "gpt-4o",
                                  "tekken", "deepseek-coder", "smollm", "falcon", "default"};
  for (const char* a : kAll) {
    for (const char* b : kAll) {
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

void expect_back(const Tokenizer& tokenizer, bool parse_special) {
  for (const std::string& text : texts(/*gemma=*/true)) {
    const std::vector<int32_t> ids = tokenizer.encode(text, parse_special);
    EXPECT_EQ(tokenizer.decode(ids, true), spaces_for_marks(text)) << printable(text);
  }
}

TEST(Golden, Gemma3HasLineEndsSpacesAndTagsOfItsOwn) {
  Vocabulary v = spm("gemma3");
  v.add_space_prefix = false;
  v.eos = 1;
  v.bos = 2;
  v.unknown = 3;
  const Tokenizer tokenizer(std::move(v));
  EXPECT_GE(compare(tokenizer, read("cases.json")["ids"]["gemma3"], /*gemma=*/true), 340u);
  expect_back(tokenizer, false);
  EXPECT_EQ(tokenizer.encode("<td>", false).size(), 1u);
}

TEST(Golden, Gemma4JoinsTheCharactersOfLines) {
  const json& file = read("vocabularies.json")["gemma4"];
  Vocabulary v;
  v.model = "gemma4";
  v.tokens = file["tokens"];
  v.merges = file["merges"];
  v.eos = 1;
  v.bos = 2;
  v.unknown = 3;
  const Tokenizer tokenizer(std::move(v));
  EXPECT_EQ(tokenizer.pre(), "gemma4");
  EXPECT_GE(compare(tokenizer, read("cases.json")["ids"]["gemma4"], /*gemma=*/true), 340u);
  expect_back(tokenizer, false);
}

TEST(Golden, Phi3TakesTheWhiteSpaceAfterItsMarks) {
  Vocabulary v = spm("llama");
  v.tokens.resize(v.tokens.size() - 2);  // without the user-defined ones
  v.types.resize(v.tokens.size());
  v.scores.resize(v.tokens.size());
  for (size_t i = 0; i < v.scores.size(); ++i) v.scores[i] = -static_cast<float>(i);
  v.rstrip = {2};
  const json& phi3 = read("vocabularies.json")["phi3"];
  for (const size_t id : phi3["unused"]) v.types[id] = 5;
  for (const json& mark : phi3["marks"]) {
    if (mark[1]) v.rstrip.push_back(static_cast<int32_t>(v.tokens.size()));
    v.tokens.push_back(mark[0]);
    v.types.push_back(3);
    v.scores.push_back(0);
  }
  const Tokenizer tokenizer(std::move(v));
  const json& cases = read("cases.json")["phi3"];
  EXPECT_GE(cases.size(), 250u);
  for (const json& one : cases) {
    const std::string text = one[0];
    EXPECT_EQ(tokenizer.encode(text, true), one[1].get<std::vector<int32_t>>()) << printable(text);
  }
}

}  // namespace
}  // namespace bitnet
