#include "token_table.h"

#include <algorithm>
#include <bit>

#include "mix.h"

namespace bitnet {

TokenTable::TokenTable(size_t n_expected)
    : seed_(hash_seed()), slots_(std::bit_ceil(std::max<size_t>(16, n_expected * 2))) {}

int32_t TokenTable::insert(std::string_view bytes, int32_t id) {
  const size_t mask = slots_.size() - 1;
  size_t i = hash_bytes(bytes, seed_) & mask;
  for (; slots_[i].id >= 0; i = (i + 1) & mask) {
    if (slots_[i].bytes == bytes) return slots_[i].id;
  }
  slots_[i] = {bytes, id};
  return -1;
}

int32_t TokenTable::find(std::string_view bytes) const {
  const size_t mask = slots_.size() - 1;
  for (size_t i = hash_bytes(bytes, seed_) & mask; slots_[i].id >= 0; i = (i + 1) & mask) {
    if (slots_[i].bytes == bytes) return slots_[i].id;
  }
  return -1;
}

}  // namespace bitnet
