// Maps byte strings to token ids.
//
// Thread rule: once all tokens are inserted, any number of threads may call find().
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace bitnet {

// It holds views: the strings must outlive the table and must not move.
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
  uint64_t seed_;
  std::vector<Slot> slots_;  // open addressing, a power of two, at most half full
};

}  // namespace bitnet
