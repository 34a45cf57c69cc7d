// What the model has read of several conversations: what Session::save gave, in memory, within a budget.
//
// Thread rule: belongs to one thread, that of the session.
//
// A timeline is found by the longest beginning that it shares with a prompt. The one that was not used for
// longest gives way first. Timelines of answers that were interrupted to let others go on are held until they
// are released; whoever holds them sees to it that they fit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <span>
#include <vector>

namespace bitnet {

// How many tokens both begin with.
size_t common_beginning(std::span<const int32_t> a, std::span<const int32_t> b);

class KeptTimelines {
 public:
  explicit KeptTimelines(uint64_t most_bytes) : most_bytes_(most_bytes) {}

  uint64_t most_bytes() const { return most_bytes_; }
  uint64_t bytes() const { return bytes_; }
  size_t count() const { return kept_.size(); }

  struct Found {
    size_t common = 0;                   // tokens; 0: there is none, and no payload
    std::span<const std::byte> payload;  // valid until the next call of keep()
  };
  // The timeline that shares the longest beginning with `tokens`; it counts as used now.
  Found find(std::span<const int32_t> tokens);
  // Whether a timeline that is kept begins with `tokens`.
  bool has(std::span<const int32_t> tokens) const;

  // Takes the place of timelines that `tokens` begins with. Where `holder` is not 0, it stays until
  // release(holder). A payload of more than the budget is not kept.
  void keep(std::vector<int32_t> tokens, std::vector<std::byte> payload, uint64_t holder = 0);
  void release(uint64_t holder);

 private:
  struct Kept {
    std::vector<int32_t> tokens;
    std::vector<std::byte> payload;
    uint64_t holder;
  };
  void make_room();

  const uint64_t most_bytes_;
  uint64_t bytes_ = 0;
  std::list<Kept> kept_;  // the one that was used last comes first
};

}  // namespace bitnet
