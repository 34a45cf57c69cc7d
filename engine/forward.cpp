// The forward pass, from token ids to logits, of every family (engine/model). What a family does not have is
// absent from its blocks and drops out of the formulas; round() is int8 or int16 a row.
//
//   x = token_embd[id]
//   in each block
//     q, k, v = W_qkv round(rms(x) * pre)                + bias where there is one (Qwen2)
//     q, k    = rms(q) * q_norm, rms(k) * k_norm         a head each (Qwen3)
//     q, k    = RoPE(q), RoPE(k)                         pairs of features i and i + rope_dim / 2,
//                                                        angle = position * speed of the pair (model/rope.h)
//     o       = softmax(q k / sqrt(head_dim), causal) v  n_head / n_head_kv heads share a key
//     x      += W_out round(rms(o) * sub)                without a sub norm: round(o) (all but BitNet)
//     f       = round(rms(x) * pre)
//     h       = act(W_gate f) * (W_up f)                 relu^2 (2B4T) or SiLU
//     x      += W_down round(rms(h) * sub)               or round(h)
//   logits = head . (rms(x) * output_norm)               token_embd, or another head where the file has one
//
// "BitNet b1.58 2B4T Technical Report" (arXiv 2504.12285) for relu^2: with SiLU that model talks fluent
// nonsense. record_blocks and record_head below read in this order; README.md has the numerics.
#include "forward.h"

#include <algorithm>

#include "engine/model/rope.h"

namespace bitnet {

void record_blocks(Recorder& r, const Model& m, Activations& a, KvCache& cache, uint32_t n, Buffer* hidden,
                   uint32_t hidden_row) {
  record_blocks(r, m, a, cache, n, 0, m.blocks.size(), hidden, hidden_row);
}

void record_blocks(Recorder& r, const Model& m, Activations& a, KvCache& cache, uint32_t n, size_t begin,
                   size_t end, Buffer* hidden, uint32_t hidden_row) {
  const Config& c = m.config;
  const AttentionShape heads = c.attention_shape();
  const uint64_t row_bytes = uint64_t{c.n_embd} * sizeof(float);

  if (begin == 0) r.embed(m.token_embd, {}, *a.x, n);
  for (size_t i = begin; i < end; ++i) {
    const auto& [at, ffn] = m.blocks[i];
    const Buffer &k = cache.keys(i), &v = cache.values(i);

    r.linear(at.qkv, {*a.x, at.pre, a.rounded}, store(*a.qkv), n);
    r.self_attention(*a.qkv, at.input, *a.rotation, k, v, a.attention, *a.o, heads, n);
    r.linear(at.out, {*a.o, at.sub, a.rounded}, add(*a.x), n);

    r.linear(ffn.gate_up, {*a.x, ffn.pre, a.rounded}, gate(*a.h, c.act), n);
    r.linear(ffn.down, {*a.h, ffn.sub, a.rounded}, add(*a.x), n);

    if (hidden) r.copy(*a.x, hidden_row * row_bytes, *hidden, i * row_bytes, row_bytes);
  }
}

void record_head(Recorder& r, const Model& m, Activations& a, uint32_t first_row, uint32_t rows,
                 Buffer& logits, Buffer& argmax_result) {
  const Config& c = m.config;
  if (m.has_ternary_head()) {
    r.linear(m.ternary_head, {*a.x, m.output_norm, a.rounded, first_row}, store(logits), rows);
  } else {
    r.norm(*a.x, first_row, m.output_norm, c.n_embd, *a.y, rows);
    r.head(m.head(), *a.y, logits, rows);
  }
  r.argmax(logits, c.n_vocab, *a.argmax_partials, argmax_result);
}

namespace {

// For rows of the widest input, in as many planes as any has.
Quantised allocate_quantised(Backend& backend, uint64_t n, uint64_t features) {
  constexpr uint64_t kPlanes = 2;
  return {backend.allocate(n * features * kPlanes, BufferUse::device),
          backend.allocate(n * (sizeof(float) + sizeof(int32_t)), BufferUse::device),
          backend.allocate(n * features / 64 * sizeof(int32_t), BufferUse::device)};
}

AttentionScratch allocate_scratch(Backend& backend, const Config& c, uint32_t n_ctx) {
  const uint64_t chunks = (n_ctx + kAttentionChunk - 1) / kAttentionChunk;
  AttentionScratch scratch{
      backend.allocate(c.n_head * chunks * (2 + c.head_dim) * sizeof(float), BufferUse::device),
      backend.allocate(c.n_head * sizeof(uint32_t), BufferUse::device)};
  const std::vector<uint32_t> zeros(c.n_head);
  backend.upload(*scratch.finished, 0, std::as_bytes(std::span(zeros)));
  backend.finish_uploads();
  return scratch;
}

BufferPtr rotations(Backend& backend, const Config& c, uint32_t n_ctx) {
  const std::vector<float> table = rotation_table(c, n_ctx);
  BufferPtr buffer = backend.allocate(table.size() * sizeof(float), BufferUse::weights);
  backend.upload(*buffer, 0, std::as_bytes(std::span(table)));
  backend.finish_uploads();
  return buffer;
}

}  // namespace

Activations::Activations(Backend& backend, const Config& c, uint32_t n_ctx, uint32_t max_batch,
                         uint32_t max_logit_rows) {
  const uint64_t n = max_batch, q = uint64_t{c.n_head} * c.head_dim, kv = uint64_t{c.n_head_kv} * c.head_dim;
  const auto floats = [&](uint64_t count) {
    return backend.allocate(count * sizeof(float), BufferUse::device);
  };
  x = floats(n * c.n_embd);
  rounded = allocate_quantised(backend, n, std::max({uint64_t{c.n_embd}, q, uint64_t{c.n_ff}}));
  qkv = floats(n * (q + 2 * kv));
  o = floats(n * q);
  attention = allocate_scratch(backend, c, n_ctx);
  h = floats(n * c.n_ff);
  y = floats(uint64_t{max_logit_rows} * c.n_embd);
  argmax_partials = backend.allocate(kArgmaxPartials * sizeof(ArgmaxResult), BufferUse::device);
  rotation = rotations(backend, c, n_ctx);
}

}  // namespace bitnet
