// A model on a device: its weights as engine/forward.cpp uses them.
//
// Thread rule: as the Backend.
#pragma once

#include <functional>
#include <vector>

#include "families.h"

namespace bitnet {

struct Model {
  Config config;
  Table token_embd;
  // What is folded into token_embd, and into the head; where that is a projection, it has it too.
  Rotation embedding_rotation, head_rotation;
  BufferPtr positions;  // [n_ctx][n_embd] f32, learned; null where heads are rotated
  struct PerLayer {     // Gemma's per-layer inputs, n_layer * n_per_layer features a token
    Table embd;
    Matrix proj;  // n_embd -> n_layer * n_per_layer
    Norm norm;    // [n_per_layer]
    explicit operator bool() const { return proj.n_in != 0; }
  } per_layer;
  std::vector<Block> blocks;
  // What a person changes in the blocks (engine/observation.h): empty, or one for each block.
  struct Change {
    BufferPtr heads;  // [n_head * head_dim] f32, by which what attention gives is multiplied, or null
    Norm steer;       // whose result is added to the residual stream after the block, or none
  };
  std::vector<Change> changes;
  Norm output_norm;  // [n_embd]
  // The LM head. A dense one is a table, which is token_embd where `dense_head` is empty; a ternary one is a
  // projection like others, n_embd -> n_vocab.
  Table dense_head;
  Matrix ternary_head;
  BufferPtr suppressed;  // config.suppressed_tokens, or null
  bool finishes_logits() const { return config.logit_softcap != 0 || suppressed; }
  bool has_ternary_head() const { return ternary_head.n_in != 0; }
  const Table& head() const { return dense_head.n_vocab == 0 ? token_embd : dense_head; }
};

}  // namespace bitnet
