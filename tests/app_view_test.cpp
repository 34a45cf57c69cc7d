// The parts of the screen as rows: wrapping, Markdown, the transcript and its scrolling, status, input, keys.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "engine/error.h"
#include "key_decoder.h"
#include "keymap.h"
#include "text_width.h"
#include "text_wrap.h"
#include "theme.h"
#include "view_find.h"
#include "view_help.h"
#include "view_input.h"
#include "view_markdown.h"
#include "view_picker.h"
#include "view_spans.h"
#include "view_status.h"
#include "view_transcript.h"

namespace bitnet {
namespace {

using testing::ElementsAre;
using Kind = TranscriptView::Kind;

std::vector<std::string> texts(const std::vector<Row>& rows) {
  std::vector<std::string> out;
  for (const Row& row : rows) out.push_back(row.text());
  return out;
}

std::vector<std::string> wrapped(std::string_view text, int columns, bool words = true) {
  std::vector<Row> rows;
  WrapStyle style;
  style.columns = columns;
  style.words = words;
  wrap_line({{text, {}, 0}}, style, rows);
  return texts(rows);
}

std::vector<Row> all_rows(TranscriptView& view) {
  std::vector<Row> rows;
  for (size_t i = 0; i < view.row_count(); ++i) rows.push_back(view.row(i));
  return rows;
}

TEST(Wrap, BreaksAtSpacesAndDropsThem) {
  EXPECT_THAT(wrapped("the quick brown fox", 10), ElementsAre("the quick", "brown fox"));
  EXPECT_THAT(wrapped("exactly ten   more", 11), ElementsAre("exactly ten", "more"));
  EXPECT_THAT(wrapped("", 10), ElementsAre(""));
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
  EXPECT_EQ(marked("[1]: https://example.org"), "[1]: https://example.org");
}

TEST(Markdown, LinksShowWhereTheyLead) {
  EXPECT_EQ(marked("see [the *docs*](https://a.example/x)."),
            "see U(the )IU(docs)Q( (https://a.example/x)).");
  EXPECT_EQ(marked("at https://a.example/x now"), "at U(https://a.example/x) now");
  EXPECT_EQ(marked("<https://a.example>"), "U(https://a.example)");
  EXPECT_EQ(marked("![a cat](cat.png)"), "[U(a cat)]Q( (cat.png))");
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

TEST(Markdown, ALongTableKeepsItsColumns) {
  std::string text = "| n | text |\n|---|---|\n";
  for (int i = 1000; i < 2500; ++i) text += "| " + std::to_string(i) + " | some words here |\n";
  const std::vector<std::string> rows = answer_rows(text, 60);
  ASSERT_EQ(rows.size(), 1502u);
  EXPECT_EQ(rows[0].substr(rows[0].find("│")), "│ text");
  EXPECT_EQ(rows[1501], "  2499 │ some words here");
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

// What arrives in pieces must look as what came at once.
TEST(Transcript, GrowingEqualsWhole) {
  std::mt19937 random(11);
  const std::vector<std::string> pieces = {"word ",
                                           "**bold** ",
                                           "*",
                                           "`code`",
                                           "\n",
                                           "\n\n",
                                           "# head",
                                           "- item ",
                                           "漢字",
                                           "👍🏽",
                                           "🇩🇪",
                                           "e\u0301",
                                           "```\n",
                                           "    ",
                                           "1. ",
                                           "\t",
                                           "0123456789012345678901234567890123456789",
                                           "> ",
                                           "---\n",
                                           "| a | b |\n",
                                           "|---|--:|\n",
                                           "| 1 ",
                                           "~~",
                                           "[x](y)",
                                           "  - ",
                                           "> ```\n",
                                           "===\n",
                                           "\r\n",
                                           "\x1b[31m",
                                           "_under_"};
  for (int round = 0; round < 150; ++round) {
    TranscriptView growing;
    growing.set_size(30, 10);
    growing.begin_answer();
    std::string text = "x";
    growing.append_answer("x");
    for (int i = 0; i < 80; ++i) {
      const std::string& piece = pieces[random() % pieces.size()];
      text += piece;
      growing.append_answer(piece);
      if (random() % 3 == 0) growing.visible();
    }
    growing.end_answer("stop");
    TranscriptView whole;
    whole.set_size(30, 10);
    whole.begin_answer();
    whole.append_answer(text);
    whole.end_answer("stop");
    ASSERT_EQ(texts(all_rows(growing)), texts(all_rows(whole))) << text;
    ASSERT_EQ(all_rows(growing), all_rows(whole));
    growing.set_size(50, 10);
    whole.set_size(50, 10);
    ASSERT_EQ(all_rows(growing), all_rows(whole));
  }
}

TEST(Transcript, AnEnormousLineGrowsAsItWouldBeLaidOutWhole) {
  for (const std::string unit : {"some words 漢字\t- ", "nospaces0123"}) {
    std::string text;
    TranscriptView growing;
    growing.set_size(40, 10);
    growing.begin_answer();
    for (int i = 0; i < 3000; ++i) {
      text += unit;
      growing.append_answer(unit);
      growing.visible();
    }
    growing.end_answer("stop");
    TranscriptView whole;
    whole.set_size(40, 10);
    whole.begin_answer();
    whole.append_answer(text);
    whole.end_answer("stop");
    EXPECT_EQ(texts(all_rows(growing)), texts(all_rows(whole)));
  }
}

TEST(Transcript, AMegabyteInOneLineAndThousandsOfMarks) {
  TranscriptView view;
  view.set_size(80, 24);
  view.add(Kind::user, std::string(1 << 20, 'x'));
  EXPECT_EQ(view.row_count(), ((1u << 20) + 77) / 78);
  std::string zalgo = "a";
  for (int i = 0; i < 20000; ++i) zalgo += "\u0301";
  view.clear();
  view.begin_answer();
  view.append_answer(zalgo + "b");
  EXPECT_EQ(view.row_count(), 1u);
  EXPECT_LT(view.row(0).text().size(), 100u);  // what each redraw would write
}

TEST(Transcript, SpacingMarksWithoutEndAreWrapped) {
  std::string text = "a";
  for (int i = 0; i < 1000; ++i) text += "\u0903";
  TranscriptView view;
  view.set_size(40, 24);
  view.begin_answer();
  view.append_answer(text);
  EXPECT_GE(view.row_count(), 1000u / 38);
  for (const Row& row : all_rows(view)) EXPECT_LE(columns_of(row.text()), 40);
}

TEST(Transcript, BlocksAreMarkedAndSpaced) {
  TranscriptView view;
  view.set_size(40, 20);
  view.add(Kind::user, "Hi\nthere");
  view.begin_answer();
  EXPECT_THAT(texts(all_rows(view)), ElementsAre("› Hi", "  there", "", "  …"));
  view.append_answer("\n Hello");
  view.append_answer("!\n\n");
  view.end_answer("interrupted");
  view.add(Kind::notice, "one");
  view.add(Kind::notice, "two");
  view.add(Kind::error, "bad \x1b[0m");
  view.add(Kind::command, "temp 0.7", "/set temp");
  EXPECT_THAT(texts(all_rows(view)),
              ElementsAre("› Hi", "  there", "", "  Hello!", "  (stopped)", "", "· one", "· two", "",
                          "! bad ␛[0m", "", "  /set temp", "  temp 0.7"));
}

TEST(Transcript, TheLastColumnOfATableIsWrappedInItsColumn) {
  TranscriptView view;
  view.set_size(30, 20);
  view.add(Kind::command, "/new   begin a new conversation\n/quit  leave", "/help");
  EXPECT_THAT(texts(all_rows(view)),
              ElementsAre("  /help", "  /new   begin a new", "         conversation", "  /quit  leave"));
}

TEST(Transcript, AnAnswerGrowsAboveANotice) {
  TranscriptView view;
  view.set_size(40, 20);
  view.begin_answer();
  view.append_answer("one");
  view.add(Kind::notice, "meanwhile");
  view.append_answer("\ntwo");
  view.end_answer("stop");
  EXPECT_THAT(texts(all_rows(view)), ElementsAre("  one", "  two", "", "· meanwhile"));
}

TEST(Transcript, FollowsTheEndUntilScrolled) {
  TranscriptView view;
  view.set_size(40, 5);
  view.begin_answer();
  for (int i = 0; i < 20; ++i) view.append_answer("line " + std::to_string(i) + "\n");
  EXPECT_EQ(texts(view.visible()).back(), "  line 19");
  view.scroll_by(-4);
  EXPECT_FALSE(view.at_end());
  EXPECT_EQ(texts(view.visible()).front(), "  line 11");
  EXPECT_EQ(view.new_rows(), 0u);
  EXPECT_EQ(view.rows_below(), 4u);
  view.append_answer("line 20\nline 21\n");
  EXPECT_EQ(texts(view.visible()).front(), "  line 11");
  EXPECT_EQ(view.new_rows(), 2u);
  view.scroll_by(100);
  EXPECT_TRUE(view.at_end());
  EXPECT_EQ(view.new_rows(), 0u);
  EXPECT_EQ(texts(view.visible()).back(), "  line 21");
  view.scroll_to_start();
  EXPECT_EQ(texts(view.visible()).front(), "  line 0");
  view.scroll_by(-3);
  EXPECT_EQ(texts(view.visible()).front(), "  line 0");
  view.scroll_to_end();
  EXPECT_EQ(texts(view.visible()).back(), "  line 21");
}

TEST(Transcript, ResizingKeepsThePlace) {
  TranscriptView view;
  view.set_size(40, 5);
  view.begin_answer();
  for (int i = 0; i < 50; ++i) {
    view.append_answer("paragraph " + std::to_string(i) + " has a few more words than fit\n");
  }
  view.end_answer("stop");
  view.scroll_by(-41);
  const std::string top = texts(view.visible()).front();
  ASSERT_NE(top.find("paragraph"), std::string::npos);
  for (const int columns : {60, 25, 11, 40}) {
    view.set_size(columns, 5);
    const std::string now = texts(view.visible()).front();
    EXPECT_EQ(now.substr(0, 9), top.substr(0, 9)) << columns;
  }
  EXPECT_EQ(texts(view.visible()).front(), top);
  for (const int columns : {1, 2, 3}) {
    view.set_size(columns, 1);
    view.visible();
  }
}

TEST(StatusLine, FillsItsWidthAndDropsTheLeastImportant) {
  Status status;
  status.state = ChatState::answering;
  status.model = "bitnet-b1.58-2B-4T";
  status.device = "NVIDIA H200 (driver 1.2)";
  status.tokens_per_second = 52.345;
  status.context_used = 312;
  status.context_limit = 4096;
  status.saved = false;
  for (int columns = 1; columns <= 220; ++columns) {
    ASSERT_EQ(columns_of(status_row(status, {}, columns).text()), columns);
  }
  const std::string wide = status_row(status, {}, 120).text();
  for (const char* part :
       {"bitnet-b1.58-2B-4T", "NVIDIA H200", "answering", "52.3 tok/s", "312/4096", "not saved"}) {
    EXPECT_NE(wide.find(part), std::string::npos) << part;
  }
  EXPECT_NE(status_row(status, {}, 20).text().find("answering"), std::string::npos);
  EXPECT_NE(status_row(status, {"", 12, 30}, 60).text().find("↓ 12 new lines"), std::string::npos);
  EXPECT_NE(status_row(status, {"press ^C again to quit", 0, 0}, 60).text().find("again"), std::string::npos);
  status.model = "evil\x1b[2J\u202e";
  const std::string safe = status_row(status, {}, 120).text();
  EXPECT_EQ(safe.find('\x1b'), std::string::npos);
}

TEST(StatusLine, BarsFillInEighths) {
  EXPECT_EQ(bar(0, 4), "░░░░");
  EXPECT_EQ(bar(0.5, 4), "██░░");
  EXPECT_EQ(bar(1.0 / 32, 4), "▏░░░");
  EXPECT_EQ(bar(7, 4), "████");
  EXPECT_EQ(bar(0.0 / 0.0, 4), "░░░░");
}

TEST(InputRowsTest, CursorStandsWhereTheCharacterIs) {
  InputRows rows = input_rows("› ", "a漢字b", 4, 80, 5);
  EXPECT_EQ(rows.cursor_row, 0);
  EXPECT_EQ(rows.cursor_column, 2 + 1 + 2);
  EXPECT_THAT(texts(rows.rows), ElementsAre("› a漢字b"));
  rows = input_rows("› ", "one\ntwo", 7, 80, 5);
  EXPECT_THAT(texts(rows.rows), ElementsAre("› one", "  two"));
  EXPECT_EQ(rows.cursor_row, 1);
  EXPECT_EQ(rows.cursor_column, 5);
  rows = input_rows("› ", "0123456789", 10, 8, 5);
  EXPECT_THAT(texts(rows.rows), ElementsAre("› 01234", "  56789"));
  EXPECT_EQ(rows.cursor_column, 7);
}

TEST(InputRowsTest, ShowsTheRowsAroundTheCursor) {
  const std::string text = "1\n2\n3\n4\n5";
  EXPECT_THAT(texts(input_rows("› ", text, text.size(), 80, 2).rows), ElementsAre("  4", "  5"));
  EXPECT_THAT(texts(input_rows("› ", text, 0, 80, 2).rows), ElementsAre("› 1", "  2"));
  for (const int columns : {1, 2, 3})
    input_rows("› ",
               "漢字\x1b"
               "a\n",
               3, columns, 1);
}

TEST(Keys, SequencesAndPastes) {
  KeyDecoder keys;
  keys.feed("ab\x1b[5~\r\x1b\r\x03\x1b[1;5D\x1b[200~x\ny\x1b[A\x1b[201~z");
  std::vector<std::pair<Key, std::string>> seen;
  while (const auto key = keys.next()) seen.emplace_back(key->key, key->bytes);
  using P = std::pair<Key, std::string>;
  EXPECT_THAT(seen, ElementsAre(P{Key::text, "ab"}, P{Key::page_up, "\x1b[5~"}, P{Key::enter, "\r"},
                                P{Key::newline, "\x1b\r"}, P{Key::interrupt, "\x03"},
                                P{Key::text, "\x1b[1;5D"}, P{Key::paste, "x\ny\x1b[A"}, P{Key::text, "z"}));
}

TEST(Keys, EscAloneNeedsTimeToBeKnown) {
  KeyDecoder keys;
  keys.feed("\x1b");
  EXPECT_FALSE(keys.next());
  EXPECT_TRUE(keys.waiting());
  EXPECT_EQ(keys.give_up_waiting()->key, Key::escape);
  keys.feed("\x1b");
  EXPECT_FALSE(keys.next());
  keys.feed("OP");
  EXPECT_EQ(keys.next()->key, Key::help);
  keys.feed("\x1b[200~half a paste");
  EXPECT_FALSE(keys.next());
  EXPECT_FALSE(keys.waiting());
}

TEST(Keys, Names) {
  EXPECT_EQ(bytes_of_key("C-c"), "\x03");
  EXPECT_EQ(bytes_of_key("M-Enter"), "\x1b\r");
  EXPECT_EQ(bytes_of_key("PgUp"), "\x1b[5~");
  EXPECT_EQ(bytes_of_key("漢"), "漢");
  EXPECT_EQ(bytes_of_key("NoSuchKey"), "");
  EXPECT_EQ(bytes_of_key(""), "");
}

TEST(Keymap, EveryActionHasAKeyAndIsInTheHelp) {
  const Keymap keymap;
  std::string help;
  for (const std::string& row : texts(help_rows(keymap, 200, 100))) help += row + "\n";
  for (const Action& action : action_table()) {
    EXPECT_NE(keymap.keys_of(action), "") << action.name;
    EXPECT_NE(help.find(keymap.keys_of(action)), std::string::npos) << action.name;
    EXPECT_NE(help.find(action.help), std::string::npos) << action.name;
    if (action.key == Key::text) continue;
    KeyDecoder keys;
    keys.feed(bytes_of_key(std::string_view(action.keys).substr(0, std::string_view(action.keys).find(','))));
    const auto key = keys.next();
    EXPECT_EQ((key ? key : keys.give_up_waiting())->key, action.key) << action.name;
  }
}

TEST(Keymap, AFileBindsAndTakesAway) {
  Keymap keymap;
  keymap.read("# mine\n\nC-t = find   # a comment\nF5 = complete\nC-f = editor\nC-o = none\nM-q = quit\n",
              "keys");
  KeyDecoder keys(keymap);
  keys.feed("\x14\x1b[15~\x06\x0f\x1bq");
  std::vector<std::pair<Key, std::string>> seen;
  while (const auto key = keys.next()) seen.emplace_back(key->key, key->bytes);
  using P = std::pair<Key, std::string>;
  EXPECT_THAT(seen, ElementsAre(P{Key::find, "\x14"}, P{Key::text, "\t"}, P{Key::text, "\x06"},
                                P{Key::none, "\x0f"}, P{Key::eof, "\x1bq"}));
  for (const Action& action : action_table()) {
    if (std::string_view(action.name) == "find") {
      EXPECT_EQ(keymap.keys_of(action), "^T");
    } else if (std::string_view(action.name) == "quit") {
      EXPECT_EQ(keymap.keys_of(action), "^D, Alt-q");
    }
  }
}

TEST(Keymap, WhatIsWrongIsNamedWithItsLine) {
  const auto problem = [](std::string_view text) -> std::string {
    try {
      Keymap().read(text, "my-keys");
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_THAT(problem("\nC-t find\n"),
              testing::HasSubstr("my-keys:2: wanted 'key = action', found 'C-t find'"));
  EXPECT_THAT(problem("Hyper-x = find"), testing::HasSubstr("my-keys:1: there is no key 'Hyper-x'"));
  EXPECT_THAT(problem("C-t = fnd"), testing::HasSubstr("there is no action 'fnd'; there are send, newline,"));
  EXPECT_THAT(problem("a = find"), testing::HasSubstr("'a' is needed to write"));
}

std::string brought_out(TranscriptView& view) {
  std::string out;
  for (const Row& row : view.visible()) {
    for (const Span& span : row.spans) {
      const bool here = span.face.tone == Tone::match_here;
      if (here || span.face.tone == Tone::match) out += (here ? "<" : "[") + span.text + (here ? ">" : "]");
    }
  }
  return out;
}

TEST(Find, BringsOutMatchesAndGoesThroughThem) {
  TranscriptView view;
  view.set_size(20, 4);
  view.add(Kind::user, "Needle one");
  view.begin_answer();
  view.append_answer("a **nee**dle in hay\n\nand a long line whose nee\ndle is broken by wrapping needle\n");
  view.end_answer("stop");
  view.find("needle");
  EXPECT_EQ(view.match_count(), 3u);
  EXPECT_EQ(view.match_here(), 3u);
  EXPECT_EQ(brought_out(view), "<needle>");
  view.next_match(-1);
  EXPECT_EQ(view.match_here(), 2u);
  EXPECT_EQ(brought_out(view), "<nee><dle>");  // bold and not, one word
  view.next_match(1);
  view.next_match(1);
  EXPECT_EQ(view.match_here(), 1u);
  EXPECT_EQ(texts(view.visible())[0], "› Needle one");
  view.find("whose nee");  // over a break of the row
  EXPECT_EQ(view.match_count(), 1u);
  view.find("nothing like it");
  EXPECT_EQ(view.match_count(), 0u);
  EXPECT_EQ(view.match_here(), 0u);
  view.next_match(1);
  view.find("");
  EXPECT_EQ(brought_out(view), "");
}

TEST(Find, LooksAtTextAndNotAtMarksAndCase) {
  TranscriptView view;
  view.set_size(40, 20);
  view.begin_answer();
  view.append_answer("- ÄRGER\n- ärger\n> 漢字かな\n```\n│ x\n```");
  view.find("Ärger");
  EXPECT_EQ(view.match_count(), 2u);
  view.find("字か");
  EXPECT_EQ(brought_out(view), "<字か>");
  view.find("•");
  EXPECT_EQ(view.match_count(), 0u);
  view.find("│");
  EXPECT_EQ(view.match_count(), 1u);
  view.append_answer("\n漢字");
  view.find("漢字");
  EXPECT_EQ(view.match_count(), 2u);
  view.clear();
  EXPECT_EQ(view.match_count(), 0u);
}

TEST(PickerTest, NarrowsMovesAndChooses) {
  Choices choices;
  choices.title = "Pick";
  choices.find = [](std::string_view filter) {
    std::vector<Choice> found;
    for (const char* name : {"alpha", "beta", "gamma \x1b[2J\nx", "delta"}) {
      if (std::string_view(name).find(filter) != std::string_view::npos) {
        found.push_back({static_cast<int64_t>(found.size()) + 1, name, "details"});
      }
    }
    return found;
  };
  Picker picker(choices);
  EXPECT_EQ(picker.press({Key::down, ""}, 10), Picker::Outcome::goes_on);
  EXPECT_THAT(texts(picker.rows(20, 7)),
              ElementsAre("  Pick", "", "  alpha", "› beta", "  gamma ␛[2J x", "  delta", ""));
  EXPECT_EQ(picker.press({Key::text, "ta"}, 10), Picker::Outcome::goes_on);
  EXPECT_EQ(texts(picker.rows(20, 3))[0], "› beta");
  EXPECT_EQ(picker.press({Key::enter, ""}, 10), Picker::Outcome::chosen);
  EXPECT_EQ(picker.selected(), 1);
  picker.press({Key::text, "zzz"}, 10);
  EXPECT_EQ(picker.press({Key::enter, ""}, 10), Picker::Outcome::goes_on);
  EXPECT_EQ(texts(picker.rows(20, 1))[0], "  nothing fits");
  picker.press({Key::text, "\x15"}, 10);
  picker.press({Key::page_down, ""}, 10);
  EXPECT_EQ(texts(picker.rows(20, 2))[1], "› delta");
  EXPECT_EQ(picker.press({Key::escape, ""}, 10), Picker::Outcome::leaves);
  for (const int columns : {5, 20, 80, 200}) {
    for (const int rows : {0, 1, 2, 5, 40}) {
      EXPECT_EQ(picker.rows(columns, rows).size(), static_cast<size_t>(rows));
      int cursor = 0;
      EXPECT_LE(columns_of(picker.filter_row(columns, cursor).text()), columns);
      EXPECT_LT(cursor, columns);
      EXPECT_LE(columns_of(find_row({true, true, "wörds"}, 1, 2, columns, cursor).text()), columns);
      for (const Row& row : picker.rows(columns, rows)) EXPECT_LE(columns_of(row.text()), columns);
    }
  }
}

TEST(Themes, AreFoundByName) {
  EXPECT_STREQ(find_theme("").name, "16");
  EXPECT_STREQ(find_theme("dark").name, "dark");
  EXPECT_THROW(find_theme("pink"), Error);
  for (const Look& look : find_theme("mono").looks) EXPECT_EQ(look.color, -1);
  for (const Look& look : find_theme("16").looks) EXPECT_LT(look.color, 16);
}

TEST(Help, FitsAnyScreen) {
  for (const int columns : {1, 5, 20, 40, 80, 200}) {
    for (const int rows : {0, 1, 3, 20, 60}) {
      EXPECT_LE(help_rows(Keymap(), columns, rows).size(), static_cast<size_t>(rows));
      EXPECT_LE(welcome_rows(columns, rows).size(), static_cast<size_t>(rows));
      EXPECT_LE(candidate_rows({"/help", "/set", "/show"}, columns, rows).size(), static_cast<size_t>(rows));
    }
  }
}

}  // namespace
}  // namespace bitnet
