// Tests who gets places for experts: what is used, and nobody where that would cost more of the link than it
// saves.
#include "engine/expert_cache.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>

namespace bitnet {
namespace {

constexpr uint32_t kExperts = 64, kPlaces = 16, kUsed = 4;

// The experts of a token: of each four, so many among the first ones and the others among all.
std::vector<uint32_t> token(std::mt19937& rng, uint32_t of_few, uint32_t first, uint32_t n_few) {
  std::set<uint32_t> ids;
  while (ids.size() < of_few) ids.insert(first + rng() % n_few);
  while (ids.size() < kUsed) ids.insert(rng() % kExperts);
  return {ids.begin(), ids.end()};
}

struct Reads {
  uint32_t hits = 0, copies = 0, uses = 0;
  double saved() const { return (double{1} * hits - copies) / uses; }
};

// Follows tokens, and checks after each that places and experts belong together.
Reads follow(ExpertCache& cache, std::mt19937& rng, int tokens, uint32_t of_few, uint32_t first) {
  Reads reads;
  std::set<uint32_t> there;
  for (uint32_t e = 0; e < kExperts; ++e)
    if (cache.has_place(e)) there.insert(e);
  for (int t = 0; t < tokens; ++t) {
    const auto ids = token(rng, of_few, first, 12);
    const bool may_change = rng() % 3 != 0;
    for (const auto& [place, comes, goes] : cache.follow(ids, may_change)) {
      EXPECT_TRUE(may_change);
      EXPECT_LT(place, kPlaces);
      EXPECT_TRUE(std::ranges::binary_search(ids, comes));
      EXPECT_FALSE(std::ranges::binary_search(ids, goes));
      EXPECT_EQ(there.erase(goes), 1U);
      EXPECT_TRUE(there.insert(comes).second);
      ++reads.copies;
    }
    for (uint32_t e = 0; e < kExperts; ++e) EXPECT_EQ(cache.has_place(e), there.contains(e));
    reads.hits += cache.hits();
    reads.uses += kUsed;
  }
  EXPECT_EQ(there.size(), kPlaces);
  return reads;
}

TEST(ExpertCache, KeepsWhatIsUsedAndFollowsWhenThatChanges) {
  std::mt19937 rng(1);
  ExpertCache cache(kExperts, kPlaces, ExpertCache::Copies::that_pay);
  follow(cache, rng, 500, 3, 30);
  EXPECT_GT(follow(cache, rng, 500, 3, 30).saved(), 0.7);  // a quarter without changes
  follow(cache, rng, 500, 3, 45);
  EXPECT_GT(follow(cache, rng, 500, 3, 45).saved(), 0.7);
}

TEST(ExpertCache, CostsNoMoreOfTheLinkThanPlacesThatNeverChange) {
  for (const uint32_t seed : {1U, 2U, 3U}) {
    std::mt19937 rng(seed);
    ExpertCache cache(kExperts, kPlaces, ExpertCache::Copies::that_pay);
    EXPECT_GT(follow(cache, rng, 4000, 0, 0).saved(), 0.25 - 0.02);
  }
}

TEST(ExpertCache, LetsAllInForTests) {
  std::mt19937 rng(4);
  ExpertCache cache(kExperts, kPlaces, ExpertCache::Copies::of_all);
  for (int t = 0; t < 100; ++t) {
    const auto ids = token(rng, 0, 0, 1);
    cache.follow(ids, true);
    for (const uint32_t id : ids) EXPECT_TRUE(cache.has_place(id));
  }
  ExpertCache small(kExperts, kUsed - 1, ExpertCache::Copies::of_all);  // and no more than there are places
  EXPECT_EQ(small.follow(std::vector<uint32_t>{60, 61, 62, 63}, true).size(), kUsed - 1);
}

}  // namespace
}  // namespace bitnet
