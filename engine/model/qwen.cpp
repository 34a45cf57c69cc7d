// Qwen2 (arXiv 2407.10671): LLaMA's block with biases on q, k and v. Qwen3 (arXiv 2505.09388): without them,
// with a norm over each head of q and k; Ternary-Bonsai 1.7B, 4B and 8B.
#include "families.h"
#include "tensors.h"

namespace bitnet {

void read_qwen(const Checkpoint& file, Config& c) {
  c.activation_reason = "general.architecture is " + c.architecture;
  read_rope_scaling(file, c);
}

FileBlock qwen2_block(const Checkpoint& file, const Config& c, uint32_t index) {
  const Tensors t(file, index);
  const uint64_t q = uint64_t{c.n_head} * c.head_dim, kv = uint64_t{c.n_head_kv} * c.head_dim;
  FileBlock block = llama_block(file, c, index);
  block.attention.input.bias = t.biases({{"attn_q", q}, {"attn_k", kv}, {"attn_v", kv}});
  return block;
}

FileBlock qwen3_block(const Checkpoint& file, const Config& c, uint32_t index) {
  const Tensors t(file, index);
  FileBlock block = llama_block(file, c, index);
  block.attention.input.q_norm = t.norm("attn_q_norm", c.head_dim, c.norm_epsilon);
  block.attention.input.k_norm = t.norm("attn_k_norm", c.head_dim, c.norm_epsilon);
  return block;
}

}  // namespace bitnet
