// The keys and values of a timeline on the device, in F16, and their formats as bytes.
//
// Thread rule: as the Backend.
//
// A layer with a window keeps its last positions in a ring, so a timeline cannot be cut back to any position:
// what a token sees at a position before oldest() has been overwritten. The states of earlier positions are
// taken before that happens and restored when they are needed (snapshots.h).
//
// What a DeltaNet remembers cannot be cut back at all. Its state before the token at position p lies at
// [p % 2] (DeltaState), so there are those of two positions at most: that of the timeline's end, and of its
// last token or of the beginning of a batch with an odd number of tokens. A state can be taken where a batch
// ends, and of one position within it, an odd number of tokens before its end, if what was there before it
// may be lost.
//
// The payload of save is little-endian, and load checks all of it:
//   "BNKV", u32 version 2, 32 bytes model fingerprint (hex text), u32 n_layer, u32 bytes a row, u32 1 where
//   keys are rotated for a long context (RopeScaling::is_long) and else 0, u32 n_tokens, u32 oldest, n_tokens
//   i32 ids, then per layer rows of keys and as many rows of values, and u64 XXH3-64 of all before.
// A model with states has version 3. Before the hash come then u32 n_states, 1 or 2, and for each, in the
// order of positions, u32 position and the state there as [layers] of the inputs of the convolution and the
// heads. The last one is that of position n_tokens.
// A row is one position: [n_head_kv][head_dim] F16, keys after RoPE. Where layers have rows of different
// sizes, bytes a row is 0, and the fingerprint tells. A layer has the rows from the first position that the
// token at `oldest` sees to the last. Layers that use the cache of another have none.
#pragma once

#include <array>
#include <optional>
#include <vector>

#include "engine/model/kv_rows.h"
#include "engine/model/model.h"

namespace bitnet {

// Tokens at positions [begin, end) that are written in one batch or one by one.
struct Writing {
  uint32_t begin = 0, end = 0;
  bool one_by_one = false;
  uint32_t kept = 0;  // a position within a batch whose state is left too, or 0
};

class KvCache {
 public:
  // Batches have at most most_batch tokens.
  KvCache(Backend& backend, const Model& model, uint32_t n_ctx, uint32_t most_batch);

  // Requires: the layer has a cache of its own, it is some layer's attention.kv_of.
  Buffer& keys(size_t layer) { return *layers_[layer].keys; }
  Buffer& values(size_t layer) { return *layers_[layer].values; }

  // What the layer's DeltaNet remembers. Requires: it has one.
  const DeltaState& delta(size_t layer) const { return layers_[layer].delta; }

  // The first position at which the timeline may be cut and go on: all that a token there sees is in the
  // cache. With states that is so for few of the positions behind it too.
  uint32_t oldest() const { return oldest_; }
  bool has_states() const { return states_bytes_ != 0; }
  // Whether the timeline can go on at `position`, and whether it still can, or may yet be able to, after
  // tokens have been written.
  bool has(uint32_t position) const { return position >= oldest_ && has_state(states_, position); }
  bool keeps(uint32_t position, const Writing& tokens) const;
  // The last position up to `position` that it has.
  std::optional<uint32_t> last_up_to(uint32_t position) const;
  // Has to be called before tokens are evaluated, also such as will not be in the timeline.
  void will_write(const Writing& tokens);
  // Requires: has(position).
  void cut(uint32_t position);
  void restart();  // at position 0

  // What the token at `position` sees in layers with a window, and states. Requires: has(position).
  uint64_t state_bytes(uint32_t position) const;
  void take_state(uint32_t position, std::span<std::byte> state) const;
  // Afterwards oldest() is `position`. Other layers must have the positions before it.
  void restore_state(uint32_t position, std::span<const std::byte> state);

  // By how many bytes rings are smaller than caches of all positions.
  uint64_t bytes_saved() const;

  // A state of an earlier position, as take_state gives it, which is saved too; or none.
  struct Earlier {
    uint32_t position = 0;
    std::span<const std::byte> state;
  };
  uint64_t save_bytes(size_t n_tokens, bool with_earlier) const;
  // Requires, where there are states: has(number of tokens).
  std::vector<std::byte> save(std::span<const int32_t> tokens, const Earlier& earlier) const;
  // Returns the tokens whose rows are now in the cache. `earlier` points into the payload. Where it throws
  // Error(runtime), the rows are undefined.
  std::vector<int32_t> load(std::span<const std::byte> payload, Earlier& earlier);

 private:
  struct LayerCache : KvRows {
    BufferPtr keys;  // [rows][n_head_kv][head_dim] F16; null where the layer uses another's
    BufferPtr values;
    bool is_ring = false;
    DeltaState delta;  // null where the layer has no DeltaNet
  };

  static constexpr uint32_t kNoPosition = UINT32_MAX;
  using Positions = std::array<uint32_t, 2>;  // of the state that lies at each, or kNoPosition
  bool has_state(const Positions& states, uint32_t position) const {
    return !has_states() || states[position % 2] == position;
  }
  void record_first_states();
  Positions states_after(const Writing& tokens) const;
  void download_states(uint32_t position, std::byte*& to) const;
  void upload_states(uint32_t position, const std::byte*& from);
  uint64_t saved_states_bytes(uint32_t n) const { return has_states() ? 4 + n * (4 + states_bytes_) : 0; }
  Earlier check_states(std::span<const std::byte> bytes, uint32_t n_tokens) const;

  // oldest() when tokens up to position `end` will have been written.
  uint32_t oldest_after(uint32_t end) const;
  uint32_t header_row_bytes() const;
  uint64_t saved_rows_bytes(uint32_t oldest, uint32_t n_tokens) const;
  void download(const LayerCache& layer, uint32_t first, uint32_t end, std::byte*& to) const;
  void upload(const LayerCache& layer, uint32_t first, uint32_t end, const std::byte*& from);

  Backend& backend_;
  std::string fingerprint_;
  uint32_t n_ctx_;
  bool is_long_;
  std::vector<LayerCache> layers_;
  uint32_t reach_ = UINT32_MAX;  // how far behind the last position written oldest() is; at most everything
  uint32_t oldest_ = 0;
  uint64_t states_bytes_ = 0;  // of all layers, at one position
  Positions states_ = {kNoPosition, kNoPosition};
  BufferPtr zeros_;                        // as many as a layer's state has
  std::unique_ptr<Program> first_states_;  // makes the states of position 0 of them
};

}  // namespace bitnet
