// How many keys and values each layer keeps.
//
// Thread rule: free functions and values.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "engine/backend.h"

namespace bitnet {

// A layer's cache. Position p lies in row p % rows, so that a layer with a window, which has fewer rows than
// there are positions, is a ring.
struct KvRows {
  uint32_t window = 0;     // keys that a token sees, its own included; UINT32_MAX: all
  uint32_t rows = 0;       // 0: the layer uses the cache of another, or has no attention
  uint64_t row_bytes = 0;  // of the keys of one position, and as many of its values

  uint64_t bytes() const { return 2 * rows * row_bytes; }
  // The first position that the token at `position` sees.
  uint32_t first_seen(uint32_t position) const { return position - std::min(position, window - 1); }
};

// What a DeltaNet remembers, of positions p at [p % 2]; bytes of one of the two (DeltaState).
constexpr uint64_t conv_bytes(const DeltaShape& s) {
  return s.n_head_v == 0 ? 0 : uint64_t{s.n_conv - 1} * s.channels() * sizeof(float);
}
constexpr uint64_t heads_bytes(const DeltaShape& s) {
  return uint64_t{s.n_head_v} * s.head_dim * s.head_dim * sizeof(float);
}

// Snapshots of a timeline are so far apart at least (snapshots.h): it is worth none to evaluate fewer tokens
// again.
constexpr uint32_t kSnapshotsApart = 64;

// A ring has room for its window, a batch and as many positions more, rounded up to whole chunks.
constexpr uint32_t kRingSlack = 64;

// The caches of the layers of a timeline of n_ctx tokens; `blocks` are of the file or of the device.
template <typename Block>
std::vector<KvRows> kv_rows_of(const std::vector<Block>& blocks, uint32_t n_ctx,
                               uint32_t most_batch = kMaxBatch) {
  std::vector<KvRows> layers(blocks.size());
  for (const Block& block : blocks) {
    if (block.delta) continue;
    const AttentionShape& s = block.attention.shape;
    KvRows& layer = layers[block.attention.kv_of];
    layer.window = std::max(layer.window, s.window == 0 ? UINT32_MAX : s.window);
    layer.row_bytes = uint64_t{s.n_head_kv} * s.head_dim * sizeof(uint16_t);
    const uint64_t room = uint64_t{layer.window} + most_batch + kRingSlack;
    const uint64_t ring = (room + kAttentionChunk - 1) / kAttentionChunk * kAttentionChunk;
    layer.rows = static_cast<uint32_t>(std::min<uint64_t>(n_ctx, ring));
  }
  return layers;
}

}  // namespace bitnet
