// Drafts finds what an exhaustive search finds, and DraftLength what makes the most tokens a second.
#include "engine/drafts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace bitnet {
namespace {

using Tokens = std::vector<int32_t>;
using testing::ElementsAre;

Tokens guess(const Drafts& drafts, size_t n, uint32_t* match = nullptr) {
  Tokens to(n);
  const Drafts::Guess guess = drafts.guess(to);
  to.resize(guess.n);
  if (match) *match = guess.match;
  return to;
}

TEST(DraftsTest, GoesOnAsBefore) {
  Drafts drafts;
  drafts.follow(Tokens{1, 2, 3, 4, 5, 6, 7, 1, 2, 3});
  uint32_t match = 0;
  EXPECT_THAT(guess(drafts, 3, &match), ElementsAre(4, 5, 6));
  EXPECT_EQ(match, 3);
  drafts.append(9);
  EXPECT_THAT(guess(drafts, 3), ElementsAre());
}

TEST(DraftsTest, TakesThePlaceThatSharesMost) {
  Drafts drafts;
  drafts.follow(Tokens{8, 1, 2, 3, 10, 9, 1, 2, 3, 20, 8, 1, 2, 3});
  uint32_t match = 0;
  EXPECT_THAT(guess(drafts, 1, &match), ElementsAre(10));
  EXPECT_EQ(match, 4);
}

TEST(DraftsTest, OfEqualPlacesTheLatest) {
  Drafts drafts;
  drafts.follow(Tokens{7, 1, 2, 3, 10, 8, 1, 2, 3, 20, 9, 1, 2, 3});
  EXPECT_THAT(guess(drafts, 1), ElementsAre(20));
}

TEST(DraftsTest, ATextThatRepeatsItselfGoesOnDoingSo) {
  Drafts drafts;
  drafts.follow(Tokens{1, 2, 1, 2, 1, 2});
  EXPECT_THAT(guess(drafts, 7), ElementsAre(1, 2, 1, 2, 1, 2, 1));
}

TEST(DraftsTest, NoGuessGoesOverTheEndOfAText) {
  Drafts drafts;
  drafts.learn(Tokens{1, 2, 3, 4});
  drafts.learn(Tokens{5, 6});
  drafts.follow(Tokens{1, 2, 3});
  EXPECT_THAT(guess(drafts, 5), ElementsAre(4));
  drafts.follow(Tokens{3, 4, 5});
  EXPECT_THAT(guess(drafts, 5), ElementsAre());
}

TEST(DraftsTest, WhatIsForgottenIsNotGuessed) {
  Drafts drafts;
  drafts.learn(Tokens{1, 2, 3, 4});
  drafts.forget();
  drafts.follow(Tokens{1, 2, 3});
  EXPECT_THAT(guess(drafts, 5), ElementsAre());
}

// The longest match by looking everywhere, of the latest kMostPlaces places with the same three tokens.
Tokens searched(const Tokens& learned, const Tokens& timeline, size_t n, uint32_t& match) {
  Tokens all = {-1};
  if (!learned.empty()) {
    all.insert(all.end(), learned.begin(), learned.end());
    all.push_back(-1);
  }
  all.insert(all.end(), timeline.begin(), timeline.end());
  size_t from = 0, places = 0;
  match = 0;
  for (size_t end = all.size() - 1; end >= 3 && places < Drafts::kMostPlaces; --end) {
    uint32_t same = 0;
    while (same < Drafts::kMostMatch && same < end && all[end - 1 - same] == all[all.size() - 1 - same] &&
           all[end - 1 - same] != -1)
      ++same;
    if (same < 3) continue;
    ++places;
    if (same > match) match = same, from = end;
  }
  Tokens found;
  for (size_t i = from; match != 0 && found.size() < n; ++i) {
    const int32_t token = i < all.size() ? all[i] : found[i - all.size()];
    if (token == -1) break;
    found.push_back(token);
  }
  return found;
}

TEST(DraftsTest, FindsWhatASearchFindsWhateverWasTakenAway) {
  std::mt19937 random(3);
  const auto text = [&](size_t n) {
    Tokens tokens(n);
    for (int32_t& t : tokens) t = static_cast<int32_t>(random() % 3);
    return tokens;
  };
  const Tokens learned = text(300);
  Drafts drafts;
  drafts.learn(learned);
  Tokens timeline;
  for (int i = 0; i < 400; ++i) {
    timeline.resize(random() % (timeline.size() + 1));
    const Tokens more = text(1 + random() % 40);
    timeline.insert(timeline.end(), more.begin(), more.end());
    drafts.follow(timeline);
    uint32_t match = 0, wanted_match = 0;
    const Tokens found = guess(drafts, 9, &match);
    const Tokens wanted = searched(learned, timeline, 9, wanted_match);
    ASSERT_EQ(match, wanted_match) << i;
    ASSERT_EQ(found, wanted) << i;
  }
}

TEST(DraftsTest, HasRoomForMoreThanAtFirst) {
  Drafts drafts;
  Tokens timeline;
  for (int32_t i = 0; i < 20000; ++i) timeline.push_back(i);
  for (const int32_t i : {0, 1, 2}) timeline.push_back(i);
  drafts.follow(timeline);
  EXPECT_THAT(guess(drafts, 2), ElementsAre(3, 4));
}

TEST(DraftLengthTest, TriesNothingBeforeItKnowsATokensTime) { EXPECT_EQ(DraftLength().choose(32, 15), 0); }

void took(DraftLength& length, uint32_t n, double seconds) {
  for (int i = 0; i < 3; ++i) length.took(n, seconds, 0.01);
}

TEST(DraftLengthTest, IsLongWherePassesCostLittleAndGuessesAreRight) {
  DraftLength length;
  length.took_alone(1);
  took(length, 15, 1.1);
  EXPECT_GE(length.choose(20, 15), 10);
  EXPECT_EQ(length.choose(20, 4), 4);
}

TEST(DraftLengthTest, IsNoneWhereAPassCostsAsMuchAsItsTokens) {
  DraftLength length;
  length.took_alone(1);
  for (const uint32_t n : {1, 2, 4, 8, 15}) took(length, n, n + 1);
  EXPECT_EQ(length.choose(32, 15), 0);
}

TEST(DraftLengthTest, OneSlowPassSaysNothing) {
  DraftLength length;
  length.took_alone(1);
  length.took(15, 100, 100);
  EXPECT_GT(length.choose(20, 15), 0);
  for (const int seconds : {2, 100}) length.took(15, seconds, 0.01);
  EXPECT_GT(length.choose(20, 15), 0);
}

TEST(DraftLengthTest, PassesThatWereSlowAreTriedAgainLater) {
  DraftLength length;
  length.took_alone(1);
  took(length, 15, 100);
  EXPECT_EQ(length.choose(20, 15), 0);
  for (int i = 0; i < 2000; ++i) length.took_alone(1);
  EXPECT_GT(length.choose(20, 15), 0);
}

TEST(DraftLengthTest, StopsAfterMissesAndTriesAgainLater) {
  DraftLength length;
  length.took_alone(1);
  took(length, 15, 1.5);
  ASSERT_GT(length.choose(4, 15), 0);
  for (int i = 0; i < 100; ++i) length.were_right(4, 4, 0);
  EXPECT_EQ(length.choose(4, 15), 0);
  EXPECT_GT(length.choose(32, 15), 0) << "longer matches have not missed";
  for (int i = 0; i < 2000; ++i) length.took_alone(1);
  EXPECT_GT(length.choose(4, 15), 0);
}

}  // namespace
}  // namespace bitnet
