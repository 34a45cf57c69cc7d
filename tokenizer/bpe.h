// Byte-pair merging over token ids (Sennrich et al. 2016): of all neighbours that a merge joins, the
// best-ranked one is joined first, the leftmost among equals, until no merge fits.
//
// Thread rule: immutable once the merges are in; any number of threads may then call merge().
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

namespace bitnet {

// Byte string -> token id. Holds views: the strings must outlive the table and stay where they are.
class TokenTable {
 public:
  explicit TokenTable(size_t n_expected);
  // The id that already has these bytes, or -1 and `id` now has them.
  int32_t insert(std::string_view bytes, int32_t id);
  int32_t find(std::string_view bytes) const;  // -1 = none

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

  // Merges in order of rank, best first; a pair that is there already keeps its better rank.
  void add_merge(int32_t left, int32_t right, int32_t merged);

  // Joins `ids` (the byte tokens of one piece) in place. O(n log n) in their number.
  void merge(std::vector<int32_t>& ids) const;

 private:
  struct Slot {
    uint64_t pair;  // left << 32 | right; kFree = none
    uint32_t rank;
    int32_t merged;
  };
  static constexpr uint64_t kFree = ~uint64_t{0};
  const Slot* find(int32_t left, int32_t right) const;  // nullptr = no merge

  std::vector<Slot> slots_;  // open addressing, a power of two, at most half full
  uint32_t n_merges_ = 0;
};

}  // namespace bitnet
