// Calculates what a model takes on a device; the loader, forward.cpp, kv_cache.cpp and session.cpp allocate
// it.
#include <algorithm>

#include "engine/layouts/file_types.h"
#include "engine/layouts/pack_blocks16.h"
#include "engine/model/families.h"

namespace bitnet {
namespace {

// Of a ternary tensor: two bits a weight, and F16 scales where there is more than one. Requires: a ternary
// type.
uint64_t ternary_bytes(const GgufTensor& t, bool is_table) {
  const uint64_t n = t.shape[0] * t.shape[1];
  const bool one_scale = t.type == TensorType::i2_s;
  const uint64_t scales = !one_scale ? n / find_file_type(t.type)->scale_every : is_table ? t.shape[1] : 0;
  return n / 4 + 2 * scales;
}

uint64_t projection_bytes(const GgufTensor& t) {
  if (find_file_type(t.type)->trits) return ternary_bytes(t, false);
  if (!find_block_type(t.type)) return t.data.size();
  const BlockRowBytes row = block16_row_bytes(t.type, t.shape[0]);  // as many bytes as for Vulkan
  return t.shape[1] * (row.codes + row.scales);
}

uint64_t table_bytes(const GgufTensor& t) {
  return find_file_type(t.type)->trits ? ternary_bytes(t, true) : t.data.size();
}

}  // namespace

MemoryPlan plan_memory(const GgufFile& file, uint32_t n_ctx) {
  const ModelFile m = read_model(file, Activation::of_file);
  const Config& c = m.config;
  MemoryPlan plan;
  plan.embedding = table_bytes(*m.token_embd) + (c.tied_head ? 0 : table_bytes(*m.output));
  if (!find_file_type(m.output->type)->trits && shortlist_pays(c.n_vocab, c.n_embd))
    plan.head_copy = c.n_vocab * (uint64_t{c.n_embd} + 3 * sizeof(float));
  plan.norms = m.output_norm->data.size();
  for (const FileBlock& block : m.blocks)
    for_each_tensor(block, [&](const GgufTensor& t) {
      if (t.shape.size() == 1)
        plan.norms += t.data.size();
      else
        plan.projections += projection_bytes(t);
    });

  const uint64_t q = uint64_t{c.n_head} * c.head_dim, kv = uint64_t{c.n_head_kv} * c.head_dim;
  const uint64_t tokens = n_ctx == 0 ? usual_context(c) : n_ctx,
                 batch = std::min<uint64_t>(kMaxBatch, tokens);
  plan.kv_cache = tokens * c.n_layer * 2 * kv * 2;
  const uint64_t f32_features = c.n_embd + q + 2 * kv + q + c.n_ff;
  const uint64_t input = std::max({uint64_t{c.n_embd}, q, uint64_t{c.n_ff}});
  plan.activations =
      batch * (4 * f32_features + 2 * input + input / 64 * 4 + 8) +
      c.n_head * ((tokens + kAttentionChunk - 1) / kAttentionChunk) * 4 * (2 + c.head_dim) +
      4 * ((kMaxLogitRows + kRunAhead) * uint64_t{c.n_vocab} + uint64_t{kMaxLogitRows} * c.n_embd) +
      tokens * c.rope_dim * 4;
  return plan;
}

}  // namespace bitnet
