// One block of a model, as tensors of a file and as buffers of a device. What a family does not have is null.
//
// Thread rule: values.
#pragma once

#include <array>
#include <vector>

#include "config.h"

namespace bitnet {

// The tensors of a stack, those in use first: q, k, v, or gate, up. `scales` has, where the file has one, an
// f32 {1} by which each of them is multiplied.
struct TensorStack {
  std::array<const GgufTensor*, 3> parts{};
  std::array<const GgufTensor*, 3> scales{};
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
  struct Attention {
    NormOf<typename Of::Vector> pre;  // [n_embd]
    typename Of::Linear qkv;          // n_embd -> (n_head + 2 n_head_kv) * head_dim
    AttentionInputOf<typename Of::Vector, typename Of::Bias> input;  // bias, q and k norm
    NormOf<typename Of::Vector> sub;                                 // [n_head * head_dim]
    typename Of::Linear out;                                         // n_head * head_dim -> n_embd
  } attention;
  struct FeedForward {
    NormOf<typename Of::Vector> pre;  // [n_embd]
    typename Of::Linear gate_up;      // n_embd -> 2 n_ff
    NormOf<typename Of::Vector> sub;  // [n_ff]
    typename Of::Linear down;         // n_ff -> n_embd
  } ffn;
};
using FileBlock = BlockOf<OfFile>;
using Block = BlockOf<OfDevice>;

// Calls f(tensor) for each tensor of the block that there is.
template <typename F>
void for_each_tensor(const FileBlock& b, F f) {
  const auto one = [&](const GgufTensor* t) {
    if (t != nullptr) f(*t);
  };
  const auto all = [&](const TensorStack& s) {
    for (const GgufTensor* t : s.parts) one(t);
    for (const GgufTensor* t : s.scales) one(t);
  };
  one(b.attention.pre.weight);
  all(b.attention.qkv);
  for (const GgufTensor* t : b.attention.input.bias) one(t);
  one(b.attention.input.q_norm.weight);
  one(b.attention.input.k_norm.weight);
  one(b.attention.sub.weight);
  all(b.attention.out);
  one(b.ffn.pre.weight);
  all(b.ffn.gate_up);
  one(b.ffn.sub.weight);
  all(b.ffn.down);
}

}  // namespace bitnet
