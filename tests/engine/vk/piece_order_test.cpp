// Tests the order of pieces by a model of two queues: every state that they can reach is looked at.
#include "engine/vk/piece_order.h"

#include <gtest/gtest.h>

#include <array>
#include <set>
#include <tuple>
#include <vector>

namespace bitnet::vk {
namespace {

// Two queues that run programs of so many pieces each, one after the other. A queue runs its commands in
// their order; each is begun, once its counter is far enough, and ended.
class Queues {
 public:
  Queues(uint32_t slots, const std::vector<uint32_t>& programs) {
    uint64_t base = 0;
    for (const uint32_t n : programs) {
      for (uint32_t i = 0; i < n; ++i) pieces_.push_back(order_of_piece(base, i, n, slots));
      base = next_base(base, n, slots);
    }
  }

  // Goes through all states from the first one, and returns how many there are.
  size_t look_at_all() {
    std::vector<State> open = {{}};
    std::set<State> seen = {{}};
    while (!open.empty()) {
      const State s = open.back();
      open.pop_back();
      const std::vector<State> next = after(s);
      if (next.empty()) {
        EXPECT_EQ(s.steps[kUse], 2 * pieces_.size()) << "nothing can go on";
      }
      for (const State& n : next)
        if (seen.insert(n).second) open.push_back(n);
      if (testing::Test::HasFailure()) break;
    }
    return seen.size();
  }

 private:
  enum { kCopy, kUse };
  struct State {
    std::array<size_t, 2> steps{};  // of each queue: command i begins with step 2 i and ends with 2 i + 1
    uint64_t copied = 0, used = 0;
    std::array<size_t, 4> in_slot{};  // the piece that lies in a slot, from 1 on; 0: none, or half of one
    auto key() const { return std::tie(steps, copied, used, in_slot); }
    bool operator<(const State& o) const { return key() < o.key(); }
  };

  std::vector<State> after(const State& s) const {
    std::vector<State> next;
    for (const int queue : {kCopy, kUse}) {
      const size_t i = s.steps[queue] / 2;
      if (i == pieces_.size()) continue;
      const PieceOrder& p = pieces_[i];
      State n = s;
      ++n.steps[queue];
      if (s.steps[queue] % 2 == 0) {
        if (queue == kCopy ? s.used < p.after_used : s.copied < p.copied) continue;
        if (queue == kCopy) {
          const size_t u = s.steps[kUse] / 2;
          const bool in_use = s.steps[kUse] % 2 == 1 && pieces_[u].slot == p.slot;
          EXPECT_FALSE(in_use) << "piece " << i << " is copied into a slot that is in use";
          // Nor may a piece be lost that has not been used yet.
          EXPECT_TRUE(s.in_slot[p.slot] == 0 || s.in_slot[p.slot] <= u) << "piece " << i;
          n.in_slot[p.slot] = 0;
        } else {
          EXPECT_EQ(s.in_slot[p.slot], i + 1) << "piece " << i << " is used before it is there";
        }
      } else if (queue == kCopy) {
        EXPECT_LT(s.copied, p.copied) << "a counter must grow";
        n.copied = p.copied;
        n.in_slot[p.slot] = i + 1;
      } else {
        EXPECT_LT(s.used, p.used) << "a counter must grow";
        n.used = p.used;
      }
      next.push_back(n);
    }
    return next;
  }

  std::vector<PieceOrder> pieces_;
};

TEST(PieceOrder, NoInterleavingBreaksASlotOrStops) {
  for (const uint32_t slots : {1U, 2U, 3U, 4U})
    for (const std::vector<uint32_t>& programs :
         {std::vector<uint32_t>{1}, {9}, {1, 1, 1}, {2, 7}, {5, 4, 6}, {3, 1, 2, 8}}) {
      SCOPED_TRACE(std::to_string(slots) + " slots, " + std::to_string(programs.size()) + " programs");
      EXPECT_GT(Queues(slots, programs).look_at_all(), programs.size());
      if (HasFailure()) return;
    }
}

TEST(PieceOrder, CopiesRunAhead) {
  // While a piece is used, the next ones can be copied into all other slots.
  for (const uint32_t slots : {2U, 3U})
    for (uint32_t i = 0; i < 7; ++i) {
      const PieceOrder p = order_of_piece(12, i, 7, slots);
      EXPECT_EQ(p.copied - p.after_used, slots);
      EXPECT_EQ(p.slot, i % slots);
    }
}

TEST(PieceOrder, APieceOfAProgramKeepsItsSlot) {
  uint64_t base = 0;
  for (const uint32_t n : {1U, 5U, 2U, 3U, 100U}) {
    EXPECT_EQ(base % 3, 0U);
    EXPECT_EQ(order_of_piece(base, 0, n, 3).slot, 0U);
    EXPECT_EQ(order_of_piece(base, n - 1, n, 3).used, next_base(base, n, 3));
    base = next_base(base, n, 3);
  }
}

}  // namespace
}  // namespace bitnet::vk
