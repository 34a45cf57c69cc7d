// Tests the pace of the screen, with a clock that only the test moves.
#include "app/view/frame_pace.h"

#include <gtest/gtest.h>

namespace bitnet {
namespace {

using std::chrono::milliseconds;

class FramePaceTest : public testing::Test {
 protected:
  void pass(int ms) { now_ += milliseconds(ms); }
  bool due() const { return pace_.frame_due(now_); }
  void draw() { pace_.frame_drawn(now_); }
  int wait() const {
    const auto time = pace_.time_to_frame(now_);
    return time ? static_cast<int>(time->count()) : -1;
  }

  FramePace pace_;
  FramePace::Clock::time_point now_ = FramePace::Clock::time_point(std::chrono::hours(1));
};

TEST_F(FramePaceTest, TheFirstFrameIsDueAtOnceAndNoneAfterItUntilSomethingChanges) {
  EXPECT_TRUE(due());
  EXPECT_EQ(wait(), 0);
  draw();
  pass(5000);
  EXPECT_FALSE(due());
  EXPECT_EQ(wait(), -1);
  pace_.change();
  EXPECT_TRUE(due());
}

TEST_F(FramePaceTest, AnswersAreDrawnEvery40Milliseconds) {
  draw();
  pass(10);
  pace_.change();
  EXPECT_FALSE(due());
  EXPECT_EQ(wait(), 30);
  pass(30);
  EXPECT_TRUE(due());
  EXPECT_EQ(wait(), 0);
}

TEST_F(FramePaceTest, AKeyIsDrawnAtOnceAndAnswersEvery66MillisecondsForASecondAfterIt) {
  draw();
  pass(1);
  pace_.press_key(now_);
  EXPECT_TRUE(due());
  draw();
  pace_.change();
  EXPECT_EQ(wait(), 66);
  pass(40);
  EXPECT_FALSE(due());
  pass(26);
  EXPECT_TRUE(due());
  draw();
  pass(934);  // a second after the key
  pace_.change();
  draw();
  pace_.change();
  EXPECT_EQ(wait(), 40);
}

TEST_F(FramePaceTest, KeysAreDrawnNoMoreThan30TimesASecond) {
  for (int i = 0; i < 30; ++i) {
    pace_.press_key(now_);
    ASSERT_TRUE(due()) << i;
    draw();
    pass(10);
  }
  pace_.press_key(now_);
  EXPECT_FALSE(due());
  EXPECT_EQ(wait(), 700);  // a second after the first of the thirty
  pass(700);
  EXPECT_TRUE(due());
}

}  // namespace
}  // namespace bitnet
