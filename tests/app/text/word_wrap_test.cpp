#include "app/text/word_wrap.h"

#include <gtest/gtest.h>

namespace bitnet {
namespace {

std::string wrapped(std::string_view text, int columns, size_t piece = std::string_view::npos) {
  WordWrap wrap;
  std::string out;
  while (!text.empty()) {
    out += wrap.add(text.substr(0, piece), columns);
    text.remove_prefix(std::min(piece, text.size()));
  }
  return out + wrap.finish(columns);
}

TEST(WordWrap, BreaksBetweenWordsHoweverTheTextComes) {
  for (const size_t piece : {1U, 2U, 3U, 100U}) {
    EXPECT_EQ(wrapped("one two three four", 9, piece), "one two\nthree\nfour") << piece;
    EXPECT_EQ(wrapped("one two three", 13, piece), "one two three") << piece;
    EXPECT_EQ(wrapped("a\n\n  b c\nd", 5, piece), "a\n\n  b c\nd") << piece;
    EXPECT_EQ(wrapped("你好 世界 ab", 9, piece), "你好 世界\nab");
  }
}

TEST(WordWrap, AWordWiderThanTheTerminalIsNotCut) {
  EXPECT_EQ(wrapped("see https://example.org/x y z", 10), "see\nhttps://example.org/x y z");
  const std::string endless(100000, 'x');
  WordWrap wrap;
  std::string out = wrap.add(endless, 80);
  EXPECT_GT(out.size(), endless.size() - 5000);  // it streams
  out += wrap.finish(80);
  EXPECT_EQ(out, endless);
}

TEST(WordWrap, CodeIsLeftAsItIs) {
  EXPECT_EQ(wrapped("so it is:\n```c\nint a = 1, b = 2;\n```\nso it is", 6),
            "so it\nis:\n```c\nint a = 1, b = 2;\n```\nso it\nis");
}

TEST(WordWrap, CodeEndsWithItsOwnFence) {
  for (const size_t piece : {1U, 2U, 3U, 100U}) {
    EXPECT_EQ(wrapped("~~~ c\nint a = 1, b = 2;\n```\nint c = 3;\n~~~\nso it is", 6, piece),
              "~~~ c\nint a = 1, b = 2;\n```\nint c = 3;\n~~~\nso it\nis");
    EXPECT_EQ(wrapped("````\n```c\nint a = 1;\n```\nint b = 2;\n````\nso it is", 6, piece),
              "````\n```c\nint a = 1;\n```\nint b = 2;\n````\nso it\nis");
    EXPECT_EQ(wrapped("> ```\n> int a = 1;\n> ```\nso it is", 6, piece),
              "> ```\n> int a = 1;\n> ```\nso it\nis");
    EXPECT_EQ(wrapped("```a``` is no fence\nso it is", 8, piece), "```a```\nis no\nfence\nso it is");
  }
}

TEST(WordWrap, WithoutAWidthNothingIsBroken) {
  EXPECT_EQ(wrapped("one two three four", 0), "one two three four");
}

TEST(WordWrap, SpacesAtTheEdgeBeginNoRow) {
  EXPECT_EQ(wrapped("abcd  \nefgh", 5), "abcd\nefgh");
  EXPECT_EQ(wrapped("abcde fgh", 5), "abcde\nfgh");
}

}  // namespace
}  // namespace bitnet
