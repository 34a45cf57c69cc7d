#include "engine/vk/split_tiles.h"

#include <gtest/gtest.h>

namespace bitnet::vk {
namespace {

// An H200 makes 264 tiles of the 27B at a time.
TEST(SplitTiles, OfTwoRoundsTheSecondIsAQuarter) {
  const TileSplit down = split_tiles(320, 136, 264);
  EXPECT_EQ(down.whole, 264U);
  EXPECT_EQ(down.splits, 4U);
  EXPECT_EQ(down.workgroups, 264U + 56 * 4);
}

TEST(SplitTiles, FewTilesAreAllSplit) {
  const TileSplit few = split_tiles(40, 136, 264);
  EXPECT_EQ(few.whole, 0U);
  EXPECT_EQ(few.splits, 6U);
}

TEST(SplitTiles, WhatGainsNothingIsWhole) {
  for (const TileSplit& whole : {split_tiles(320, 136, 0),     // nobody knows how many run at a time
                                 split_tiles(528, 136, 264),   // full rounds
                                 split_tiles(400, 136, 264),   // the last round is half full
                                 split_tiles(2176, 40, 264),   // many rounds
                                 split_tiles(320, 7, 264)}) {  // a few steps
    EXPECT_EQ(whole.splits, 1U);
    EXPECT_EQ(whole.workgroups, whole.whole);
  }
}

TEST(SplitTiles, EachTileHasItsWorkgroupsAndEachOfTheseSteps) {
  for (const uint32_t at_once : {0U, 1U, 16U, 60U, 264U})
    for (const uint32_t steps : {1U, 8U, 48U, 136U})
      for (uint32_t tiles = 1; tiles < 1500; ++tiles) {
        const TileSplit s = split_tiles(tiles, steps, at_once);
        ASSERT_LE(s.whole, tiles);
        ASSERT_GE(s.splits, 1U);
        ASSERT_EQ(s.workgroups, s.whole + (tiles - s.whole) * s.splits);
        if (s.splits == 1) continue;
        ASSERT_EQ(s.whole % at_once, 0U);
        ASSERT_LE((tiles - s.whole) * s.splits, at_once) << "SplitSums has room for no more";
        ASSERT_GE(steps / s.splits, 4U);
      }
}

}  // namespace
}  // namespace bitnet::vk
