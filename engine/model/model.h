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
  std::vector<Block> blocks;
  Norm output_norm;  // [n_embd]
  // The LM head. A dense one is a table, which is token_embd where `dense_head` is empty; a ternary one is a
  // projection like others, n_embd -> n_vocab.
  Table dense_head;
  Matrix ternary_head;
  bool has_ternary_head() const { return ternary_head.n_in != 0; }
  const Table& head() const { return dense_head.n_vocab == 0 ? token_embd : dense_head; }
};

}  // namespace bitnet
