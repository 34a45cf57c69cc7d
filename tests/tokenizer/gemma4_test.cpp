// Tests Gemma 4's kind of vocabulary with one that is small enough to work results out by hand;
// golden_test.cpp compares a larger one with Hugging Face's tokenizers. Also here: what takes the white space
// beside it, and which tokens are never given.
#include <gmock/gmock.h>

#include "engine/error.h"
#include "tests/tokenizer/refusal.h"
#include "tests/tokenizer/vocabulary.h"

namespace bitnet {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr int32_t kGemmaBytes = 4;  // the token of byte 0
constexpr int32_t kFirst = kGemmaBytes + 256;

// <pad>, <eos>, <bos>, <unk>, the 256 bytes, `normal` from id 260 on, then Gemma's marks.
Vocabulary gemma4(const std::vector<const char*>& normal, const std::vector<const char*>& merges) {
  Vocabulary v;
  v.model = "gemma4";
  v.tokens = {"<pad>", "<eos>", "<bos>", "<unk>"};
  v.types = {3, 3, 3, 2};
  const auto add = [&](const std::string& text, int32_t type) {
    v.tokens.push_back(text);
    v.types.push_back(type);
  };
  for (int b = 0; b < 256; ++b) {
    constexpr const char* kHex = "0123456789ABCDEF";
    add(std::string("<0x") + kHex[b / 16] + kHex[b % 16] + ">", 6);
  }
  for (const char* text : normal) add(text, 1);
  for (const char* text : {"<|turn>", "<turn|>"}) add(text, 3);
  for (const char* text : {"<|channel>", "<channel|>", "<|tool_response>", "<b>"}) add(text, 4);
  v.merges.assign(merges.begin(), merges.end());
  v.eos = 1;
  v.bos = 2;
  v.unknown = 3;
  return v;
}

const std::vector<const char*> kNormal = {"▁",  "a",  "b",   "c",  "ab",     "bc",
                                          "▁a", "▁▁", "a▁b", "\n", "\n\n\n", "</s>"};
const std::vector<const char*> kMerges = {"b c", "a b", "▁ a", "▁ ▁", "a ▁b"};

Vocabulary small() {
  Vocabulary v = gemma4(kNormal, kMerges);
  v.merges.pop_back();
  return v;
}

TEST(Gemma4, TheBestRankFirstThenTheLeftmost) {
  const Tokenizer t(small());
  EXPECT_EQ(pieces(t, "abc"), "a|bc");
  EXPECT_EQ(pieces(t, " ab"), " |ab");  // a-b comes before ▁-a
  EXPECT_EQ(pieces(t, " ac"), " a|c");
  EXPECT_EQ(pieces(t, "   "), "  | ");
  EXPECT_EQ(pieces(t, ""), "");
  EXPECT_EQ(pieces(t, "▁a"), " a");
}

TEST(Gemma4, MergesCrossWordsButNoLineEnd) {
  const Tokenizer words(gemma4({"▁", "a", "b", "▁b", "a▁b"}, {"▁ b", "a ▁b"}));
  EXPECT_EQ(pieces(words, "a b"), "a b");
  const Tokenizer lines(gemma4({"a", "\n", "\na", "a\n"}, {"\n a", "a \n"}));
  EXPECT_EQ(pieces(lines, "a\na"), "a|\n|a");
}

TEST(Gemma4, LineEndsThatAreATokenAreTakenWholeWithoutAMerge) {
  const Tokenizer t(small());
  EXPECT_EQ(pieces(t, "\n\n\n"), "\n\n\n");
  EXPECT_EQ(pieces(t, "\n\n"), "\n|\n");  // no such token
  EXPECT_EQ(pieces(t, "\n\n\n\n"), "\n|\n|\n|\n");
  EXPECT_EQ(pieces(t, "a\n\n\nb"), "a|\n\n\n|b");
}

TEST(Gemma4, WhatNoTokenHasBecomesItsBytesElseTheUnknownToken) {
  const Tokenizer t(small());
  EXPECT_THAT(t.encode("aß", false), ElementsAre(kFirst + 1, kGemmaBytes + 0xc3, kGemmaBytes + 0x9f));
  EXPECT_THAT(t.encode("\xff\xc3", false), ElementsAre(kGemmaBytes + 0xff, kGemmaBytes + 0xc3));
  Vocabulary v = small();
  v.types[kGemmaBytes + 0x9f] = 5;
  EXPECT_THAT(Tokenizer(v).encode("ßßa", false), ElementsAre(3, kFirst + 1));
  v.unknown = -1;
  try {
    Tokenizer(v).encode("ß", false);
    FAIL();
  } catch (const Error& e) {
    EXPECT_THAT(e.what(), HasSubstr("\"<0x9F>\" is missing"));
  }
}

TEST(Gemma4, TextComesBackAndNoSpaceGoesBeforeIt) {
  const Tokenizer t(small());
  for (const char* text : {"", " ", "a", " a", "  a b\n\n\n c\n", "ß \xff", "</s>"})
    EXPECT_EQ(t.decode(t.encode(text, false), false), text) << printable(text);
  StreamDecoder stream(t);
  EXPECT_EQ(stream.push(kFirst + 6), " a");
  EXPECT_EQ(stream.push(kGemmaBytes + 0xc3), "");
  EXPECT_EQ(stream.push(kGemmaBytes + 0x9f), "ß");
}

TEST(Gemma4, BosIsAddedWhateverTheFileSays) {
  Vocabulary v = small();
  EXPECT_TRUE(Tokenizer(v).add_bos());
  v.add_bos = false;
  EXPECT_TRUE(Tokenizer(v).add_bos());
  v.add_space_prefix = true;  // has no meaning here
  EXPECT_EQ(pieces(Tokenizer(v), "b"), "b");
  v.model = "gpt2";  // some files name it so
  v.pre = "gemma4";
  const Tokenizer t(v);
  EXPECT_EQ(t.pre(), "gemma4");
  EXPECT_TRUE(t.unknown_pre().empty());
  EXPECT_EQ(pieces(t, "abc"), "a|bc");
}

TEST(Gemma4, EndsAreItsOwnAndTagsOfHtmlAreText) {
  const Tokenizer t(small());
  EXPECT_THAT(t.end_of_turn(), ElementsAre(1, t.find("<turn|>"), t.find("<|tool_response>")));
  EXPECT_FALSE(t.is_control(kFirst + 11));  // </s>
  EXPECT_EQ(t.find("</s>"), -1);
  // What somebody typed is a tag, but no mark of the conversation.
  EXPECT_THAT(t.encode("<b>", false), ElementsAre(t.find("<b>")));
  for (const char* mark : {"<|turn>", "<turn|>", "<|channel>", "<eos>", "<|tool_response>"}) {
    EXPECT_GT(t.encode(mark, false).size(), 1u) << mark;
    EXPECT_EQ(t.encode(mark, true).size(), 1u) << mark;
  }
}

TEST(Gemma4, ThoughtsAreTextEvenWhereAConverterMadeThemControl) {
  Vocabulary v = small();
  for (size_t i = 0; i < v.tokens.size(); ++i) {
    if (v.tokens[i] == "<|channel>") v.types[i] = 3;
  }
  const Tokenizer t(v);
  EXPECT_EQ(t.decode(t.encode("<|channel>a<turn|>", true), false), "<|channel>a");
}

TEST(Gemma4, MergesOfSpecialTokensAreLeftOut) {
  const Tokenizer t(gemma4({"<", "b>", "<|", "turn>"}, {"< b>", "<| turn>", "<|turn> <", "< <|turn>"}));
  EXPECT_EQ(t.encode("<|turn>", false).size(), 7u);  // bytes and "<", since "|" has no token
  EXPECT_THAT(t.encode("<|turn>", true), ElementsAre(t.find("<|turn>")));
}

TEST(Gemma4, WithoutTypesBytesAreKnownByTheirNames) {
  Vocabulary v = small();
  v.types.clear();
  EXPECT_THAT(Tokenizer(v).encode("\xff", false), ElementsAre(kGemmaBytes + 0xff));
}

TEST(Gemma4, FaultsAreNamed) {
  const auto refuse = [](const char* wanted, auto make) {
    Vocabulary v = small();
    make(v);
    expect_refused(std::move(v), wanted);
  };
  refuse("tokenizer.ggml.merges: there are none", [](Vocabulary& v) { v.merges.clear(); });
  refuse("tokenizer.ggml.merges[1]: \"ab\" is not two tokens", [](Vocabulary& v) { v.merges[1] = "ab"; });
  refuse("names \"zz\"", [](Vocabulary& v) { v.merges[1] = "a zz"; });
  refuse("names \"ba\"", [](Vocabulary& v) { v.merges[1] = "b a"; });
  refuse("names \"<0x41>\"", [](Vocabulary& v) { v.merges[1] = "<0x41> a"; });
  refuse("tokenizer.ggml.tokens[262]: \"a\" is there already", [](Vocabulary& v) { v.tokens[262] = "a"; });
  refuse("tokenizer.ggml.tokens[261]: \"<0xFF>\" is not UTF-8",
         [](Vocabulary& v) { v.tokens[261] = "\xff"; });
  refuse("tokenizer.ggml.unknown_token_id: 5000", [](Vocabulary& v) { v.unknown = 5000; });
  refuse("tokenizer.ggml.suppress_tokens: 5000 is not an id", [](Vocabulary& v) {
    v.suppressed = {1, 5000};
  });
  refuse("tokenizer.ggml.suppress_tokens: -1 is not an id", [](Vocabulary& v) { v.suppressed = {-1}; });
}

TEST(Suppressed, IdsAreSortedAndEachIsThereOnce) {
  Vocabulary v = small_vocabulary("gpt-2");
  EXPECT_TRUE(Tokenizer(v).suppressed().empty());
  v.suppressed = {7, 3, 7};
  EXPECT_THAT(Tokenizer(v).suppressed(), ElementsAre(3, 7));
}

TEST(Strip, ATokenTakesTheWhiteSpaceOnItsSides) {
  Vocabulary v = small_vocabulary("gpt-2");  // 256 <|begin|>, 257 <|eot_id|>, 258 <|eot_id|>x, 259 <tool>
  v.lstrip = {257};
  v.rstrip = {256};
  const Tokenizer t(v);
  EXPECT_THAT(t.encode("<|begin|> \n\u3000a <|eot_id|> b", true), ElementsAre(256, 'a', 257, ' ', 'b'));
  EXPECT_THAT(t.encode("a <|begin|>\t<|begin|>\n<|eot_id|>", true), ElementsAre('a', ' ', 256, 256, 257));
  EXPECT_EQ(t.encode("<|begin|> a", false).size(), 11u);  // it was typed, so it is no token
  // White space of the next text goes too, whoever wrote it.
  const std::vector<Segment> typed = {{"<|begin|>\n", true}, {" a ", false}, {"<|eot_id|>", true}};
  EXPECT_THAT(t.encode(typed), ElementsAre(256, 'a', 257));
  const Segment next{" a", false};
  EXPECT_THAT(t.encode(std::span(&next, 1), /*after=*/256), ElementsAre('a'));
  EXPECT_THAT(t.encode(std::span(&next, 1), /*after=*/257), ElementsAre(' ', 'a'));
}

}  // namespace
}  // namespace bitnet
