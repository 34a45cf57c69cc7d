// Phi-3, Phi-3.5 and Phi-4 (arXiv 2404.14219, 2412.08905): LLaMA's block with q, k and v in one tensor, gate
// and up in another, a window in all layers where the file has one, and LongRoPE.
#include <fmt/format.h>

#include "families.h"
#include "rope.h"
#include "tensors.h"

namespace bitnet {

void read_phi3(const Checkpoint& file, Config& c) {
  c.activation_reason = "general.architecture is " + c.architecture;
  read_long_rope(file, c);
  // Older files do not say it. Of those models, the ones for 4096 tokens have a window.
  const uint32_t usual = c.n_ctx_train == 4096 ? 2047 : 0;
  const uint32_t window = file.find_u32(c.architecture + ".attention.sliding_window").value_or(usual);
  Layer layer{.heads = c.attention_shape(), .n_ff = c.n_ff};
  layer.heads.window = window < c.n_ctx_train ? window : 0;
  c.layers.assign(c.n_layer, layer);
}

FileBlock phi3_block(const Checkpoint& file, const Config& c, uint32_t index) {
  const Tensors t(file, index);
  const AttentionShape& s = c.layers[index].heads;
  const uint64_t q = uint64_t{s.n_head} * s.head_dim, qkv = uint64_t{s.row_heads()} * s.head_dim;
  FileBlock block;
  block.attention.pre = t.norm("attn_norm", c.n_embd, c.norm_epsilon);
  block.attention.qkv = t.projections(c.n_embd, {{"attn_qkv", qkv}});
  block.attention.shape = s;
  block.attention.kv_of = index;
  block.attention.out = t.projections(q, {{"attn_output", c.n_embd}});
  block.ffn.pre = t.norm("ffn_norm", c.n_embd, c.norm_epsilon);
  block.ffn.gate_up = t.halves(c.n_embd, {"ffn_up", c.n_ff});
  block.ffn.down = t.projections(c.n_ff, {{"ffn_down", c.n_embd}});
  return block;
}

}  // namespace bitnet
