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

MemoryPlan plan_memory(const Checkpoint& file, uint32_t n_ctx) {
  const ModelFile m = read_model(file, Activation::of_file);
  const Config& c = m.config;
  MemoryPlan plan;
  plan.embedding = table_bytes(*m.token_embd) + (c.tied_head ? 0 : table_bytes(*m.output));
  if (m.per_layer_embd) plan.embedding += table_bytes(*m.per_layer_embd);
  const bool whole_head = c.logit_softcap != 0 || !c.suppressed_tokens.empty();
  if (!find_file_type(m.output->type)->trits && !whole_head && shortlist_pays(c.n_vocab, c.n_embd))
    plan.head_copy = c.n_vocab * (uint64_t{c.n_embd} + 3 * sizeof(float));
  for (const GgufTensor* t : {m.output_norm.weight, m.output_norm.bias, m.per_layer_norm.weight, m.positions})
    if (t) plan.norms += t->data.size();
  plan.head = table_bytes(*m.output);
  plan.decode_file = m.output->data.size() + plan.norms;
  const auto add = [&](const GgufTensor& t) {
    plan.decode_file += t.data.size();
    (t.shape.size() == 1 ? plan.norms : plan.projections) +=
        t.shape.size() == 1 ? t.data.size() : projection_bytes(t);
  };
  for (const FileBlock& block : m.blocks) for_each_tensor(block, add);
  for_each_tensor(m.per_layer_proj, add);

  const uint64_t tokens = n_ctx == 0 ? usual_context(c) : n_ctx,
                 batch = std::min<uint64_t>(kMaxBatch, tokens);
  uint64_t input = c.n_embd, qkv = 0, o = 0, scratch = 0;
  bool post = false, blocks = false, floats = false;
  const auto look_at = [&](const TensorStack& s) {
    if (!s) return;
    input = std::max(input, s.parts[0]->shape[0]);
    const Input rounding = input_of(c, s.parts[0]->type);
    floats |= rounding == Input::float_row;
    blocks |= rounding != Input::float_row && !find_file_type(s.parts[0]->type)->trits;
  };
  for (const auto& [at, ffn, per_layer, scale] : m.blocks) {
    const AttentionShape& s = at.shape;
    if (s.rows != AttentionRows::q) plan.kv_cache += tokens * 2 * s.n_head_kv * s.head_dim * 2;
    qkv = std::max(qkv, uint64_t{s.row_heads()} * s.head_dim);
    o = std::max(o, uint64_t{s.n_head} * s.head_dim);
    scratch = std::max(scratch, uint64_t{s.n_head} * (2 + s.head_dim));
    post |= at.post || ffn.post || per_layer.post;
    for (const TensorStack* stack :
         {&at.qkv, &at.out, &ffn.gate_up, &ffn.down, &per_layer.gate, &per_layer.proj})
      look_at(*stack);
  }
  look_at(m.per_layer_proj);
  const uint64_t f32_features = c.n_embd + qkv + o + c.n_ff + (post ? c.n_embd : 0) + (floats ? input : 0) +
                                uint64_t{c.n_per_layer} * (2 * c.n_layer + 1);
  plan.activations =
      batch * (4 * f32_features + 2 * input + input / 64 * 4 + (blocks ? input / 16 * 4 : 0) + 8) +
      (tokens + kAttentionChunk - 1) / kAttentionChunk * 4 * scratch +
      4 * ((kMaxLogitRows + kRunAhead) * uint64_t{c.n_vocab} + uint64_t{kMaxLogitRows} * c.n_embd);
  for (const Rope& rope : c.ropes) plan.activations += tokens * rope.dim * 4;
  return plan;
}

}  // namespace bitnet
