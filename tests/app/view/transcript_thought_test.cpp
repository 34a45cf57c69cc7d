// Tests how the transcript folds what a model thinks.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "app/view/transcript.h"
#include "tests/support/view_rows.h"

namespace bitnet {
namespace {

using testing::ElementsAre;
using Kind = TranscriptView::Kind;

TEST(Transcript, AThoughtIsFoldedOnceItEnds) {
  TranscriptView view;
  view.set_size(40, 20);
  view.add(Kind::user, "2 + 2?");
  EXPECT_FALSE(view.has_thoughts());
  view.begin_answer();
  EXPECT_THAT(shown(view), ElementsAre("› 2 + 2?", "", "  …"));
  view.append_thought("one\ntwo\nthr");
  EXPECT_TRUE(view.has_thoughts());
  EXPECT_THAT(shown(view), ElementsAre("› 2 + 2?", "", "  two", "  thr"));
  view.append_thought("ee\n");
  EXPECT_THAT(shown(view), ElementsAre("› 2 + 2?", "", "  two", "  three"));
  view.count_thought(7);
  view.append_answer("\n\n");
  EXPECT_THAT(shown(view), ElementsAre("› 2 + 2?", "", "  two", "  three"));
  view.append_answer("Four.");
  const auto folded = ElementsAre("› 2 + 2?", "", "  thought for 7 tokens (Tab shows)", "", "  Four.");
  EXPECT_THAT(shown(view), folded);
  view.end_answer("stop");
  EXPECT_THAT(shown(view), folded);
  view.unfold_thoughts(true);
  EXPECT_THAT(shown(view), ElementsAre("› 2 + 2?", "", "  thought for 7 tokens (Tab folds)", "  one", "  two",
                                       "  three", "", "  Four."));
  view.unfold_thoughts(false);
  EXPECT_THAT(shown(view), folded);
}

TEST(Transcript, AThoughtThatIsStoppedLeavesAnEmptyAnswer) {
  TranscriptView view;
  view.set_size(40, 20);
  view.begin_answer();
  view.append_thought("hm");
  view.end_answer("interrupted");
  EXPECT_THAT(shown(view), ElementsAre("  thought (Tab shows)", "", "  (stopped)"));
  view.begin_answer();
  view.append_answer("Four.");
  view.end_answer("stop");
  EXPECT_THAT(shown(view), ElementsAre("  thought (Tab shows)", "", "  (stopped)", "", "  Four."));
}

// Whatever was laid out before, the rows are those of a view that was given all at once.
TEST(Transcript, ThoughtsBetweenOtherBlocks) {
  TranscriptView view;
  view.set_size(30, 5);
  for (int i = 0; i < 20; ++i) {
    view.add(Kind::user, "question");
    view.begin_answer();
    view.visible();
    if (i % 3 != 0) view.append_thought("a thought of some length, which takes rows");
    view.add(Kind::notice, "meanwhile");
    view.visible();
    view.append_answer("An answer.");
    view.end_answer("stop");
    if (i % 2 == 0) view.scroll_by(-7);
    if (i % 5 == 0) view.unfold_thoughts(!view.thoughts_unfolded());
    view.visible();
  }
  const size_t rows = view.row_count();
  view.set_size(31, 5);
  view.set_size(30, 5);
  EXPECT_EQ(view.row_count(), rows);
}

TEST(Transcript, UnfoldingShowsAThoughtFromItsStart) {
  TranscriptView view;
  view.set_size(40, 4);
  view.begin_answer();
  for (int i = 0; i < 10; ++i) view.append_thought("line " + std::to_string(i) + "\n");
  view.append_answer("Four.");
  view.end_answer("stop");
  view.unfold_thoughts(true);
  EXPECT_THAT(shown(view), ElementsAre("  thought (Tab folds)", "  line 0", "  line 1", "  line 2"));
  view.unfold_thoughts(false);
  EXPECT_TRUE(view.at_end());
  EXPECT_THAT(shown(view), ElementsAre("  thought (Tab shows)", "", "  Four."));
}

TEST(Transcript, AnUnfoldedThoughtGrowsAsItIsLaidOutWhole) {
  const std::string text = "\nfirst, which is wider than a screen\n\nsecond\nthird\n";
  TranscriptView growing;
  growing.set_size(20, 30);
  growing.unfold_thoughts(true);
  growing.begin_answer();
  for (size_t i = 0; i < text.size(); ++i) {
    growing.append_thought(text.substr(i, 1));
    if (i % 9 == 8) growing.unfold_thoughts(!growing.thoughts_unfolded());
    if (i % 13 == 12) growing.set_size(growing.row_count() % 2 == 0 ? 20 : 25, 30);
    TranscriptView whole;
    whole.set_size(20, 30);
    whole.unfold_thoughts(true);
    whole.begin_answer();
    whole.append_thought(text.substr(0, i + 1));
    growing.unfold_thoughts(true);
    growing.set_size(20, 30);
    ASSERT_EQ(texts(all_rows(growing)), texts(all_rows(whole))) << i;
  }
}

TEST(Transcript, AnEnormousLineOfAThoughtGrowsAsItIsLaidOutWhole) {
  std::string text;
  TranscriptView growing;
  growing.set_size(40, 10);
  growing.unfold_thoughts(true);
  growing.begin_answer();
  for (int i = 0; i < 2000; ++i) {
    const std::string more = i == 1500 ? "\nand a line" : i % 3 == 0 ? "some words 漢字\t- " : "nospaces0123";
    text += more;
    growing.append_thought(more);
    growing.visible();
  }
  TranscriptView whole;
  whole.set_size(40, 10);
  whole.unfold_thoughts(true);
  whole.begin_answer();
  whole.append_thought(text);
  EXPECT_EQ(all_rows(growing), all_rows(whole));
  // Folded it shows its last two rows.
  growing.unfold_thoughts(false);
  EXPECT_EQ(growing.row_count(), 2U);
  EXPECT_THAT(growing.row(1).text(), testing::EndsWith(text.substr(text.size() - 12)));
}

}  // namespace
}  // namespace bitnet
