#include "loader.h"

#include <algorithm>
#include <array>

#include "tensor_loader.h"

namespace bitnet {
namespace {

Block::Delta load_delta(TensorLoader& load, const FileBlock::Delta& from) {
  Block::Delta d;
  d.qkvz = load.projection(from.qkvz);
  d.gates = load.projection(from.gates);
  d.input = {load.maybe(from.input.conv), load.maybe(from.input.time_bias), load.maybe(from.input.decay),
             load.norm(from.input.norm)};
  d.shape = from.shape;
  return d;
}

Block load_block(TensorLoader& load, const FileBlock& from) {
  constexpr size_t kQueriesAndKeys = 2;
  const auto& [attention, delta, ffn, per_layer, scale] = from;
  Block b;
  b.attention.pre = load.norm(attention.pre);
  if (attention.gate) b.attention.gate = load.projection(attention.gate);
  if (attention.qkv) b.attention.qkv = load.projection(attention.qkv, kQueriesAndKeys);
  if (delta) b.delta = load_delta(load, delta);
  b.attention.input.bias = load.stacked(attention.input.bias, kQueriesAndKeys);
  b.attention.input.q_norm = load.norm(attention.input.q_norm);
  b.attention.input.k_norm = load.norm(attention.input.k_norm);
  b.attention.input.v_norm = load.norm(attention.input.v_norm);
  b.attention.shape = attention.shape;
  b.attention.rope = attention.rope;
  b.attention.kv_of = attention.kv_of;
  b.attention.sub = load.norm(attention.sub);
  b.attention.out = load.projection(attention.out);
  b.attention.post = load.norm(attention.post);
  b.ffn.pre = load.norm(ffn.pre);
  if (ffn.router) b.ffn.router = load.projection(ffn.router);
  b.ffn.gate_up = load.projection(ffn.gate_up);
  b.ffn.sub = load.norm(ffn.sub);
  b.ffn.down = load.projection(ffn.down);
  b.ffn.post = load.norm(ffn.post);
  b.ffn.clamp = ffn.clamp;
  if (per_layer.gate) {
    b.per_layer.gate = load.projection(per_layer.gate);
    b.per_layer.proj = load.projection(per_layer.proj);
    b.per_layer.post = load.norm(per_layer.post);
  }
  b.scale = scale;
  return b;
}

// Whether all projections are ternary. With blocks the chain of decode is slower where attention is in
// matrices of F16 (Q8_0: 695 -> 580 tokens/s on an H100).
bool takes_halves(const Block& b) {
  return std::ranges::all_of(
      std::array{&b.attention.qkv, &b.attention.out, &b.ffn.gate_up, &b.ffn.down}, [](const Matrix* w) {
        return w->n_in == 0 ||
               (w->layout != Layout::blocks && w->layout != Layout::blocks16 && w->layout != Layout::floats);
      });
}

}  // namespace

Model load_model(const ModelFile& file, Backend& backend, I2sLayout layout, WeightHomes homes,
                 const std::function<bool(uint64_t, uint64_t)>& on_progress) {
  Model model;
  model.config = file.config;
  TensorLoader load(file, backend, layout, homes, on_progress);
  load.begin();
  model.token_embd = load.table(*file.token_embd);
  model.embedding_rotation = load.embedding_rotation();
  model.head_rotation = load.rotation_of(*file.output);
  model.positions = load.maybe(file.positions);
  if (file.per_layer_embd)
    model.per_layer = {load.table(*file.per_layer_embd), load.projection(file.per_layer_proj),
                       load.norm(file.per_layer_norm)};
  if (model.config.tied_head && model.token_embd.is_ternary())
    model.ternary_head = load.head(model.token_embd);
  for (const FileBlock& block : file.blocks) model.blocks.push_back(load_block(load, block));
  const bool halves = std::ranges::all_of(model.blocks, takes_halves);
  for (Block& block : model.blocks) block.attention.shape.halves = halves;
  model.output_norm = load.norm(file.output_norm);
  model.suppressed = load.suppressed();
  if (!model.config.tied_head) {
    Table head = load.table(*file.output);
    if (head.is_ternary())
      model.ternary_head = load.head(head);
    else
      model.dense_head = std::move(head);
  }
  if (model.has_ternary_head()) model.ternary_head.rotation = model.head_rotation;
  if (model.finishes_logits())
    (model.dense_head.n_vocab == 0 ? model.token_embd : model.dense_head).wants_all_logits = true;
  load.finish();
  return model;
}

}  // namespace bitnet
