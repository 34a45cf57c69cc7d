// Every hyperparameter of a model, neutral where its family has none.
//
// Thread rule: values.
#pragma once

#include "engine/backend.h"

namespace bitnet {

// How positions are stretched for contexts longer than those of the training (Peng et al. 2023, "YaRN"; Ding
// et al. 2024, "LongRoPE"). `factors` divide the angle of each pair of features; llama 3.1 keeps them as
// rope_freqs.weight.
struct RopeScaling {
  enum class Kind { none, linear, yarn, long_rope } kind = Kind::none;
  float factor = 1;
  uint32_t original_context = 0;        // yarn, long_rope: tokens of the training
  float beta_fast = 32, beta_slow = 1;  // yarn: turns within the original context between which it blends
  float attention_factor = 1;           // times cos and sin
  std::vector<float> factors;           // [rope_dim / 2], or none
  std::vector<float> long_factors;      // long_rope: those of contexts above the original one
  bool is_long(uint32_t n_ctx) const { return !long_factors.empty() && n_ctx > original_context; }
};

// One way to rotate heads.
struct Rope {
  float base = 10000;  // theta
  uint32_t dim = 0;    // features of a head that are rotated
  RopeScaling scaling;
};

// What may differ from layer to layer.
struct Layer {
  AttentionShape heads;
  uint32_t rope = 0;   // of Config::ropes
  uint32_t kv_of = 0;  // the layer in whose cache its keys and values are
  uint32_t n_ff = 0;
  float clamp = 0;        // as FeedForward::clamp
  DeltaShape delta = {};  // in place of attention, or none
};

struct Config : ModelInfo {
  float norm_epsilon = 0;
  // Those of layers that see all keys, and of layers with a window where they rotate otherwise.
  // block.attention.rope says which; without any, positions are learned.
  std::vector<Rope> ropes = {Rope{}};
  // The file pairs features 2 i and 2 i + 1 of a head. The rows of q and k are put in the order of pairs i
  // and i + rope_dim / 2 while they are loaded, which is the only one that kernels know.
  bool interleaved_rope = false;
  Act act = Act::silu;
  float embedding_scale = 1;
  float logit_softcap = 0;                 // logits become softcap * tanh(logits / softcap); 0: they stay
  std::vector<int32_t> suppressed_tokens;  // their logits become -inf
  Routing routing;                         // of n_expert_used of the n_expert experts
  uint32_t n_per_layer = 0;                // Gemma's per-layer inputs: features that each layer is given
  std::vector<Layer> layers;               // [n_layer], for the family's own use; empty where all are alike
  // Of a layer like all others.
  AttentionShape attention_shape() const {
    return {n_head, n_head_kv, head_dim, ropes.empty() ? 0 : ropes[0].dim};
  }
};

}  // namespace bitnet
