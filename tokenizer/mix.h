// Hashing that the maker of a file cannot foresee: tables of its tokens and merges stay fast whatever these
// are. Only where an entry lies in a table depends on it, no result does.
//
// Thread rule: free functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace bitnet {

uint64_t hash_seed();  // random, the same for as long as the process lives

// The finaliser of splitmix64 (Steele et al. 2014).
inline size_t mix(uint64_t x) {
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
  x = (x ^ x >> 27) * 0x94d049bb133111eb;
  return x ^ x >> 31;
}

// A polynomial whose coefficients are the bytes, seven in each, at the place `seed` modulo 2^61 - 1. For a
// seed that nobody knows, two texts of n bytes have the same hash with a chance of n / 2^60.
size_t hash_bytes(std::string_view bytes, uint64_t seed);

}  // namespace bitnet
