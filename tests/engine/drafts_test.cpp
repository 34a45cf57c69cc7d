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

Tokens guess(const Drafts& drafts, size_t n) {
  Tokens to(n);
  to.resize(drafts.guess(to).n);
  return to;
}

TEST(DraftsTest, GoesOnAsBefore) {
  Drafts drafts;
  drafts.follow(Tokens{1, 2, 3, 4, 5, 6, 7, 1, 2, 3});
  EXPECT_THAT(guess(drafts, 3), ElementsAre(4, 5, 6));
  drafts.append(4);
  EXPECT_THAT(guess(drafts, 3), ElementsAre(5, 6, 7));
}

TEST(DraftsTest, GoesOnBehindTokensThatDiffer) {
  Drafts drafts;
  drafts.learn(Tokens{1, 2, 3, 4, 5, 6, 7, 8, 9, 10});
  drafts.follow(Tokens{1, 2, 3});
  drafts.append(40);
  EXPECT_THAT(guess(drafts, 2), ElementsAre(5, 6));
  drafts.append(5);
  EXPECT_THAT(guess(drafts, 2), ElementsAre(6, 7));
  for (const int32_t other : {60, 70, 80}) drafts.append(other);
  EXPECT_THAT(guess(drafts, 2), ElementsAre());
}

TEST(DraftsTest, AnAnswerMayBeginAsAnother) {
  Drafts drafts;
  drafts.learn(Tokens{1, 2, 3});
  drafts.learn(Tokens{4, 5, 6});
  drafts.expect_latest();
  drafts.follow(Tokens{1, 2, 3, 7, 1, 2, 3});
  EXPECT_THAT(guess(drafts, 5), ElementsAre(4, 5, 6));
  drafts.follow(Tokens{1, 2, 3, 7, 1, 2, 3});
  EXPECT_THAT(guess(drafts, 2), ElementsAre(7, 1)) << "once";
}

TEST(DraftsTest, TakesThePlaceThatSharesMost) {
  Drafts drafts;
  drafts.follow(Tokens{8, 1, 2, 3, 10, 9, 1, 2, 3, 20, 8, 1, 2, 3});
  EXPECT_THAT(guess(drafts, 1), ElementsAre(10));
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
Tokens searched(const Tokens& learned, const Tokens& timeline, size_t n) {
  Tokens all = {-1};
  if (!learned.empty()) {
    all.insert(all.end(), learned.begin(), learned.end());
    all.push_back(-1);
  }
  all.insert(all.end(), timeline.begin(), timeline.end());
  size_t from = 0, places = 0;
  uint32_t match = 0;
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
    ASSERT_EQ(guess(drafts, 9), searched(learned, timeline, 9)) << i;
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

TEST(DraftsTest, LearnsHowManyGuessesCome) {
  for (const bool come : {true, false}) {
    Drafts drafts;
    double first = 0, last = 0;
    for (int32_t i = 0; i < 60; ++i) {
      Tokens to(1);
      drafts.follow(Tokens{1, 2, 3, 4, i + 100, 1, 2, 3});
      const Drafts::Guess guess = drafts.guess(to);
      ASSERT_EQ(guess.n, 1);
      (i == 0 ? first : last) = guess.chances[0];
      drafts.append(come ? 4 : 5);
    }
    EXPECT_EQ(come, last > first);
    EXPECT_NEAR(last, come ? 1 : 0, 0.1);
  }
}

TEST(DraftLengthTest, TriesNothingBeforeItKnowsATokensTime) {
  EXPECT_EQ(DraftLength().choose(std::vector<double>(15, 1.0)), 0);
}

uint32_t choose(const DraftLength& length, double chance, size_t most = 15) {
  return length.choose(std::vector<double>(most, chance));
}

void took(DraftLength& length, uint32_t n, double seconds) {
  for (int i = 0; i < 3; ++i) length.took(n, seconds, 0.01);
}

TEST(DraftLengthTest, IsLongWherePassesCostLittleAndGuessesAreRight) {
  DraftLength length;
  length.took_alone(1);
  took(length, 15, 1.1);
  EXPECT_EQ(choose(length, 0.95), 15);
  EXPECT_EQ(choose(length, 0.95, 4), 3);
  EXPECT_EQ(choose(length, 0.01), 0);
}

TEST(DraftLengthTest, IsNoneWhereAPassCostsMoreThanItsTokens) {
  DraftLength length;
  length.took_alone(1);
  for (const uint32_t n : {1, 3, 7, 15}) took(length, n, 1.1 * (n + 1));
  EXPECT_EQ(choose(length, 1), 0);
}

TEST(DraftLengthTest, WhatOnePassCostsIsTakenForOthers) {
  DraftLength length;
  length.took_alone(1);
  ASSERT_GT(choose(length, 0.8), 0);
  took(length, 15, 50);
  EXPECT_EQ(choose(length, 0.8), 0);
}

TEST(DraftLengthTest, OneSlowPassSaysNothing) {
  DraftLength length;
  length.took_alone(1);
  length.took(15, 100, 0.01);
  EXPECT_GT(choose(length, 0.95), 0);
  for (const int seconds : {2, 100}) length.took(15, seconds, 0.01);
  EXPECT_GT(choose(length, 0.95), 0);
}

TEST(DraftLengthTest, PassesThatWereSlowAreTriedAgainLater) {
  DraftLength length;
  length.took_alone(1);
  took(length, 15, 100);
  EXPECT_EQ(choose(length, 0.95), 0);
  for (int i = 0; i < 2000; ++i) length.took_alone(1);
  EXPECT_GT(choose(length, 0.95), 0);
}

TEST(DraftLengthTest, ALengthThatWasDisturbedIsTriedAgainAfterOthers) {
  DraftLength length;
  length.took_alone(1);
  took(length, 7, 3);
  took(length, 3, 2.5);
  EXPECT_EQ(choose(length, 0.9, 7), 7);
  for (int i = 0; i < 8; ++i) length.took(7, 6, 0.01);
  EXPECT_EQ(choose(length, 0.9, 7), 3);
  for (int i = 0; i < 64; ++i) length.took(3, 2.5, 0.01);
  EXPECT_EQ(choose(length, 0.9, 7), 7);
}

TEST(DraftLengthTest, ATokenThatWasThereAlreadySaysNothing) {
  DraftLength length;
  for (int i = 0; i < 4; ++i) length.took_alone(1);
  length.took_alone(2);     // something kept the host from it,
  length.took_alone(0.01);  // and the device ran ahead meanwhile
  EXPECT_EQ(length.alone(), 1);
}

TEST(DraftLengthTest, WaitsForAGuessThatSavesMoreThanRunningAhead) {
  DraftLength length;
  length.took_alone(1);
  for (int i = 0; i < 3; ++i) length.took_first(2);
  took(length, 7, 2);
  EXPECT_TRUE(length.is_worth_waiting(std::vector<double>(8, 0.9)));
  std::vector<double> chances(8, 0.9);
  chances[0] = 0.1;
  EXPECT_FALSE(length.is_worth_waiting(chances));
}

}  // namespace
}  // namespace bitnet
