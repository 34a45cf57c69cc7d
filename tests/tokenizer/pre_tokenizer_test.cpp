// Tests what each pattern cuts. The results were worked out by hand from its alternatives.
#include "tokenizer/pre_tokenizer.h"

#include <gmock/gmock.h>

namespace bitnet {
namespace {

using testing::ElementsAre;

std::vector<std::string_view> cut(const char* name, std::string_view text) {
  return PreTokenizer(name).split(text);
}

TEST(PreTokenizer, Llama) {
  EXPECT_THAT(cut("llama-bpe", "Hello world"), ElementsAre("Hello", " world"));
  EXPECT_THAT(cut("llama-bpe", "I'LL'x"), ElementsAre("I", "'LL", "'x"));
  EXPECT_THAT(cut("llama-bpe", "1234567"), ElementsAre("123", "456", "7"));
  EXPECT_THAT(cut("llama-bpe", " 12"), ElementsAre(" ", "12"));
  EXPECT_THAT(cut("llama-bpe", "(abc)"), ElementsAre("(abc", ")"));
  EXPECT_THAT(cut("llama-bpe", "a !?\n\nb"), ElementsAre("a", " !?\n\n", "b"));
  EXPECT_THAT(cut("llama-bpe", "a   b"), ElementsAre("a", "  ", " b"));
  EXPECT_THAT(cut("llama-bpe", "a \n \n  b"), ElementsAre("a", " \n \n", " ", " b"));
  EXPECT_THAT(cut("llama-bpe", "a  "), ElementsAre("a", "  "));
  EXPECT_THAT(cut("llama-bpe", ""), ElementsAre());
}

TEST(PreTokenizer, QwenTakesDigitsOneByOne) {
  EXPECT_THAT(cut("qwen2", "it'S 123"), ElementsAre("it", "'S", " ", "1", "2", "3"));
}

TEST(PreTokenizer, Gpt2) {
  EXPECT_THAT(cut("gpt-2", "I'll 'LL 1234 x!?\n\ny"),
              ElementsAre("I", "'ll", " '", "LL", " 1234", " x", "!?", "\n", "\n", "y"));
  EXPECT_THAT(cut("gpt-2", "a   b \n"), ElementsAre("a", "  ", " b", " \n"));
}

TEST(PreTokenizer, MarksBelongToLettersInQwen35Only) {
  EXPECT_THAT(cut("qwen35", "cafe\u0301s \u0301x 12"), ElementsAre("cafe\u0301s", " \u0301x", " ", "1", "2"));
  EXPECT_THAT(cut("qwen2", "cafe\u0301s"), ElementsAre("cafe", "\u0301s"));
  EXPECT_THAT(cut("dbrx", "a 1234"), ElementsAre("a", " ", "123", "4"));
}

TEST(PreTokenizer, O200kCutsBeforeCapitalsAndKeepsContractions) {
  EXPECT_THAT(cut("gpt-4o", "camelCase HTMLPage it's IT'S 漢字 1234"),
              ElementsAre("camel", "Case", " HTMLPage", " it's", " IT'S", " 漢字", " ", "123", "4"));
  EXPECT_THAT(cut("llama4", "a//\n\nb"), ElementsAre("a", "//\n\n", "b"));
}

TEST(PreTokenizer, TekkenIsO200kWithoutContractionsAndWithSingleDigits) {
  EXPECT_THAT(cut("tekken", "camelCase HTMLPage it's IT'S 123"),
              ElementsAre("camel", "Case", " HTMLPage", " it", "'s", " IT", "'S", " ", "1", "2", "3"));
  EXPECT_THAT(cut("tekken", "a//\n\nb  c"), ElementsAre("a", "//\n\n", "b", " ", " c"));
}

TEST(PreTokenizer, DeepseekCoderCutsLineEndsThenLettersThenPunctuation) {
  EXPECT_THAT(cut("deepseek-coder", "a b\n\n  c"), ElementsAre("a", " b", "\n", "\n", " ", " c"));
  EXPECT_THAT(cut("deepseek-coder", "it's x += 12;"),
              ElementsAre("it", "'", "s", " x", " += ", "1", "2", ";"));
  EXPECT_THAT(cut("deepseek-coder", "x 漢字!?"), ElementsAre("x", " ", "漢字", "!?"));
}

TEST(PreTokenizer, SmollmCutsEachDigitFirst) {
  EXPECT_THAT(cut("smollm", "it's 123 x"), ElementsAre("it", "'s", " ", "1", "2", "3", " x"));
}

TEST(PreTokenizer, FalconCutsPunctuationThenWordsThenThreeDigits) {
  EXPECT_THAT(cut("falcon", "a b!? 12345"), ElementsAre("a", " b", "!?", " ", "123", "45"));
  EXPECT_THAT(cut("falcon", "x=`y`"), ElementsAre("x", "=`", "y", "`"));
  // The first pattern cuts the apostrophe off, so the second finds no 's.
  EXPECT_THAT(cut("falcon", "it's"), ElementsAre("it", "'", "s"));
}

TEST(PreTokenizer, DefaultCutsNumbersFromTheirSpace) {
  EXPECT_THAT(cut("default", "a 12345!"), ElementsAre("a", " ", "123", "45", "!"));
  EXPECT_THAT(cut("default", "x =`"), ElementsAre("x", " ", "=", "`"));
}

TEST(PreTokenizer, WhiteSpaceIsUnicodes) {
  EXPECT_THAT(cut("gpt-2", "a\u3000\u00a0\u0085"), ElementsAre("a", "\u3000\u00a0\u0085"));
  EXPECT_THAT(cut("gpt-2", "a \u180e"),
              ElementsAre("a", " \u180e"));  // U+180E is not white space since Unicode 6.3
}

TEST(PreTokenizer, BytesThatAreNotUtf8StandAlone) {
  EXPECT_THAT(cut("llama-bpe",
                  "ab\xff\xf0\x9f"
                  "c"),
              ElementsAre("ab", "\xff", "\xf0", "\x9f", "c"));
  EXPECT_THAT(cut("llama-bpe", "a\xe6\xbc"), ElementsAre("a", "\xe6", "\xbc"));
}

TEST(PreTokenizer, LongRunsAreOnePiece) {
  for (const char* name :
       {"llama-bpe", "qwen2", "gpt-4o", "tekken", "gpt-2", "smollm", "falcon", "default"}) {
    for (const char* unit : {"a", "é", " ", "!", "\n"}) {
      std::string text;
      for (int i = 0; i < 1000000; ++i) text += unit;
      EXPECT_EQ(cut(name, text).size(), 1u) << name << " " << unit;
    }
  }
}

TEST(PreTokenizer, NamesAndAliases) {
  for (const char* name : {"llama-bpe", "llama3", "llama-v3", "falcon3", "falcon_e"}) {
    EXPECT_EQ(PreTokenizer(name).name(), "llama-bpe");
    EXPECT_TRUE(PreTokenizer(name).ignore_merges());
    EXPECT_TRUE(PreTokenizer(name).add_bos());
  }
  EXPECT_EQ(PreTokenizer("olmo").name(), "gpt-2");
  EXPECT_EQ(PreTokenizer("gpt2").name(), "gpt-2");
  EXPECT_EQ(PreTokenizer("phi-2").name(), "gpt-2");
  EXPECT_EQ(PreTokenizer("glm4").name(), "dbrx");
  EXPECT_FALSE(PreTokenizer("smaug-bpe").ignore_merges());
  EXPECT_EQ(PreTokenizer("solar-open").name(), "qwen2");
  EXPECT_EQ(PreTokenizer("starcoder").name(), "smollm");
  EXPECT_FALSE(PreTokenizer("qwen2").add_bos());
  EXPECT_FALSE(PreTokenizer("qwen2").ignore_merges());
  EXPECT_TRUE(PreTokenizer("tekken").ignore_merges());
  EXPECT_TRUE(PreTokenizer("tekken").add_bos());
  EXPECT_FALSE(PreTokenizer::knows("nobody's"));
  EXPECT_FALSE(PreTokenizer::knows(""));
}

}  // namespace
}  // namespace bitnet
