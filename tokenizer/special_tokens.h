// The tokens that are recognised by their whole text and never made by merges: control tokens, the unknown
// token, and those that the makers of a vocabulary defined.
//
// Thread rule: once all tokens are added, any number of threads may read it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "mix.h"

namespace bitnet {

class SpecialTokens {
 public:
  // Each position of a text may read so many bytes. Known tokens have 93 at most (31 times ▁).
  static constexpr size_t kLongest = 256;
  // A node takes up to 100 bytes of memory. The 32,768 or 65,536 marks of sounds or images that some
  // vocabularies have are 3 nodes each.
  static constexpr size_t kMostNodes = size_t{1} << 20;

  SpecialTokens() : factor_(hash_seed() | 1), nodes_(1), slots_(16) {}

  // With `anywhere` the token is recognised in any text, otherwise only in text that is trusted. Throws
  // Error(model) if the text is there already or longer than kLongest, or past kMostNodes.
  void add(int32_t id, std::string_view text, bool anywhere);

  int32_t find(std::string_view text) const;  // -1 if there is none

  // Returns the longest token that begins at `at` and ends by `trusted_end`, or anywhere if it may; -1 if
  // there is none.
  int32_t at(std::string_view text, size_t at, size_t trusted_end) const;

 private:
  // A tree of the bytes of the texts. nodes_[0] is its root.
  struct Node {
    int32_t id = -1;        // of the token that ends here
    bool anywhere = false;  // whether that is recognised in any text
    bool leads = false;     // whether such a token ends here or further down
  };
  struct Slot {
    uint64_t edge = 0;  // a node << 8 | the next byte
    uint32_t to = 0;    // 0 if the slot is free
  };
  size_t slot_of(uint64_t edge) const;  // where it is, or where it would go
  uint32_t child(uint32_t node, char byte) const {
    return slots_[slot_of(edge_of(node, byte))].to;  // 0 if there is none
  }
  static uint64_t edge_of(uint32_t node, char byte) {
    return static_cast<uint64_t>(node) << 8 | static_cast<uint8_t>(byte);
  }
  uint32_t make_child(uint32_t node, char byte);

  uint64_t factor_;
  std::vector<Node> nodes_;
  std::vector<Slot> slots_;         // open addressing, a power of two, at most half full
  std::array<bool, 256> begins_{};  // by byte: whether a token begins with it
};

// Whether vocabularies use this text for a token after which nothing is generated.
bool is_end_name(std::string_view text);

// Returns all tokens after which nothing is generated, sorted: `named` (those that the file's keys name; -1
// is left out) and those that have such a text. `html` says that </s> is a tag of HTML.
std::vector<int32_t> find_ends(const SpecialTokens& tokens, std::span<const int32_t> named, bool html);

}  // namespace bitnet
