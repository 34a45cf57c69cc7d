// Every hyperparameter of a model, neutral where its family has none.
//
// Thread rule: values.
#pragma once

#include "engine/backend.h"

namespace bitnet {

// How positions are stretched for contexts longer than those of the training (Peng et al. 2023, "YaRN", for
// the last). `factors` divide the angle of each pair of features; llama 3.1 keeps them as rope_freqs.weight.
struct RopeScaling {
  enum class Kind { none, linear, yarn } kind = Kind::none;
  float factor = 1;
  uint32_t original_context = 0;        // yarn: tokens of the training
  float beta_fast = 32, beta_slow = 1;  // yarn: turns within the original context between which it blends
  float attention_factor = 1;           // yarn: times cos and sin
  const GgufTensor* factors = nullptr;  // [rope_dim / 2] f32
  float factor_of(uint32_t pair) const { return reinterpret_cast<const float*>(factors->data.data())[pair]; }
};

struct Config : ModelInfo {
  float norm_epsilon = 0;
  float rope_base = 10000;  // theta
  uint32_t rope_dim = 0;    // features of a head that are rotated
  RopeScaling rope_scaling;
  // The file pairs features 2 i and 2 i + 1 of a head. The rows of q and k are put in the order of pairs i
  // and i + rope_dim / 2 while they are loaded, which is the only one that kernels know.
  bool interleaved_rope = false;
  Act act = Act::silu;
  AttentionShape attention_shape() const { return {n_head, n_head_kv, head_dim, rope_dim}; }
};

}  // namespace bitnet
