#include "bpe.h"

#include <algorithm>
#include <bit>
#include <functional>
#include <queue>

namespace bitnet {
namespace {

size_t table_size(size_t n) { return std::bit_ceil(std::max<size_t>(16, n * 2)); }

uint64_t pair_of(int32_t left, int32_t right) {
  return static_cast<uint64_t>(static_cast<uint32_t>(left)) << 32 | static_cast<uint32_t>(right);
}

// The finaliser of splitmix64 (Steele et al. 2014).
size_t mix(uint64_t x) {
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
  x = (x ^ x >> 27) * 0x94d049bb133111eb;
  return x ^ x >> 31;
}

}  // namespace

TokenTable::TokenTable(size_t n_expected) : slots_(table_size(n_expected)) {}

int32_t TokenTable::insert(std::string_view bytes, int32_t id) {
  const size_t mask = slots_.size() - 1;
  size_t i = std::hash<std::string_view>{}(bytes)&mask;
  for (; slots_[i].id >= 0; i = (i + 1) & mask) {
    if (slots_[i].bytes == bytes) return slots_[i].id;
  }
  slots_[i] = {bytes, id};
  return -1;
}

int32_t TokenTable::find(std::string_view bytes) const {
  const size_t mask = slots_.size() - 1;
  for (size_t i = std::hash<std::string_view>{}(bytes)&mask; slots_[i].id >= 0; i = (i + 1) & mask) {
    if (slots_[i].bytes == bytes) return slots_[i].id;
  }
  return -1;
}

Bpe::Bpe(size_t n_merges) : slots_(table_size(n_merges), Slot{kFree, 0, 0}) {}

void Bpe::add_merge(int32_t left, int32_t right, int32_t merged) {
  const uint64_t pair = pair_of(left, right);
  const size_t mask = slots_.size() - 1;
  size_t i = mix(pair) & mask;
  for (; slots_[i].pair != kFree; i = (i + 1) & mask) {
    if (slots_[i].pair == pair) return;
  }
  slots_[i] = {pair, n_merges_++, merged};
}

const Bpe::Slot* Bpe::find(int32_t left, int32_t right) const {
  const uint64_t pair = pair_of(left, right);
  const size_t mask = slots_.size() - 1;
  for (size_t i = mix(pair) & mask; slots_[i].pair != kFree; i = (i + 1) & mask) {
    if (slots_[i].pair == pair) return &slots_[i];
  }
  return nullptr;
}

void Bpe::merge(std::vector<int32_t>& ids) const {
  // The symbols are a linked list over the positions of `ids`. A joined symbol keeps the position of its left
  // half; the id of its right half becomes -1.
  struct Link {
    uint32_t prev, next;
  };
  struct Candidate {
    uint32_t rank, at;  // `at` is the position of the left symbol
    int32_t left, right, merged;
    bool operator>(const Candidate& o) const { return rank != o.rank ? rank > o.rank : at > o.at; }
  };
  const auto n = static_cast<uint32_t>(ids.size());
  if (n < 2) return;
  std::vector<Link> links(n);
  for (uint32_t i = 0; i < n; ++i) links[i] = {i - 1, i + 1};  // links[0].prev wraps to a value >= n

  std::vector<Candidate> storage;
  storage.reserve(n);
  std::priority_queue<Candidate, std::vector<Candidate>, std::greater<>> queue({}, std::move(storage));
  const auto consider = [&](uint32_t at) {
    const uint32_t next = links[at].next;
    if (next >= n) return;
    if (const Slot* s = find(ids[at], ids[next])) queue.push({s->rank, at, ids[at], ids[next], s->merged});
  };
  for (uint32_t i = 0; i + 1 < n; ++i) consider(i);

  while (!queue.empty()) {
    const Candidate best = queue.top();
    queue.pop();
    const uint32_t right = links[best.at].next;
    // Since it was queued, one of the two may have been joined with another symbol.
    if (ids[best.at] != best.left || right >= n || ids[right] != best.right) continue;
    ids[best.at] = best.merged;
    ids[right] = -1;
    links[best.at].next = links[right].next;
    if (links[right].next < n) links[links[right].next].prev = best.at;
    if (links[best.at].prev < n) consider(links[best.at].prev);
    consider(best.at);
  }
  std::erase(ids, -1);
}

}  // namespace bitnet
