// GPT-2 (Radford et al. 2019): LayerNorm and biases everywhere, learned positions, q, k and v in one tensor,
// and GELU without a gate.
#include "families.h"
#include "tensors.h"

namespace bitnet {

void read_gpt2(const Checkpoint& file, Config& c) {
  if (c.n_head_kv != c.n_head)
    fail(file, "gpt2.attention.head_count_kv differs from gpt2.attention.head_count, wanted the same");
  c.ropes.clear();
  c.act = Act::gelu;
  c.activation_reason = "general.architecture is " + c.architecture;
}

FileBlock gpt2_block(const Checkpoint& file, const Config& c, uint32_t index) {
  const Tensors t(file, index);
  const uint64_t q = uint64_t{c.n_head} * c.head_dim;
  FileBlock block;
  block.attention.pre = t.layer_norm("attn_norm", c.n_embd, c.norm_epsilon);
  block.attention.qkv = t.projections(c.n_embd, {{"attn_qkv", 3 * q}});
  block.attention.input.bias = t.biases({{"attn_qkv", 3 * q}});
  block.attention.shape = c.attention_shape();
  block.attention.kv_of = index;
  block.attention.out = t.biased_projection(q, {"attn_output", c.n_embd});
  block.ffn.pre = t.layer_norm("ffn_norm", c.n_embd, c.norm_epsilon);
  block.ffn.gate_up = t.biased_projection(c.n_embd, {"ffn_up", c.n_ff});
  block.ffn.down = t.biased_projection(c.n_ff, {"ffn_down", c.n_embd});
  return block;
}

void gpt2_whole(const Checkpoint& file, ModelFile& m) {
  const Tensors t(file);
  const Config& c = m.config;
  m.output_norm = t.layer_norm("output_norm", c.n_embd, c.norm_epsilon);
  m.positions = t.float_rows("position_embd", c.n_embd, c.n_ctx_train);
}

}  // namespace bitnet
