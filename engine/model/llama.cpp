// LLaMA (arXiv 2302.13971, 2407.21783), as which Llama3-8B-1.58, Falcon3-1.58bit, Falcon-E and TriLM come.
// Biases are taken where a file has them.
// llama.cpp's converter puts the two features that RoPE pairs side by side; a folder of the hub has them as
// they were trained, and a key says so.
#include "families.h"
#include "tensors.h"

namespace bitnet {

void read_llama(const Checkpoint& file, Config& c) {
  c.interleaved_rope = file.find_bool(c.architecture + ".rope.interleaved").value_or(true);
  c.activation_reason = "general.architecture is " + c.architecture;
  read_rope_scaling(file, c);
}

FileBlock attention_block(const Checkpoint& file, const Config& c, uint32_t index, const AttentionShape& s) {
  const Tensors t(file, index);
  const uint64_t q = uint64_t{s.n_head} * s.head_dim, kv = uint64_t{s.n_head_kv} * s.head_dim;
  std::vector<Tensors::Named> qkv = {{"attn_q", q}, {"attn_k", kv}, {"attn_v", kv}};
  qkv.resize(s.rows == AttentionRows::qkv ? 3 : s.rows == AttentionRows::qk ? 2 : 1);
  FileBlock block;
  block.attention.pre = t.norm("attn_norm", c.n_embd, c.norm_epsilon);
  block.attention.qkv = t.projections(c.n_embd, qkv);
  block.attention.shape = s;
  block.attention.kv_of = index;
  block.attention.input.bias = t.find_biases(qkv);
  block.attention.out = t.projections(q, {{"attn_output", c.n_embd}});
  block.attention.out.biases = t.find_biases({{"attn_output", c.n_embd}});
  block.ffn.pre = t.norm("ffn_norm", c.n_embd, c.norm_epsilon);
  return block;
}

FileBlock gated_block(const Checkpoint& file, const Config& c, uint32_t index, const AttentionShape& s,
                      uint32_t n_ff) {
  const Tensors t(file, index);
  FileBlock block = attention_block(file, c, index, s);
  block.ffn.gate_up = t.projections(c.n_embd, {{"ffn_gate", n_ff}, {"ffn_up", n_ff}});
  block.ffn.gate_up.biases = t.find_biases({{"ffn_gate", n_ff}, {"ffn_up", n_ff}});
  block.ffn.down = t.projections(n_ff, {{"ffn_down", c.n_embd}});
  block.ffn.down.biases = t.find_biases({{"ffn_down", c.n_embd}});
  return block;
}

FileBlock llama_block(const Checkpoint& file, const Config& c, uint32_t index) {
  return gated_block(file, c, index, c.attention_shape(), c.n_ff);
}

}  // namespace bitnet
