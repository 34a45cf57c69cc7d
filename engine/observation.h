// What can be seen inside a forward pass, and what can be changed there. Both are recorded where
// engine/forward.cpp records the blocks, so that kernels know nothing of them, and a pass without them is the
// same commands as ever.
//
// Thread rule: values; on_rows is called on the thread that calls Session::sync.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

namespace bitnet {

// The places at which a block can be looked at, in the order in which it comes to them (forward.cpp has the
// formulas). Layers with a DeltaNet in place of attention have none of qkv, query, weights and heads. What a
// token has there is a row of f32, of this width:
enum class Stage : uint8_t {
  input,      // [n_embd] what the projections of attention are given: norm(x), before it is rounded
  qkv,        // [n_head + 2 n_head_kv][head_dim] q, k, v without bias, norms of heads and RoPE
  query,      // [n_head][head_dim] q with all of them
  weights,    // [n_head][keys] the softmax of attention; keys are those of positions 0 to the batch's last
  heads,      // [n_head][head_dim] what attention gives, before W_out and the norm in front of it
  attention,  // [n_embd] what attention adds to the residual stream
  ffn,        // [n_embd] what the feed-forward adds to it
  residual,   // [n_embd] the residual stream after the block
};
constexpr int kStages = 8;
const char* name_of(Stage stage);

// What Session::sync is to hand out while it computes. A token has the same bits with and without it.
struct Observation {
  std::vector<Stage> stages;
  uint32_t first_layer = 0, end_layer = UINT32_MAX;
  uint32_t from = 0;  // the first position to look at
  // Gets rows [n][width] of positions [position, position + n), once for each layer and stage and batch;
  // they are valid during the call. Positions whose keys and values were kept are not computed again and so
  // not handed out.
  std::function<void(Stage, uint32_t layer, uint32_t position, uint32_t n, std::span<const float> rows)>
      on_rows;
  // Whether a layer that has not all of the stages hands out those that it has; otherwise it is an
  // Error(usage).
  bool skips_missing = false;
};

// Changes of the forward pass of a loaded model. They belong to its fingerprint.
struct Interventions {
  struct Steer {
    uint32_t layer = 0;
    std::vector<float> vector;  // [n_embd], added to the residual stream after the layer, at every position
  };
  struct Head {
    uint32_t layer = 0, head = 0;  // which gives zeros
  };
  std::vector<Steer> steers;
  std::vector<Head> ablated;
  bool empty() const { return steers.empty() && ablated.empty(); }
};

}  // namespace bitnet
