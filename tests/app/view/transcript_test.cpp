// Tests the transcript: how it grows and how it scrolls.
#include "app/view/transcript.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "app/text/text_width.h"
#include "tests/support/view_rows.h"

namespace bitnet {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using Kind = TranscriptView::Kind;

// Text that arrives in pieces must look like text that came at once.
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
                                           "_under_",
                                           "| 1 | 2 | 3 |\n",
                                           "\n[1]: /x \"title\"\n",
                                           "\\(",
                                           "\\\\"};
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

// An answer that comes in pieces looks as if it had come at once.
void expect_same_in_pieces(const std::string& text) {
  TranscriptView growing, whole;
  for (TranscriptView* view : {&growing, &whole}) {
    view->set_size(56, 20);
    view->begin_answer();
  }
  for (size_t at = 0; at < text.size(); at += 10) {
    growing.append_answer(text.substr(at, 10));
    growing.visible();
  }
  whole.append_answer(text);
  EXPECT_EQ(texts(all_rows(growing)), texts(all_rows(whole)));
}

std::string words(size_t bytes) {
  std::string line;
  while (line.size() < bytes) line += "word ";
  return line;
}

TEST(Transcript, AnEnormousLineIsShownOnceWhileOthersFollow) {
  for (const std::string first : {"", "- ", "> ", "# ", "| "}) {
    SCOPED_TRACE(first);
    expect_same_in_pieces(first + words(5000) + "\nmore of it, and more of it\n- an item\n\nthe end");
  }
}

TEST(Transcript, ReturnsAtTheEndOfAnEnormousLineAreNotShown) {
  for (const std::string first : {"", "# ", "```\n"}) {
    SCOPED_TRACE(first);
    expect_same_in_pieces(first + words(5000) + std::string(400, '\r') + "\nmore");
  }
}

TEST(Transcript, MarksThatWouldCloseALineDoNotMakeItEnormous) {
  expect_same_in_pieces(std::string(3000, '`') + "end`" + words(3000));
}

TEST(Transcript, WhatMayBecomeTheEndOfCodeIsShownOnceItCannot) {
  const std::string fence(6000, '~');
  expect_same_in_pieces(fence + "\n~~~~\n" + fence + "\nno code");
  TranscriptView view;
  view.set_size(56, 20);
  view.begin_answer();
  view.append_answer("```\ncode\n``");
  EXPECT_THAT(texts(all_rows(view)), ElementsAre(HasSubstr("/copy 1"), "  │ code"));
  view.append_answer(" ");
  EXPECT_THAT(texts(all_rows(view)), ElementsAre(HasSubstr("/copy 1"), "  │ code", "  │ `` "));
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
  EXPECT_LT(view.row(0).text().size(), 100u);  // each redraw would write this
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

TEST(Transcript, WhatIsSaidBelowAnAnswerIsWrapped) {
  TranscriptView view;
  view.set_size(24, 20);
  view.begin_answer();
  view.append_answer("Hi");
  view.end_answer("numeric", "2/3");
  EXPECT_THAT(texts(all_rows(view)),
              ElementsAre("  Hi", "  (cut: the model gave", "  no usable numbers)", "  (2/3)"));
  view.set_size(60, 20);
  EXPECT_THAT(texts(all_rows(view)), ElementsAre("  Hi", "  (cut: the model gave no usable numbers) (2/3)"));
}

TEST(Transcript, TheLastColumnOfATableIsWrappedInItsColumn) {
  TranscriptView view;
  view.set_size(30, 20);
  view.add(Kind::command, "/new   begin a new conversation\n/quit  leave", "/help");
  EXPECT_THAT(texts(all_rows(view)),
              ElementsAre("  /help", "  /new   begin a new", "         conversation", "  /quit  leave"));
}

TEST(Transcript, WhereColumnsDoNotFitTheyStandUnderEachOther) {
  TranscriptView view;
  view.set_size(30, 20);
  view.add(Kind::command, "  2  › a question of words that go on  an answer of words  (here)\n", "/branches");
  EXPECT_THAT(texts(all_rows(view)),
              ElementsAre("  /branches", "    2  › a question of words", "      that go on  an answer of",
                          "      words", "      (here)"));
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

TEST(Transcript, ARowKnowsItsCodeBlock) {
  TranscriptView view;
  view.set_size(40, 20);
  view.begin_answer();
  view.append_answer("One:\n```sh\nmake\n\nmake test\n```\nTwo:\n```\nx\n```\nThat is all.");
  view.end_answer("stop");
  view.begin_answer();
  view.append_answer("- three\n  ```\n  y");  // it still grows
  const std::vector<std::string> rows = texts(view.visible());
  std::string blocks;
  for (size_t i = 0; i < rows.size(); ++i) blocks += std::to_string(view.code_at(static_cast<int>(i)));
  EXPECT_EQ(blocks, "011111022200033") << testing::PrintToString(rows);
  EXPECT_EQ(view.code_at(-1), 0U);
  EXPECT_EQ(view.code_at(19), 0U);
  view.set_size(40, 3);
  EXPECT_EQ(view.code_at(2), 3U);
  view.scroll_to_start();
  EXPECT_EQ(view.code_at(1), 1U);
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

TEST(Transcript, ALongOutcomeIsShownFromItsStart) {
  TranscriptView view;
  view.set_size(40, 5);
  view.add(Kind::user, "before");
  view.add(Kind::command, "1\n2\n3\n4", "/list");
  view.show_last_from_its_start();
  EXPECT_TRUE(view.at_end());  // it fits
  view.add(Kind::command, "1\n2\n3\n4\n5\n6", "/list");
  view.show_last_from_its_start();
  EXPECT_THAT(texts(view.visible()), ElementsAre("  /list", "  1", "  2", "  3", "  4"));
  EXPECT_EQ(view.rows_below(), 2u);
  EXPECT_EQ(view.new_rows(), 0u);
  view.add(Kind::command, "1\n2\n3\n4\n5\n6\n7", "/list");
  view.show_last_from_its_start();
  EXPECT_EQ(view.rows_below(), 11u);  // the view stays where the person reads
}

TEST(Transcript, WhatGrowsAboveTheViewDoesNotMoveIt) {
  for (const bool thinks : {false, true}) {
    TranscriptView view;
    view.set_size(40, 5);
    view.add(Kind::user, "before");
    view.begin_answer();
    if (!thinks) view.append_answer("line\n");
    view.add(Kind::command, "1\n2\n3\n4\n5\n6", "/list");
    view.show_last_from_its_start();
    const auto stays = [&] {
      EXPECT_THAT(texts(view.visible()), ElementsAre("  /list", "  1", "  2", "  3", "  4"));
      EXPECT_EQ(view.rows_below(), 2u);
      EXPECT_EQ(view.new_rows(), 0u);
    };
    stays();
    for (int i = 0; i < 20; ++i) {
      if (thinks && i < 9) {
        view.append_thought("word\n");
      } else {
        view.append_answer("line\n");
      }
      stays();
    }
    view.end_answer("interrupted");
    stays();
    view.add(Kind::notice, "new");
    EXPECT_EQ(view.new_rows(), 2u);
  }
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

TEST(Transcript, ResizingKeepsThePlaceInATable) {
  // Their second columns are wrapped at some of the widths, and at the least they do not fit.
  for (const char* words : {"x", "some words that are wrapped", "漢字漢字漢字漢字漢字漢字漢字漢字"}) {
    TranscriptView view;
    view.unfold_thoughts(true);
    view.set_size(80, 5);
    view.begin_answer();
    view.append_thought("It wants a table.\nOf many rows.");
    std::string table = "| n | words |\n|---|---|\n";
    for (int i = 100; i < 250; ++i) table += "| row" + std::to_string(i) + " | " + words + " |\n";
    view.append_answer("Here:\n\n" + table + "\nThat is all.");
    view.end_answer("stop");
    view.scroll_to_start();
    while (view.visible().front().text().find("row166") == std::string::npos) view.scroll_by(1);
    for (const int columns : {81, 30, 25, 60, 12, 80}) {
      view.set_size(columns, 5);
      const std::vector<std::string> rows = texts(view.visible());
      EXPECT_THAT(columns == 12 ? rows[1] : rows[0], HasSubstr("row166")) << words << columns;
    }
    for (const bool unfolded : {false, true}) {
      view.unfold_thoughts(unfolded);
      EXPECT_THAT(view.visible().front().text(), HasSubstr("row166")) << words << unfolded;
    }
    view.set_size(30, 5);
    view.scroll_by(1);  // where a cell is wrapped, this is its second row
    const std::string top = view.visible().front().text();
    view.unfold_thoughts(false);
    EXPECT_EQ(view.visible().front().text(), top);
    view.set_size(31, 5);
    view.set_size(30, 5);
    EXPECT_EQ(view.visible().front().text(), top);
  }
}

// Compares a view that was looked through from the end with one that was laid out whole.
TEST(Transcript, ALongConversationIsLaidOutAsItIsLookedAt) {
  const auto fill = [](TranscriptView& view, size_t messages) {
    view.clear();
    for (size_t i = 0; i < messages; ++i) {
      view.add(Kind::user, "question " + std::to_string(i));
      view.begin_answer();
      view.append_answer("answer " + std::to_string(i) + " with enough words for a second row\n");
      if (i % 3 == 0) view.append_answer("```sh\nmake\n```\n");
      if (i % 7 == 0) view.append_answer("~~~\nnever closed");
      view.end_answer(i % 5 == 0 ? "length" : "stop");
    }
  };
  TranscriptView lazy;
  lazy.set_size(40, 12);
  fill(lazy, 400);
  std::mt19937 random(5);
  for (int round = 0; round < 40; ++round) {
    TranscriptView whole;
    const int columns = 25 + static_cast<int>(random() % 40);
    const int rows = 3 + static_cast<int>(random() % 20);
    whole.set_size(columns, rows);
    fill(whole, 400);
    const std::vector<std::string> all = texts(all_rows(whole));
    fill(lazy, 400);
    lazy.set_size(columns, rows);
    size_t below = 0;  // rows under the view
    for (int step = 0; step < 12; ++step) {
      const int by = static_cast<int>(random() % 60) - 45;
      lazy.scroll_by(by);
      below = static_cast<size_t>(std::max<long>(static_cast<long>(below) - by, 0));
      ASSERT_EQ(lazy.rows_below(), below);
      const auto end = all.end() - static_cast<std::ptrdiff_t>(below);
      ASSERT_EQ(texts(lazy.visible()), std::vector<std::string>(end - rows, end));
    }
    lazy.add(Kind::notice, "meanwhile");
    EXPECT_EQ(lazy.new_rows(), below == 0 ? 0U : 2U);
    const std::string top = texts(lazy.visible()).front();
    lazy.set_size(columns + 1, rows);
    lazy.set_size(columns, rows);
    EXPECT_THAT(texts(lazy.visible()), testing::Contains(top));
    lazy.scroll_to_start();
    EXPECT_EQ(texts(lazy.visible()).front(), "› question 0");
    EXPECT_EQ(lazy.row_count(), all.size() + 2);
  }
}

}  // namespace
}  // namespace bitnet
