// A conversation as a tree: numbers, siblings and ends of branches.
//
// Thread rule: immutable once made; any thread.
//
// A message's number is its place among all messages of its conversation in the order they were made, from 1.
// It never changes, because no message is ever taken out. In a conversation without branches message N is the
// N-th.
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "store.h"

namespace bitnet {

class MessageTree {
 public:
  // As Store::outline gives them.
  explicit MessageTree(std::vector<OutlineMessage> messages);

  struct Place {
    int64_t number = 0;
    uint32_t sibling = 1;
    uint32_t siblings = 1;
  };
  Place place(int64_t id) const;  // all zero and one where there is no such message

  size_t size() const { return messages_.size(); }
  const OutlineMessage* find(int64_t id) const;     // nullptr where there is no such message
  const OutlineMessage* numbered(int64_t n) const;  // likewise
  const std::vector<int64_t>& children(std::optional<int64_t> parent) const;  // the oldest first

  // Messages that nothing follows, and those that /fork kept, the oldest first.
  std::vector<int64_t> ends() const;
  std::vector<int64_t> path(int64_t id) const;  // from the first message down to `id`
  // The newest child at each step down from `id`, to the first answer; `id` itself where it is one or where
  // nothing follows.
  int64_t answer_below(int64_t id) const;

 private:
  std::vector<OutlineMessage> messages_;
  std::unordered_map<int64_t, size_t> index_;                   // in messages_
  std::unordered_map<int64_t, std::vector<int64_t>> children_;  // of 0: the first messages
};

}  // namespace bitnet
