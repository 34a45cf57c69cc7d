// Byte-pair merging over token ids (Sennrich et al. 2016). Of all neighbours that some merge joins, the pair
// of the best rank is joined first, the leftmost among equals, and so on until no merge fits.
//
// Thread rule: once all merges are added, any number of threads may call merge().
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

namespace bitnet {

// Maps byte strings to token ids. It holds views: the strings must outlive the table and must not move.
class TokenTable {
 public:
  explicit TokenTable(size_t n_expected);
  // Returns the id that already has these bytes; otherwise `id` now has them, and the result is -1.
  int32_t insert(std::string_view bytes, int32_t id);
  int32_t find(std::string_view bytes) const;  // -1 if there is none

 private:
  struct Slot {
    std::string_view bytes;
    int32_t id = -1;
  };
  std::vector<Slot> slots_;  // open addressing, a power of two, at most half full
};

class Bpe {
 public:
  explicit Bpe(size_t n_merges);

  // Requires: merges come in order of rank, best first. A pair that is added again keeps its first, better
  // rank.
  void add_merge(int32_t left, int32_t right, int32_t merged);

  // Joins `ids` (the byte tokens of one piece) in place, in O(n log n) of their number.
  void merge(std::vector<int32_t>& ids) const;

 private:
  struct Slot {
    uint64_t pair;  // left << 32 | right; kFree = none
    uint32_t rank;
    int32_t merged;
  };
  static constexpr uint64_t kFree = ~uint64_t{0};
  const Slot* find(int32_t left, int32_t right) const;  // null if no merge joins the two

  std::vector<Slot> slots_;  // open addressing, a power of two, at most half full
  uint32_t n_merges_ = 0;
};

}  // namespace bitnet
