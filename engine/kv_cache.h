// The keys and values of a timeline on the device, in F16, and their format as bytes.
//
// Thread rule: as the Backend.
//
// The payload is little-endian, and load checks all of it:
//   "BNKV", u32 version 1 (2: keys rotated for a long context, RopeScaling::is_long), 32 bytes model
//   fingerprint (hex text), u32 n_layer, u32 words a row, u32 n_tokens, n_tokens i32 ids, then per layer
//   n_tokens rows of keys and n_tokens rows of values, and u64 XXH3-64 of all before.
// A row is one position: [n_head_kv][head_dim] F16, keys after RoPE. Where layers have rows of different
// sizes, words a row is 0, and the fingerprint tells. Layers that use the cache of another have none in
// there.
#pragma once

#include <vector>

#include "engine/model/model.h"

namespace bitnet {

class KvCache {
 public:
  KvCache(Backend& backend, const Model& model, uint32_t n_ctx);

  // Requires: the layer has a cache of its own, it is some layer's attention.kv_of.
  Buffer& keys(size_t layer) { return *layers_[layer].keys; }
  Buffer& values(size_t layer) { return *layers_[layer].values; }

  std::vector<std::byte> save(std::span<const int32_t> tokens) const;
  // Returns the tokens whose rows are now in the cache. Where it throws Error(runtime), the rows are
  // undefined.
  std::vector<int32_t> load(std::span<const std::byte> payload);

 private:
  struct LayerCache {
    BufferPtr keys;  // [n_ctx][n_head_kv][head_dim] F16; null where the layer uses another's
    BufferPtr values;
    uint64_t row_bytes = 0;
  };

  uint32_t header_row_bytes() const;
  uint64_t bytes_a_token() const;

  Backend& backend_;
  std::string fingerprint_;
  uint32_t version_;  // of the payload
  uint32_t n_ctx_;
  std::vector<LayerCache> layers_;
};

}  // namespace bitnet
