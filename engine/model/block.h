// One block of a model, as tensors of a file and as buffers of a device. What a family does not have is null.
//
// Thread rule: values.
#pragma once

#include <array>
#include <memory>
#include <vector>

#include "config.h"

namespace bitnet {

// Which rows of a tensor of the file are a part: `run` of each `every`, from `first` on.
struct RowRuns {
  uint32_t run = 0;  // 0: all rows
  uint32_t every = 0, first = 0;
};

// The tensors of a stack, those in use first: q, k, v, or gate, up. `scales` has, where the file has one, an
// f32 {1} by which each of them is multiplied, and `biases` likewise an f32 [rows] that is added.
struct TensorStack {
  std::array<const GgufTensor*, 3> parts{};
  std::array<const GgufTensor*, 3> scales{};
  std::array<const GgufTensor*, 3> biases{};
  // A part of which these are some rows has their shape, and the data of all.
  std::array<RowRuns, 3> runs{};
  uint32_t n_expert = 0;  // not 0: a part is a cut that has the rows of all experts below each other
  std::vector<std::shared_ptr<const GgufTensor>> cuts;  // parts that are some rows of a tensor of the file
  explicit operator bool() const { return parts[0] != nullptr; }
};

struct OfFile {
  using Vector = const GgufTensor*;
  using Linear = TensorStack;
  using Bias = std::array<const GgufTensor*, 3>;
};
struct OfDevice {
  using Vector = BufferPtr;
  using Linear = Matrix;
  using Bias = BufferPtr;
};

template <typename Of>
struct BlockOf {
  using NormOf = bitnet::NormOf<typename Of::Vector>;
  struct Attention {
    NormOf pre;                // [n_embd]
    typename Of::Linear gate;  // n_embd -> n_head * head_dim, whose sigmoid multiplies what heads give
    typename Of::Linear qkv;   // n_embd -> shape.row_heads() * head_dim
    AttentionInputOf<typename Of::Vector, typename Of::Bias> input;  // bias, norms of heads
    AttentionShape shape;
    uint32_t rope = 0;        // of Config::ropes
    uint32_t kv_of = 0;       // the layer in whose cache its keys and values are
    NormOf sub;               // [n_head * head_dim]
    typename Of::Linear out;  // n_head * head_dim -> n_embd
    NormOf post;              // [n_embd]
  } attention;
  // Gated DeltaNet in place of attention, where shape.n_head_v is not 0. Both have attention's norms and
  // its projection `out`, of as many features as `delta` gives.
  struct Delta {
    typename Of::Linear qkvz;   // n_embd -> shape.channels() + shape.inner()
    typename Of::Linear gates;  // n_embd -> 2 shape.n_head_v
    DeltaInputOf<typename Of::Vector> input;
    DeltaShape shape;
    explicit operator bool() const { return shape.n_head_v != 0; }
  } delta;
  struct FeedForward {
    NormOf pre;                   // [n_embd]
    typename Of::Linear router;   // n_embd -> n_expert, where gate_up and down are those of experts
    typename Of::Linear gate_up;  // n_embd -> 2 n_ff, or up alone -> n_ff
    NormOf sub;                   // [n_ff]
    typename Of::Linear down;     // n_ff -> n_embd
    NormOf post;                  // [n_embd]
    float clamp = 0;              // not 0: act(min(gate, clamp)) * clamp(up, -clamp, clamp)
  } ffn;
  // What a layer does with the input that it alone is given: Gemma's per-layer embeddings.
  struct PerLayer {
    typename Of::Linear gate;  // n_embd -> n_per_layer
    typename Of::Linear proj;  // n_per_layer -> n_embd
    NormOf post;               // [n_embd]
  } per_layer;
  float scale = 1;  // of what the whole block gives
};
using FileBlock = BlockOf<OfFile>;
using Block = BlockOf<OfDevice>;

// Calls f(tensor) for each tensor of the stack or block that there is.
template <typename F>
void for_each_tensor(const TensorStack& s, F f) {
  for (const auto* all : {&s.parts, &s.scales, &s.biases})
    for (const GgufTensor* t : *all)
      if (t != nullptr) f(*t);
}

// Calls f(stack) for each of the block.
template <typename F>
void for_each_stack(const FileBlock& b, F f) {
  const auto& [attention, delta, ffn, per_layer, scale] = b;
  for (const TensorStack* stack : {&attention.qkv, &attention.gate, &attention.out, &delta.qkvz, &delta.gates,
                                   &ffn.router, &ffn.gate_up, &ffn.down, &per_layer.gate, &per_layer.proj})
    if (*stack) f(*stack);
}

template <typename F>
void for_each_tensor(const FileBlock& b, F f) {
  const auto one = [&](const GgufTensor* t) {
    if (t != nullptr) f(*t);
  };
  const auto& [attention, delta, ffn, per_layer, scale] = b;
  for (const auto* norm :
       {&attention.pre, &attention.input.q_norm, &attention.input.k_norm, &attention.input.v_norm,
        &attention.sub, &attention.post, &delta.input.norm, &ffn.pre, &ffn.sub, &ffn.post, &per_layer.post}) {
    one(norm->weight);
    one(norm->bias);
  }
  for (const GgufTensor* t : {delta.input.conv, delta.input.time_bias, delta.input.decay}) one(t);
  for (const GgufTensor* t : attention.input.bias) one(t);
  for_each_stack(b, [&](const TensorStack& stack) { for_each_tensor(stack, f); });
}

}  // namespace bitnet
