// The loop that both kinds of vocabulary share: of all neighbours that fit together, the pair of the best
// rank is joined first, the leftmost among equals, and so on until no pair fits.
//
// Thread rule: this is a pure function.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <queue>
#include <vector>

namespace bitnet {

template <typename Rank, typename Symbol>
struct Joined {
  Rank rank;  // the lowest is the best
  Symbol symbol;
};

// Joins `symbols` in place, in O(n log n) of their number. `find(left, right)` returns what two neighbours
// become as std::optional<Joined<Rank, Symbol>>, and nothing if they do not fit; equal symbols must give
// equal results.
template <typename Rank, typename Symbol, typename Find>
void merge_pairs(std::vector<Symbol>& symbols, const Find& find) {
  // A linked list over the positions of `symbols`. A joined symbol keeps the position of its left half.
  struct Link {
    uint32_t prev, next;
    bool gone;
  };
  struct Candidate {
    Rank rank;
    uint32_t at;  // the position of the left symbol
    Symbol left, right, joined;
    bool operator>(const Candidate& o) const { return rank != o.rank ? rank > o.rank : at > o.at; }
  };
  const auto n = static_cast<uint32_t>(symbols.size());
  if (n < 2) return;
  std::vector<Link> links(n);
  for (uint32_t i = 0; i < n; ++i) links[i] = {i - 1, i + 1, false};  // links[0].prev wraps to a value >= n

  std::vector<Candidate> storage;
  storage.reserve(n);
  std::priority_queue<Candidate, std::vector<Candidate>, std::greater<>> queue({}, std::move(storage));
  const auto consider = [&](uint32_t at) {
    const uint32_t next = links[at].next;
    if (next >= n) return;
    if (const std::optional<Joined<Rank, Symbol>> joined = find(symbols[at], symbols[next]))
      queue.push({joined->rank, at, symbols[at], symbols[next], joined->symbol});
  };
  for (uint32_t i = 0; i + 1 < n; ++i) consider(i);

  while (!queue.empty()) {
    const Candidate best = queue.top();
    queue.pop();
    const uint32_t right = links[best.at].next;
    // Since it was queued, one of the two may have been joined with another symbol.
    if (links[best.at].gone || right >= n) continue;
    if (!(symbols[best.at] == best.left) || !(symbols[right] == best.right)) continue;
    symbols[best.at] = best.joined;
    links[right].gone = true;
    links[best.at].next = links[right].next;
    if (links[right].next < n) links[links[right].next].prev = best.at;
    if (links[best.at].prev < n) consider(links[best.at].prev);
    consider(best.at);
  }
  size_t kept = 0;
  for (uint32_t i = 0; i < n; i = links[i].next) symbols[kept++] = symbols[i];
  symbols.resize(kept);
}

}  // namespace bitnet
