// LLaMA (arXiv 2302.13971, 2407.21783), as which Llama3-8B-1.58, Falcon3-1.58bit, Falcon-E and TriLM come.
// llama.cpp's converter puts the two features that RoPE pairs side by side.
#include "families.h"
#include "tensors.h"

namespace bitnet {

void read_llama(const GgufFile& file, Config& c) {
  c.interleaved_rope = true;
  c.activation_reason = "general.architecture is " + c.architecture;
  read_rope_scaling(file, c);
}

FileBlock llama_block(const GgufFile& file, const Config& c, uint32_t index) {
  const Tensors t(file, index);
  const uint64_t q = uint64_t{c.n_head} * c.head_dim, kv = uint64_t{c.n_head_kv} * c.head_dim;
  FileBlock block;
  block.attention.pre = t.norm("attn_norm", c.n_embd, c.norm_epsilon);
  block.attention.qkv = t.projections(c.n_embd, {{"attn_q", q}, {"attn_k", kv}, {"attn_v", kv}});
  block.attention.out = t.projections(q, {{"attn_output", c.n_embd}});
  block.ffn.pre = t.norm("ffn_norm", c.n_embd, c.norm_epsilon);
  block.ffn.gate_up = t.projections(c.n_embd, {{"ffn_gate", c.n_ff}, {"ffn_up", c.n_ff}});
  block.ffn.down = t.projections(c.n_ff, {{"ffn_down", c.n_embd}});
  return block;
}

}  // namespace bitnet
