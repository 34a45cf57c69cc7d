// Tests how words are found in the transcript.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "app/view/transcript.h"
#include "tests/support/view_rows.h"

namespace bitnet {
namespace {

using Kind = TranscriptView::Kind;

std::string brought_out(TranscriptView& view) { return brought_out(view.visible()); }

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
  EXPECT_EQ(brought_out(view), "<nee><dle>");  // one word may be bold in part
  view.next_match(1);
  view.next_match(1);
  EXPECT_EQ(view.match_here(), 1u);
  EXPECT_EQ(texts(view.visible())[0], "› Needle one");
  view.find("whose nee");  // the row breaks inside of this
  EXPECT_EQ(view.match_count(), 1u);
  view.find("nothing like it");
  EXPECT_EQ(view.match_count(), 0u);
  EXPECT_EQ(view.match_here(), 0u);
  view.next_match(1);
  view.find("");
  EXPECT_EQ(brought_out(view), "");
}

// After a resize only what is in view is laid out, and looking for the words lays out what is above it.
TEST(Find, BringsOutTheWordsAfterAResize) {
  TranscriptView view;
  view.set_size(100, 30);
  for (int i = 0; i < 6; ++i) {
    view.add(Kind::user, "What is snow?");
    view.begin_answer();
    view.append_answer("It is snow — frozen water that falls from clouds in winter, and then melts.");
    view.end_answer("stop");
  }
  view.find("snow");
  view.set_size(40, 10);
  const std::vector<Row> rows = view.visible();
  EXPECT_EQ(brought_out(rows), "[snow][snow][snow]<snow>");
  view.find("");
  EXPECT_EQ(texts(rows), texts(view.visible()));
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

TEST(Find, BringsOutWholeClusters) {
  TranscriptView view;
  view.set_size(40, 20);
  view.begin_answer();
  view.append_answer("un cafe\u0301 noir, 👨\u200d👩\u200d👧 and me");
  for (const auto& [words, found] : {std::pair("cafe", "<cafe\u0301>"), std::pair("\u0301", "<e\u0301>"),
                                     std::pair("👩", "<👨\u200d👩\u200d👧>"), std::pair("and", "<and>")}) {
    view.find(words);
    EXPECT_EQ(brought_out(view), found);
  }
}

}  // namespace
}  // namespace bitnet
