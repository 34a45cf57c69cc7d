// The text of a hash of 128 bits: 32 hex digits.
//
// Thread rule: free function; any thread.
#pragma once

#include <fmt/format.h>
#include <xxhash.h>

#include <string>

namespace bitnet {

inline std::string text_of_hash(XXH128_hash_t hash) {
  return fmt::format("{:016x}{:016x}", hash.high64, hash.low64);
}

}  // namespace bitnet
