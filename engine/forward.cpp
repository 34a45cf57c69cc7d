// The forward pass, from token ids to logits, of every family (engine/model). What a family does not have is
// absent from its blocks and drops out of the formulas; round() is to int8, a row or a unit.
//
//   x = token_embd[id] * scale                         + position_embd[position] (GPT-2)
//   in each block
//     q, k, v = W_qkv round(norm(x))                     + bias where there is one (Qwen2, GPT-2)
//     q, k, v = norm(q), norm(k), norm(v)                a head each (Qwen3, Gemma; v in Gemma 4 alone)
//     q, k    = RoPE(q), RoPE(k)                         pairs of features i and i + rope_dim / 2,
//                                                        angle = position * speed of the pair (model/rope.h)
//     o       = softmax(q k * scale, causal) v           n_head / n_head_kv heads share a key;
//                                                        within a window in Gemma's local layers
//     o       = o * sigmoid(W_gate round(norm(x)))       (Qwen3.5)
//     o       = DeltaNet(W_qkvz f, W_gates f)            in place of all that in most layers of Qwen3.5,
//                                                        f = round(norm(x)); Recorder::delta_net says how
//     x      += post(W_out round(sub(o)))                sub is BitNet's norm, post is Gemma's
//     f       = round(norm(x))
//     h       = act(W_gate f) * (W_up f)                 relu^2 (2B4T), SiLU or GELU; GPT-2: act(W_up f)
//     x      += post(W_down round(sub(h)))
//     x      += sum of w_e W_down,e round(h_e)           over the experts e that a router chooses by
//                                                        W_router norm(x) (Qwen3-MoE, maple): h_e is h by W_e
//     x      += post(W_proj round(act(W_gate x) * p))    p is this layer's part of Gemma's per-layer inputs
//     x      *= scale                                    (Gemma 4)
//   logits = head . norm(x)                              token_embd, or another head where the file has one
//   logits = cap * tanh(logits / cap)                    (Gemma 4)
//
// norm is x / rms(x) * weight; GPT-2's is (x - mean) / deviation * weight + bias, and its W have biases.
// Per-layer inputs: p = (norm(W_model x / sqrt(n_embd)) + per_layer_embd[id] * sqrt(n_per_layer)) / sqrt(2).
//
// Where a Walsh-Hadamard transform H and signs s are folded into weights (Bonsai 2), W x is W H (s x) and a
// row of token_embd is s H row: Recorder::linear and rotate see to it.
//
// "BitNet b1.58 2B4T Technical Report" (arXiv 2504.12285) for relu^2: with SiLU that model talks fluent
// nonsense. record_blocks and record_head below read in this order; README.md has the numerics.
#include "forward.h"

#include <algorithm>
#include <cmath>

#include "engine/model/rope.h"
#include "watch.h"

namespace bitnet {
namespace {

// x += post(W in)
void add_linear(Recorder& r, const Matrix& w, const In& in, const Norm& post, Activations& a, uint32_t n) {
  if (!post) return r.linear(w, in, add(*a.x), n);
  r.linear(w, in, store(*a.t), n);
  r.add_normed(*a.t, post, w.rows(), *a.x, n);
}

// Records the same, which is what a stage adds. Where that is looked at, it is also computed by itself.
void add_stage(Recorder& r, const Matrix& w, const In& in, const Norm& post, Activations& a, uint32_t n,
               const Watch& watch, size_t layer, Stage stage) {
  if (!post) watch.made(r, layer, stage, [&](const Buffer& y) { r.linear(w, in, store(y), n); });
  add_linear(r, w, in, post, a, n);
  if (post) watch.made(r, layer, stage, [&](const Buffer& y) { r.norm(*a.t, 0, post, w.rows(), y, n); });
}

bool is_gated(const Matrix& gate_up) { return gate_up.parts[1].rows != 0; }

void record_embedding(Recorder& r, const Model& m, Activations& a, uint32_t n) {
  const Config& c = m.config;
  r.embed(m.token_embd, {c.embedding_scale, m.positions.get()}, *a.x, n);
  if (m.embedding_rotation) r.rotate(*a.x, m.embedding_rotation, Recorder::Turn::back, c.n_embd, *a.x, n);
  if (!m.per_layer) return;
  r.embed(m.per_layer.embd, {}, *a.per_layer_embd, n);
  r.linear(m.per_layer.proj, {*a.x, {}, a.rounded}, store(*a.per_layer), n);
  r.combine_per_layer(*a.per_layer, m.per_layer.norm, 1 / std::sqrt(static_cast<float>(c.n_embd)),
                      *a.per_layer_embd, std::sqrt(static_cast<float>(c.n_per_layer)), c.n_layer,
                      c.n_per_layer, n);
}

void record_experts(Recorder& r, const Model& m, size_t layer, Activations& a, uint32_t n,
                    const Watch& watch) {
  const auto& ffn = m.blocks[layer].ffn;
  const Norm none;
  r.linear(ffn.router, {*a.x, ffn.pre, a.rounded}, store(*a.picked.logits), n);
  r.route(m.config.routing, a.picked, n);
  if (a.expert_trace) {
    const uint64_t bytes = uint64_t{n} * a.picked.used * sizeof(uint32_t);
    r.copy(*a.picked.ids, 0, *a.expert_trace, a.expert_trace_at + layer * bytes, bytes);
  }
  const Out h = gate(*a.h, m.config.act, ffn.clamp);
  r.linear_of_experts(ffn.gate_up, {*a.x, ffn.pre, a.rounded}, h, a.picked, n);
  const auto down = [&] { r.linear_of_experts(ffn.down, {*a.h, none, a.rounded}, add(*a.x), a.picked, n); };
  if (!watch.wants(layer, Stage::ffn)) return down();
  watch.made(r, layer, Stage::ffn, [&](const Buffer& y) {  // what x has afterwards, less what it had before
    const uint32_t values = n * m.config.n_embd;
    r.copy(*a.x, 0, y, 0, values * sizeof(float));
    r.scale(y, -1, values);
    down();
    r.add_normed(*a.x, none, m.config.n_embd, y, n);
  });
}

void record_attention(Recorder& r, const Model& m, size_t layer, Activations& a, KvCache& cache, uint32_t n,
                      const Watch& watch) {
  const auto& at = m.blocks[layer].attention;
  const Buffer &k = cache.keys(at.kv_of), &v = cache.values(at.kv_of), &turns = *a.rotations[at.rope];
  const bool is_gated = at.gate.n_in != 0;
  if (is_gated) r.linear(at.gate, {*a.x, at.pre, a.rounded}, store(*a.gate), n);
  r.linear(at.qkv, {*a.x, at.pre, a.rounded}, store(*a.qkv), n);
  watch.rows(r, layer, Stage::qkv, *a.qkv);
  if (watch.wants(layer, Stage::query) || watch.wants(layer, Stage::weights)) {  // q has to lie in memory
    r.rope_store_kv(*a.qkv, at.input, turns, k, v, at.shape, n);
    for (const Stage stage : {Stage::query, Stage::weights})
      watch.rows(r, layer, stage, *a.qkv, watched_width(m, Stage::qkv, layer));
    r.attention(*a.qkv, k, v, *a.o, at.shape, n);
  } else {
    r.self_attention(*a.qkv, at.input, turns, k, v, a.attention, *a.o, at.shape, n);
  }
  if (is_gated) r.multiply_sigmoid(*a.o, *a.gate, n * at.shape.n_head * at.shape.head_dim);
}

void record_delta(Recorder& r, const Model& m, size_t layer, Activations& a, KvCache& cache, uint32_t n,
                  uint32_t keep) {
  const auto& [at, delta, ffn, per_layer, scale] = m.blocks[layer];
  r.linear(delta.qkvz, {*a.x, at.pre, a.rounded}, store(*a.qkv), n);
  r.linear(delta.gates, {*a.x, at.pre, a.rounded}, store(*a.gate), n);
  r.delta_net(*a.qkv, *a.gate, delta.input, cache.delta(layer), a.delta, *a.o, delta.shape, n, keep);
}

}  // namespace

void record_blocks(Recorder& r, const Model& m, Activations& a, KvCache& cache, uint32_t n) {
  record_blocks(r, m, a, cache, n, 0, m.blocks.size(), Watch(), 0);
}

void record_blocks(Recorder& r, const Model& m, Activations& a, KvCache& cache, uint32_t n, size_t begin,
                   size_t end, const Watch& watch, uint32_t keep) {
  const Config& c = m.config;
  const Norm none;
  const Model::Change unchanged;

  if (begin == 0) record_embedding(r, m, a, n);
  for (size_t i = begin; i < end; ++i) {
    const auto& [at, delta, ffn, per_layer, scale] = m.blocks[i];
    const Model::Change& change = m.changes.empty() ? unchanged : m.changes[i];

    watch.made(r, i, Stage::input,
               [&, &pre = at.pre](const Buffer& y) { r.norm(*a.x, 0, pre, c.n_embd, y, n); });
    if (delta)
      record_delta(r, m, i, a, cache, n, keep);
    else
      record_attention(r, m, i, a, cache, n, watch);
    if (change.heads) r.multiply(*a.o, *change.heads, at.shape.n_head * at.shape.head_dim, 0, 0, n);
    watch.rows(r, i, Stage::heads, *a.o);
    add_stage(r, at.out, {*a.o, at.sub, a.rounded}, at.post, a, n, watch, i, Stage::attention);

    if (ffn.gate_up.n_expert != 0) {
      record_experts(r, m, i, a, n, watch);
    } else {
      const Out h = is_gated(ffn.gate_up) ? gate(*a.h, c.act) : activated(*a.h, c.act);
      r.linear(ffn.gate_up, {*a.x, ffn.pre, a.rounded}, h, n);
      add_stage(r, ffn.down, {*a.h, ffn.sub, a.rounded}, ffn.post, a, n, watch, i, Stage::ffn);
    }

    if (m.per_layer) {
      r.linear(per_layer.gate, {*a.x, none, a.rounded}, activated(*a.g, c.act), n);
      r.multiply(*a.g, *a.per_layer, c.n_per_layer, c.n_layer * c.n_per_layer,
                 static_cast<uint32_t>(i) * c.n_per_layer, n);
      add_linear(r, per_layer.proj, {*a.g, none, a.rounded}, per_layer.post, a, n);
    }
    if (scale != 1) r.scale(*a.x, scale, n * c.n_embd);

    if (change.steer) r.add_normed(*a.x, change.steer, c.n_embd, *a.x, n);
    watch.rows(r, i, Stage::residual, *a.x);
  }
}

void record_head(Recorder& r, const Model& m, Activations& a, uint32_t first_row, uint32_t rows,
                 const WantedLogits& wanted, Buffer& logits, Buffer& result) {
  const Config& c = m.config;
  const Choosing choosing{*a.argmax_partials, result, wanted.sampling};
  if (m.has_ternary_head()) {
    r.linear(m.ternary_head, {*a.x, m.output_norm, a.rounded, first_row}, store(logits), rows);
  } else {
    const HeadInput in{*a.x, first_row, m.output_norm, m.head_rotation, *a.y};
    if (!wanted.all && !m.finishes_logits()) return r.head_and_choose(m.head(), in, logits, choosing, rows);
    r.head_input(in, c.n_embd, rows);
    r.head(m.head(), *a.y, logits, rows);
  }
  if (m.finishes_logits())
    r.finish_logits(logits, c.n_vocab, c.logit_softcap, m.suppressed.get(),
                    static_cast<uint32_t>(c.suppressed_tokens.size()), rows);
  r.choose_tokens(logits, c.n_vocab, choosing, rows);
}

namespace {

// What the widest of a model's layers and matrices need.
struct Widest {
  uint64_t input = 0, qkv = 0, o = 0, h = 0, gate = 0;  // features of a token
  uint64_t delta_channels = 0, delta_heads = 0;         // of values
  uint64_t head_floats = 0;              // what a chunk of keys leaves of heads (AttentionScratch)
  uint64_t pairs = 1, expert_input = 0;  // rows of a token that go into experts, and their features
  bool blocks = false, floats = false, post = false, scaled = false, rest = false;
  uint64_t turned = 0;   // features of inputs that are rotated
  uint64_t gate_up = 0;  // of products of Input::int16_units in blocks

  void add(const Matrix& w) {
    input = std::max<uint64_t>(input, w.n_in);
    if (w.rotation) turned = std::max<uint64_t>(turned, w.n_in);
    blocks |= w.layout == Layout::blocks || w.layout == Layout::blocks16;
    floats |= w.layout == Layout::floats;
    scaled |= w.n_in != 0 && w.layout != Layout::floats && w.layout != Layout::trits;
    rest |= w.input == Input::int16_units;
  }
};

Widest widest_of(const Model& m) {
  Widest w;
  for (const auto& [at, delta, ffn, per_layer, scale] : m.blocks) {
    for (const Matrix* matrix :
         {&at.gate, &at.qkv, &delta.qkvz, &delta.gates, &at.out, &ffn.router, &ffn.gate_up, &ffn.down,
          &per_layer.gate, &per_layer.proj, &m.per_layer.proj, &m.ternary_head})
      w.add(*matrix);
    const AttentionShape& s = at.shape;
    w.qkv = std::max({w.qkv, uint64_t{s.row_heads()} * s.head_dim, uint64_t{delta.qkvz.rows()}});
    w.o = std::max({w.o, uint64_t{s.n_head} * s.head_dim, uint64_t{delta.shape.inner()}});
    w.gate = std::max<uint64_t>({w.gate, at.gate.rows(), delta.gates.rows()});
    w.delta_channels = std::max<uint64_t>(w.delta_channels, delta.shape.channels());
    w.delta_heads = std::max<uint64_t>(w.delta_heads, delta.shape.n_head_v);
    w.h = std::max<uint64_t>(w.h, ffn.down.n_in);
    if (ffn.gate_up.input == Input::int16_units && ffn.gate_up.layout == Layout::blocks)
      w.gate_up = std::max<uint64_t>(w.gate_up, ffn.gate_up.rows());
    w.head_floats = std::max(w.head_floats, uint64_t{s.n_head} * (2 + s.head_dim));
    w.post |= at.post || ffn.post || per_layer.post;
  }
  if (m.config.n_expert != 0) w.pairs = m.config.n_expert_used + 1;  // the token's own row too
  w.expert_input = m.config.n_expert != 0 ? std::max<uint64_t>(m.config.n_embd, m.config.n_ff) : 0;
  return w;
}

// For rows of the widest input.
Quantised allocate_quantised(Backend& backend, uint64_t n, const Widest& widest) {
  const uint64_t features = n * std::max(widest.input, widest.pairs * widest.expert_input);
  const auto allocate = [&](uint64_t bytes) { return backend.allocate(bytes, BufferUse::device); };
  return {allocate(features),
          allocate(n * widest.pairs * (sizeof(float) + sizeof(int32_t))),
          allocate(features / 64 * sizeof(int32_t)),
          widest.blocks ? allocate(features / 16 * sizeof(int32_t)) : nullptr,
          widest.floats ? allocate(features * sizeof(float)) : nullptr,
          widest.scaled ? allocate(features / 32 * sizeof(float)) : nullptr,
          widest.turned != 0 ? allocate(n * widest.turned * sizeof(float)) : nullptr,
          widest.rest ? allocate(features) : nullptr,
          widest.rest && widest.blocks ? allocate(n * (sizeof(float) + sizeof(int32_t))) : nullptr,
          widest.rest && widest.blocks ? allocate(features / 16 * sizeof(int32_t)) : nullptr,
          widest.gate_up != 0 ? allocate(n * widest.gate_up * sizeof(float)) : nullptr};
}

AttentionScratch allocate_scratch(Backend& backend, const Widest& widest, uint32_t n_ctx) {
  const uint64_t chunks = (n_ctx + kAttentionChunk - 1) / kAttentionChunk;
  return {backend.allocate(chunks * widest.head_floats * sizeof(float), BufferUse::device)};
}

BufferPtr rotations_of(Backend& backend, const Rope& rope, uint32_t n_ctx) {
  const std::vector<float> table = rotation_table(rope, n_ctx);
  BufferPtr buffer = backend.allocate(table.size() * sizeof(float), BufferUse::weights);
  backend.upload(*buffer, 0, std::as_bytes(std::span(table)));
  backend.finish_uploads();
  return buffer;
}

}  // namespace

Activations::Activations(Backend& backend, const Model& m, uint32_t n_ctx, uint32_t max_batch,
                         uint32_t max_logit_rows) {
  const Config& c = m.config;
  const Widest widest = widest_of(m);
  const uint64_t n = max_batch;
  const auto floats = [&](uint64_t count) {
    return backend.allocate(count * sizeof(float), BufferUse::device);
  };
  x = floats(n * c.n_embd);
  rounded = allocate_quantised(backend, n, widest);
  qkv = floats(n * widest.qkv);
  if (widest.gate != 0) gate = floats(n * widest.gate);
  if (widest.delta_heads != 0)
    delta = {floats(n * widest.delta_channels), floats(n * 2 * widest.delta_heads)};
  o = floats(n * widest.o);
  if (widest.head_floats != 0) attention = allocate_scratch(backend, widest, n_ctx);
  h = floats(n * std::max(1U, c.n_expert_used) * widest.h);
  if (c.n_expert != 0) {
    const uint64_t pairs = n * c.n_expert_used;
    picked = {c.n_expert,
              c.n_expert_used,
              floats(n * c.n_expert),
              floats(pairs),
              floats(pairs),
              floats(picked_words(c.n_expert, pairs)),
              floats(pairs * c.n_embd)};
  }
  if (widest.post) t = floats(n * c.n_embd);
  if (m.per_layer) {
    per_layer = floats(n * c.n_layer * c.n_per_layer);
    per_layer_embd = floats(n * c.n_layer * c.n_per_layer);
    g = floats(n * c.n_per_layer);
  }
  y = floats(uint64_t{max_logit_rows} * c.n_embd);
  argmax_partials =
      backend.allocate(max_logit_rows * kArgmaxPartials * sizeof(ArgmaxResult), BufferUse::device);
  for (const Rope& rope : c.ropes) rotations.push_back(rotations_of(backend, rope, n_ctx));
  if (rotations.empty()) rotations.push_back(floats(4));  // which nobody reads
}

}  // namespace bitnet
