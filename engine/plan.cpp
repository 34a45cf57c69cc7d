// Calculates from its configuration what a model takes on a device; forward.cpp, kv_cache.cpp, session.cpp
// and model.cpp allocate it.
#include <algorithm>

#include "model.h"

namespace bitnet {

MemoryPlan plan_memory(const GgufFile& file, uint32_t n_ctx) {
  const Config c = read_config(file);
  const ModelFiles files = find_tensors(file, c);
  MemoryPlan plan;
  plan.embedding = files.token_embd->data.size() + (c.tied_head ? 0 : files.output->data.size());
  if (shortlist_pays(files.output->type, c.n_vocab, c.n_embd))
    plan.head_copy = c.n_vocab * (uint64_t{c.n_embd} + 3 * sizeof(float));
  plan.ternary = c.n_ternary / 4;
  plan.norms = files.output_norm->data.size();
  for (const LayerFiles& l : files.layers)
    for (const GgufTensor* t : {l.attn_norm, l.attn_sub_norm, l.ffn_norm, l.ffn_sub_norm})
      plan.norms += t->data.size();

  const uint64_t q = uint64_t{c.n_head} * c.head_dim, kv = uint64_t{c.n_head_kv} * c.head_dim;
  const uint64_t tokens = n_ctx == 0 ? c.n_ctx_train : n_ctx, batch = std::min<uint64_t>(kMaxBatch, tokens);
  plan.kv_cache = tokens * c.n_layer * 2 * kv * 2;
  const uint64_t f32_features = c.n_embd + q + 2 * kv + q + c.n_ff;
  const uint64_t int8_features = c.n_embd + q + c.n_embd + c.n_ff;
  plan.activations =
      batch * (4 * f32_features + int8_features + 4 * 8) +
      c.n_head * ((tokens + kAttentionChunk - 1) / kAttentionChunk) * 4 * (2 + c.head_dim) +
      4 * ((kMaxLogitRows + kRunAhead) * uint64_t{c.n_vocab} + uint64_t{kMaxLogitRows} * c.n_embd) +
      tokens * c.rope_dim * 4;
  return plan;
}

}  // namespace bitnet
