// How the values of a GGUF file lie in it, for the parser and for the typed access.
//
// Thread rule: free functions.
#pragma once

#include <bit>
#include <cstring>

#include "engine/gguf.h"

namespace bitnet {

static_assert(std::endian::native == std::endian::little, "the file's numbers are read in place");

// Bytes of a value of fixed size; 0 for strings and arrays.
uint64_t size_of(GgufType type);

template <typename T>
T load(const std::byte* at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

inline std::string_view as_text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace bitnet
