// Calculates what a model takes on a device; the loader, forward.cpp, kv_cache.cpp and session.cpp allocate
// it.
#include <algorithm>

#include "engine/kernel_options.h"
#include "engine/layouts/file_types.h"
#include "engine/layouts/layout.h"
#include "engine/layouts/pack.h"
#include "engine/layouts/pack_blocks16.h"
#include "engine/mapped_file.h"
#include "engine/model/kv_rows.h"
#include "loader.h"

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

uint64_t projection_bytes(const GgufTensor& t, bool experts = false) {
  if (find_file_type(t.type)->trits) return ternary_bytes(t, experts);
  if (!find_block_type(t.type)) return t.shape[1] * find_file_type(t.type)->row_bytes(t.shape[0]);
  const BlockRowBytes row = block16_row_bytes(t.type, t.shape[0]);  // as many bytes as for Vulkan
  return t.shape[1] * (row.codes + row.scales);
}

uint64_t table_bytes(const GgufTensor& t) {
  return find_file_type(t.type)->trits ? ternary_bytes(t, true) : t.data.size();
}

// What a device may take beyond that: sets of sixteen rows, on Vulkan whole words of blocks, and 16 bytes
// behind the last row.
uint64_t rounding(const GgufTensor& t, bool is_table = false) {
  constexpr uint64_t kRows = kRowsTogether - 1, kBehind = 32;
  if (find_block_type(t.type)) {
    const BlockRowBytes there = block_row_bytes(t.type, t.shape[0]),
                        here = block16_row_bytes(t.type, t.shape[0]);
    const uint64_t of_vulkan = t.shape[1] * (there.codes + there.scales),
                   of_cpu = in_whole_sets(t.shape[1]) * (here.codes + here.scales);
    return kBehind + std::max(of_vulkan, of_cpu) - t.shape[1] * (here.codes + here.scales);
  }
  const bool rows = (is_table || t.type != TensorType::i2_s) && find_file_type(t.type)->trits;
  return kBehind + (rows ? kRows * ternary_bytes(t, true) / t.shape[1] : 0);
}

// What codes of 1.6 bits save, where the loader can make them of the whole stack.
uint64_t saved_in_fives(const TensorStack& stack) {
  uint64_t saved = 0;
  for (const GgufTensor* t : stack.parts) {
    if (!t) continue;
    if (!find_file_type(t->type)->trits || t->shape[1] % kRowsTogether != 0) return 0;
    saved += t->shape[1] * (t->shape[0] / 4 - code_bytes(Layout::fives16, t->shape[0]));
  }
  return saved;
}

WeightPiece table_piece(WeightPiece::Kind kind, const GgufTensor& t) {
  const uint64_t bytes = table_bytes(t) + rounding(t, true);
  return {kind, 0, bytes, kind == WeightPiece::Kind::head ? table_bytes(t) : table_bytes(t) / t.shape[1], &t};
}

void add_projection(WeightPiece::Kind kind, uint32_t layer, const TensorStack& stack, const ModelFile& m,
                    MemoryPlan& plan) {
  if (!stack) return;
  WeightPiece piece{kind, layer, 0, 0, stack.parts[0]};
  const bool experts = stack.n_expert != 0;  // of which a token reads some; they stay in memory
  bool in_file = !experts;
  uint64_t bytes = 0;
  for (const GgufTensor* t : stack.parts) {
    if (!t) continue;
    bytes += projection_bytes(*t, experts);
    piece.bytes += projection_bytes(*t, experts) + rounding(*t);
    piece.file_bytes += t->data.size();
    in_file &= std::ranges::any_of(m.files, [&](const auto& file) { return is_in(*file, t->data); });
  }
  if (!in_file) piece.file_bytes = 0;
  piece.read = experts ? bytes / stack.n_expert * m.config.n_expert_used : bytes;
  piece.saved = experts ? 0 : saved_in_fives(stack);
  if (experts) {
    piece.bytes += stack.n_expert * kAddressBytes;
    piece.n_expert = stack.n_expert;
    piece.n_used = m.config.n_expert_used;
  }
  plan.projections += bytes;
  plan.pieces.push_back(piece);
}

void add_pieces(const ModelFile& m, MemoryPlan& plan) {
  using enum WeightPiece::Kind;
  plan.pieces.push_back(table_piece(head, *m.output));
  if (!m.config.tied_head) plan.pieces.push_back(table_piece(embedding, *m.token_embd));
  if (m.per_layer_embd) plan.pieces.push_back(table_piece(embedding, *m.per_layer_embd));
  add_projection(attention, 0, m.per_layer_proj, m, plan);
  for (uint32_t i = 0; i < m.blocks.size(); ++i) {
    const auto& [at, delta, ffn, per_layer, scale] = m.blocks[i];
    for (const TensorStack* s : {&at.gate, &at.qkv, &delta.qkvz, &delta.gates, &at.out, &ffn.router})
      add_projection(attention, i, *s, m, plan);
    for (const TensorStack* s : {&ffn.gate_up, &ffn.down, &per_layer.gate, &per_layer.proj})
      add_projection(s->n_expert != 0 ? experts : feed_forward, i, *s, m, plan);
  }
}

// What a device takes for the stages of decode and the commands of a session (vk/decode.cpp); other backends
// take less. Each program has its lists of stages. All have the same memory for what stages give each other,
// `of_block` words in each block; where a later program's chains are longer, the first have kept the memory
// that they had.
uint64_t command_bytes(const ModelFile& m, uint64_t of_block) {
  constexpr uint64_t kPrograms = 7, kMemories = 2, kStages = 5, kStage = 4 << 10, kOther = 256 << 10;
  return (kMemories * 4 * of_block + kPrograms * kStages * kStage) * m.blocks.size() + kOther;
}

// Tables, norms, and what of the file decode reads.
void add_tables(const ModelFile& m, MemoryPlan& plan) {
  const Config& c = m.config;
  plan.embedding = table_bytes(*m.token_embd) + (c.tied_head ? 0 : table_bytes(*m.output));
  if (m.per_layer_embd) plan.embedding += table_bytes(*m.per_layer_embd);
  const bool whole_head = c.logit_softcap != 0 || !c.suppressed_tokens.empty();
  if (!find_file_type(m.output->type)->trits && !whole_head && shortlist_pays(c.n_vocab, c.n_embd))
    plan.head_copy = c.n_vocab * (uint64_t{c.n_embd} + 4 * sizeof(float)) + (256 << 10);
  plan.head_is_floats = !find_file_type(m.output->type)->trits && !find_block_type(m.output->type);
  for (const GgufTensor* t : {m.output_norm.weight, m.output_norm.bias, m.per_layer_norm.weight, m.positions})
    if (t) plan.norms += t->data.size();
  plan.head = table_bytes(*m.output);
  plan.decode_file = m.output->data.size() + plan.norms;
  const auto add = [&](const GgufTensor& t) {
    const bool some = c.n_expert != 0 && t.name.find("_exps.") != std::string::npos;
    plan.decode_file += some ? t.data.size() / c.n_expert * c.n_expert_used : t.data.size();
    if (t.shape.size() == 1) plan.norms += t.data.size();
  };
  for (const FileBlock& block : m.blocks) {
    for_each_tensor(block, add);
    if (block.attention.gate) plan.decode_file -= block.attention.gate.parts[0]->data.size();  // as of q
  }
  for_each_tensor(m.per_layer_proj, add);
  if (!m.hadamard) return;
  for (const auto& [width, signs] : m.hadamard->signs) plan.norms += width * sizeof(float);
}

// Keys, values and states of a session of so many tokens, and what decode reads of them.
void add_caches(const ModelFile& m, uint64_t tokens, MemoryPlan& plan) {
  uint64_t saved = 0;  // by rings, as KvCache::bytes_saved
  for (const KvRows& layer : kv_rows_of(m.blocks, static_cast<uint32_t>(tokens))) {
    plan.kv_cache += layer.bytes();
    saved += 2 * layer.row_bytes * (tokens - layer.rows);
  }
  uint64_t zeros = 0;  // bytes that KvCache makes states of
  for (const FileBlock& block : m.blocks) {
    const AttentionShape& s = block.attention.shape;
    const uint64_t seen = s.window == 0 ? tokens : std::min<uint64_t>(tokens, s.window);
    plan.kv_read += 2 * seen * s.n_head_kv * s.head_dim * sizeof(uint16_t);
    const uint64_t conv = conv_bytes(block.delta.shape), heads = heads_bytes(block.delta.shape);
    plan.state += 2 * (conv + heads);
    plan.kv_read += 2 * (conv + heads);  // a half is read, the other one written
    zeros = std::max({zeros, conv, heads});
  }
  const uint64_t states = tokens / kSnapshotsApart * (plan.state / 2);
  plan.snapshots = std::min(KernelOptions().snapshot_bytes, plan.state != 0 ? states : saved);
  plan.state += zeros;
}

// The widest of what blocks give each other, in features of a token, and what forms it takes.
struct Widths {
  explicit Widths(const ModelFile& m);

  uint64_t input, qkv = 0, o = 0, scratch = 0, gates = 0, delta_scratch = 0;
  uint64_t turned = 0;  // of inputs that are rotated
  bool post = false;    // a norm behind a part of a block
  bool blocks = false, floats = false, scaled = false, rest = false;

 private:
  void look_at(const ModelFile& m, const FileBlock& block);
  void look_at(const ModelFile& m, const TensorStack& stack);
};

Widths::Widths(const ModelFile& m) : input(m.config.n_embd) {
  for (const FileBlock& block : m.blocks) look_at(m, block);
  look_at(m, m.per_layer_proj);
  if (m.hadamard && m.hadamard->folded.contains(m.output->name))
    turned = std::max<uint64_t>(turned, m.config.n_embd);
}

void Widths::look_at(const ModelFile& m, const FileBlock& block) {
  const auto& [at, delta, ffn, per_layer, scale] = block;
  const AttentionShape& s = at.shape;
  const auto& d = delta.shape;
  qkv = std::max({qkv, uint64_t{s.row_heads()} * s.head_dim, uint64_t{d.channels()} + d.inner()});
  o = std::max({o, uint64_t{s.n_head} * s.head_dim, uint64_t{d.inner()}});
  if (at.gate) gates = std::max(gates, uint64_t{s.n_head} * s.head_dim);
  gates = std::max(gates, uint64_t{2} * d.n_head_v);
  delta_scratch = std::max(delta_scratch, uint64_t{d.channels()} + 2 * d.n_head_v);
  scratch = std::max(scratch, uint64_t{s.n_head} * (2 + s.head_dim));
  post |= at.post || ffn.post || per_layer.post;
  for (const TensorStack* stack : {&at.gate, &at.qkv, &delta.qkvz, &delta.gates, &at.out, &ffn.router,
                                   &ffn.gate_up, &ffn.down, &per_layer.gate, &per_layer.proj})
    look_at(m, *stack);
}

void Widths::look_at(const ModelFile& m, const TensorStack& stack) {
  if (!stack) return;
  const GgufTensor& t = *stack.parts[0];
  input = std::max(input, t.shape[0]);
  if (m.hadamard && m.hadamard->folded.contains(t.name)) turned = std::max(turned, t.shape[0]);
  const Input rounding = input_of(m.config, t.type);
  floats |= rounding == Input::float_row;
  rest |= rounding == Input::int16_units;
  scaled |= rounding != Input::float_row && t.type != TensorType::i2_s;
  blocks |= rounding != Input::float_row && !find_file_type(t.type)->trits;
}

// What forward.cpp and session.cpp allocate for batches and for results, with the stages and commands of
// decode.
uint64_t activation_bytes(const ModelFile& m, uint64_t tokens) {
  const Config& c = m.config;
  const Widths w(m);
  const uint64_t batch = std::min<uint64_t>(kMaxBatch, tokens);
  const uint64_t pairs = std::max(1U, c.n_expert_used);  // of a token
  uint64_t rounded = w.input, bytes = 0;
  if (c.n_expert != 0) {
    rounded = std::max<uint64_t>(w.input, (pairs + 1) * std::max(c.n_embd, c.n_ff));
    bytes += batch * 4 * (c.n_expert + 2 * pairs + pairs * c.n_embd) + 8 * pairs * batch +
             4 * picked_words(c.n_expert, batch * pairs);
  }
  const uint64_t f32_features = c.n_embd + w.qkv + w.o + w.gates + w.delta_scratch + pairs * c.n_ff +
                                (w.post ? c.n_embd : 0) + (w.floats ? rounded : 0) + w.turned +
                                (w.rest && w.blocks ? 2 * c.n_ff : 0) +
                                uint64_t{c.n_per_layer} * (2 * c.n_layer + 1);
  constexpr uint64_t kTaggedBytes = 8;  // of a value that a chain of stages hands over
  const uint64_t of_blocks = w.blocks ? rounded / 16 * 4 + 8 : 0;
  bytes += batch * (4 * f32_features + (w.rest ? 2 : 1) * (rounded + of_blocks) + rounded / 64 * 4 + 8 +
                    (w.scaled ? rounded / 32 * 4 : 0)) +
           (tokens + kAttentionChunk - 1) / kAttentionChunk * (4 + kTaggedBytes) * w.scratch +
           4 * ((kMaxLogitRows + kRunAhead) * uint64_t{c.n_vocab} + uint64_t{kMaxLogitRows} * c.n_embd);
  for (const Rope& rope : c.ropes) bytes += tokens * rope.dim * 4;
  // A block adds to its residual twice, and rotates what each product takes where any is.
  constexpr uint64_t kMostRowsOfAStage = 1 << 15;  // a larger head has kernels of its own
  const uint64_t given = f32_features + c.n_embd + c.n_expert;
  return bytes + command_bytes(m, w.turned != 0 ? 2 * given : given) +
         8 * std::min<uint64_t>(c.n_vocab, kMostRowsOfAStage);
}

}  // namespace

MemoryPlan plan_memory(const Checkpoint& file, uint32_t n_ctx) {
  return plan_memory(read_model(file, Activation::of_file), n_ctx);
}

MemoryPlan plan_memory(const ModelFile& m, uint32_t n_ctx) {
  const uint64_t tokens = n_ctx == 0 ? usual_context(m.config) : n_ctx;
  MemoryPlan plan;
  add_pieces(m, plan);
  add_tables(m, plan);
  add_caches(m, tokens, plan);
  plan.activations = activation_bytes(m, tokens);
  return plan;
}

}  // namespace bitnet
