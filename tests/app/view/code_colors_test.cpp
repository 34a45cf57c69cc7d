// Tests the colours of code blocks: which tokens have one, while a line grows, and that no block costs much.
#include "app/view/code_colors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "app/text/text_safe.h"
#include "app/text/theme.h"
#include "app/view/markdown.h"
#include "tests/support/view_rows.h"

namespace bitnet {
namespace {

using testing::ElementsAre;

// A line with a letter for each character: k, s, n, c and e for the tones of code, '.' for none, '-' for a
// line that is not coloured.
std::string marks(const std::vector<Piece>& pieces) {
  std::string out;
  for (const Piece& piece : pieces) {
    char mark = '?';
    if (piece.face.tone == Tone::text) mark = '.';
    if (piece.face.tone == Tone::code) mark = '-';
    if (piece.face.tone == Tone::code_keyword) mark = 'k';
    if (piece.face.tone == Tone::code_string) mark = 's';
    if (piece.face.tone == Tone::code_number) mark = 'n';
    if (piece.face.tone == Tone::code_comment) mark = 'c';
    if (piece.face.tone == Tone::code_extra) mark = 'e';
    out.append(piece.text.size(), mark);
  }
  return out;
}

std::vector<std::string> colored(std::string_view language, const std::vector<std::string>& lines) {
  const auto colors = CodeColors::of(language);
  std::vector<std::string> out;
  for (const std::string& line : lines)
    out.push_back(colors ? marks(colors->line(line, 0, false)) : "unknown");
  return out;
}

TEST(CodeColors, KnowsKeywordsStringsNumbersAndComments) {
  EXPECT_THAT(colored("python", {"def f(x):  # ok", "  return \"a\" + 12"}),
              ElementsAre("kkk........cccc", "..kkkkkk.sss...nn"));
}

TEST(CodeColors, EachLanguageOfOursIsRead) {
  EXPECT_THAT(colored("rust", {"let x: u8 = 1; // one"}), ElementsAre("kkk....nn...n..cccccc"));
  EXPECT_THAT(colored("Go", {"func f() { return nil }"}), ElementsAre("kkkk.......kkkkkk.nnn.."));
  EXPECT_THAT(colored("sql", {"SELECT 'a' FROM t -- x"}), ElementsAre("kkkkkk.sss.kkkk...cccc"));
  EXPECT_THAT(colored("json", {R"({"a": [1, "b", true]})"}), ElementsAre(".kkk...n..sss..nnnn.."));
  EXPECT_THAT(colored("yaml", {"name: \"x\" # y"}), ElementsAre("kkkk..sss.ccc"));
}

TEST(CodeColors, EachLanguageOfTheLibraryIsRead) {
  for (const char* name : {"c", "c++", "css", "diff", "html", "toml", "java", "ts", "make", "md", "perl",
                           "php", "py", "rb", "bash", "xml"}) {
    EXPECT_NE(CodeColors::of(name), nullptr) << name;
  }
}

TEST(CodeColors, AnUnknownLanguageHasNone) {
  for (const char* name : {"", " ", "klingon", "c h", "../c", "\x01"}) {
    EXPECT_EQ(CodeColors::of(name), nullptr) << name;
  }
}

TEST(CodeColors, ACommentGoesOnInTheNextLine) {
  EXPECT_THAT(colored("cpp", {"/* a", "b */ int", ""}), ElementsAre("cccc", "cccc.kkk", ""));
}

TEST(CodeColors, TheLastWordOfAGrowingLineWaits) {
  const auto colors = CodeColors::of("cpp");
  ASSERT_NE(colors, nullptr);
  EXPECT_EQ(marks(colors->line("int", 0, true)), "...");
  EXPECT_EQ(marks(colors->line("int ", 0, true)), "kkk.");
  EXPECT_EQ(marks(colors->line("int x = \"int", 0, true)), "kkk.....ssss");
  EXPECT_EQ(marks(colors->line("int x = 12", 0, true)), "kkk.....nn");
  EXPECT_EQ(marks(colors->line("// int", 0, true)), "cccccc");
  EXPECT_EQ(marks(colors->line("int", 0, false)), "kkk") << "what grew before has left nothing behind";
}

// A block that comes in pieces looks as it does when it comes at once.
TEST(CodeColors, AStreamEndsUpLikeTheWhole) {
  const std::string text =
      "Text\n```cpp\n/* two\nlines */ int main() { return 12; } // \"x\"\n```\n    int plain;\n"
      "```klingon\nint x\n```\n";
  MarkdownFlow whole;
  std::vector<Row> at_once;
  whole.update(text, false, 60, 1, at_once);
  MarkdownFlow flow;
  std::vector<Row> rows;
  for (size_t end = 0; end < text.size(); ++end) {
    flow.update(std::string_view(text).substr(0, end), true, 60, 1, rows);
    const std::vector<Row> settled(rows.begin(), rows.begin() + static_cast<std::ptrdiff_t>(flow.settled()));
    for (size_t i = 0; i < settled.size(); ++i) EXPECT_EQ(settled[i], at_once[i]) << "after " << end;
  }
  flow.update(text, false, 60, 1, rows);
  EXPECT_EQ(rows, at_once);
  const auto tones_of = [&](const char* words) {
    std::vector<Tone> tones;
    for (const Row& row : rows) {
      if (row.text().find(words) == std::string::npos) continue;
      for (const Span& span : row.spans) tones.push_back(span.face.tone);
    }
    return tones;
  };
  EXPECT_THAT(tones_of("return 12"), testing::Contains(Tone::code_number));
  EXPECT_THAT(tones_of("int plain"), ElementsAre(Tone::quiet, Tone::code)) << "the fence is over";
  EXPECT_THAT(tones_of("int x"), ElementsAre(Tone::quiet, Tone::code)) << "nobody knows the language";
}

TEST(CodeColors, WithoutColoursCodeLooksLikeText) {
  const Theme& mono = find_theme("mono");
  for (const Tone tone :
       {Tone::code_keyword, Tone::code_string, Tone::code_number, Tone::code_comment, Tone::code_extra}) {
    const Look& look = mono.of(tone);
    EXPECT_EQ(look.color, -1);
    EXPECT_FALSE(look.bold || look.dim || look.underline || look.reverse);
  }
}

// Blocks that want much: the text comes out whole, and what is coloured of it is bounded.
TEST(CodeColors, AHostileBlockIsBounded) {
  const std::string pieces[] = {"$(",        "${",
                                "\"",        "'",
                                "`",         "/*",
                                "<<EOF ",    "(?:",
                                "{[(",       "\x01\x1b[31m\x7f",
                                "é漢\u202e", "<?php <script>"};
  for (const char* language : {"sh", "perl", "make", "ruby", "html", "cpp", "rust", "yaml", "json"}) {
    for (const std::string& piece : pieces) {
      std::string line;
      while (line.size() < 400) line += piece;
      const std::string safe = make_safe(line);
      const auto colors = CodeColors::of(language);
      ASSERT_NE(colors, nullptr);
      for (int i = 0; i < 20; ++i) {
        std::string out;
        for (const Piece& part : colors->line(safe, 0, false)) out += part.text;
        ASSERT_EQ(out, safe) << language;
      }
    }
  }
}

TEST(CodeColors, OnlyTheBeginningOfABigBlockIsColoured) {
  const auto colors = CodeColors::of("python");
  ASSERT_NE(colors, nullptr);
  const std::string line = "return \"" + std::string(240, 'x') + "\"";
  size_t colored_bytes = 0;
  for (int i = 0; i < 8000; ++i) {  // 2 MB
    for (const Piece& piece : colors->line(line, 0, false))
      colored_bytes += piece.face.tone == Tone::code ? 0 : piece.text.size();
  }
  EXPECT_LE(colored_bytes, size_t{128} << 10);
  const std::string longest(1 << 20, '"');
  EXPECT_EQ(colors->line(longest, 0, true).size(), 1U);
}

}  // namespace
}  // namespace bitnet
