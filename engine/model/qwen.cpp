// Qwen2 (arXiv 2407.10671): LLaMA's block with biases on q, k and v. Qwen3 (arXiv 2505.09388): without them,
// with a norm over each head of q and k; Ternary-Bonsai 1.7B, 4B and 8B. Its form with experts (qwen3moe) has
// them in all layers.
#include <fmt/format.h>

#include "engine/layouts/file_types.h"
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

namespace {

void add_head_norms(const Checkpoint& file, const Config& c, uint32_t index, FileBlock& block) {
  const Tensors t(file, index);
  block.attention.input.q_norm = t.norm("attn_q_norm", c.head_dim, c.norm_epsilon);
  block.attention.input.k_norm = t.norm("attn_k_norm", c.head_dim, c.norm_epsilon);
}

}  // namespace

FileBlock expert_block(const Checkpoint& file, const Config& c, uint32_t index, const AttentionShape& shape) {
  const Tensors t(file, index);
  FileBlock block = attention_block(file, c, index, shape);
  add_head_norms(file, c, index, block);
  block.ffn.router = t.projections(c.n_embd, {{"ffn_gate_inp", c.n_expert}});
  const GgufTensor& router = *block.ffn.router.parts[0];
  if (input_of(c, router.type) != Input::float_row)
    fail(file,
         fmt::format("tensor {} has type {}, wanted F32, F16 or BF16", router.name, shown_name(router.type)));
  block.ffn.gate_up = t.experts(c.n_embd, {{"ffn_gate_exps", c.n_ff}, {"ffn_up_exps", c.n_ff}}, c.n_expert);
  block.ffn.down = t.experts(c.n_ff, {{"ffn_down_exps", c.n_embd}}, c.n_expert);
  return block;
}

FileBlock qwen3moe_block(const Checkpoint& file, const Config& c, uint32_t index) {
  return expert_block(file, c, index, c.attention_shape());
}

FileBlock qwen3_block(const Checkpoint& file, const Config& c, uint32_t index) {
  FileBlock block = llama_block(file, c, index);
  add_head_norms(file, c, index, block);
  return block;
}

}  // namespace bitnet
