// The order in which pieces of weights go through a few slots of memory. One queue copies a piece into its
// slot, another uses it there, and two counters tell them how far both are: `copied` and `used`. What runs on
// a queue waits for a counter, and sets one when it is done.
//
// Thread rule: pure functions.
//
// The pieces of a program are numbered from its base + 1 on, and bases are multiples of the number of slots,
// so that the piece at one place of a program always goes through the same slot. A program's last piece sets
// `used` to the base of the next one, for numbers between them have no piece.
#pragma once

#include <cstdint>

namespace bitnet::vk {

// What piece `i` of the n of a program waits for and sets.
struct PieceOrder {
  uint32_t slot;
  uint64_t after_used;  // its copy waits until `used` is that far
  uint64_t copied;      // which its copy sets, and its use waits for
  uint64_t used;        // which its use sets
};

constexpr uint64_t next_base(uint64_t base, uint64_t n, uint64_t slots) {
  return base + (n + slots - 1) / slots * slots;
}

constexpr PieceOrder order_of_piece(uint64_t base, uint32_t i, uint32_t n, uint32_t slots) {
  const uint64_t number = base + i + 1;
  return {i % slots, number > slots ? number - slots : 0, number,
          i + 1 == n ? next_base(base, n, slots) : number};
}

}  // namespace bitnet::vk
