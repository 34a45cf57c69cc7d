// The states of a timeline at some of its positions, in host memory, for what its cache cannot be cut back
// to. A position that people may come back to is marked, and its state is taken just before it would be lost:
// a timeline that stays within reach of its cache has no snapshots.
//
// States that cannot be cut back at all (KvCache::has_states) are taken in the same way: just before what the
// cache has of a marked position is overwritten. Such a position has to be where a batch ends, or what the
// batch is asked to leave (Writing::kept). Marks are then kept apart, since most of them end a batch.
//
// Thread rule: as the Backend.
//
// Snapshots take at most their budget; those go first without which the fewest tokens have to be evaluated
// again, where positions near the end of the timeline count more.
#pragma once

#include <memory>
#include <vector>

#include "kv_cache.h"

namespace bitnet {

class Snapshots {
 public:
  Snapshots(KvCache& cache, uint64_t budget);

  // The tokens at `position` and behind it may be replaced. The position may be ahead of the timeline's end.
  void mark(uint32_t position);
  // The first position of [begin, end] behind `begin` that is marked, where there are states, or `end`.
  uint32_t batch_end(uint32_t begin, uint32_t end) const;
  // Whether nothing is lost with what the cache has of `position`.
  bool holds(uint32_t position) const;

  // Whether a state has to be taken before tokens behind the timeline's end are written.
  bool due(const Writing& tokens);
  // Has to be called before tokens are evaluated, which are those behind the timeline's end. Requires: where
  // a state is due, nothing is running on the device.
  void will_write(const Writing& tokens);

  // Gives the cache the state of the last position up to `position` that there is one of, and forgets those
  // behind it. Returns that position, which is 0 where there is none.
  uint32_t cut(uint32_t position);

  // The last state that was taken before `position`, or none; and one that was saved.
  KvCache::Earlier last_before(uint32_t position) const;
  void add(const KvCache::Earlier& earlier);

 private:
  struct Snapshot {
    uint32_t position;
    uint64_t bytes;
    std::unique_ptr<std::byte[]> state;
  };
  void mark_far(const Writing& tokens);
  uint32_t before(uint32_t position) const;
  void take(uint32_t position);
  void keep(uint32_t position, uint64_t bytes, std::unique_ptr<std::byte[]> state);
  bool make_room(uint32_t position, uint64_t bytes);

  KvCache& cache_;
  const uint64_t budget_;
  std::vector<uint32_t> marks_;      // in order, none before cache_.oldest()
  std::vector<Snapshot> snapshots_;  // in order
};

}  // namespace bitnet
