// The forward pass of BitNet b1.58, from token ids to logits:
//
//   x = token_embd[id]
//   in each block
//     a       = int8(rms(x) * attn_norm)
//     q, k, v = W_q a, W_k a, W_v a
//     q, k    = RoPE(q), RoPE(k)                         pairs of features i and i + rope_dim / 2,
//                                                        angle = position * base^(-2i / rope_dim)
//     o       = softmax(q k / sqrt(head_dim), causal) v  n_head / n_head_kv heads share a key
//     x      += W_o int8(rms(o) * attn_sub_norm)
//     f       = int8(rms(x) * ffn_norm)
//     h       = relu(W_gate f)^2 * (W_up f)
//     x      += W_down int8(rms(h) * ffn_sub_norm)
//   logits = token_embd . (rms(x) * output_norm)         or another head, where the file has one
//
// "BitNet b1.58 2B4T Technical Report" (arXiv 2504.12285). The gate is relu^2, not SiLU: with SiLU these
// models talk fluent nonsense. record_blocks and record_head below read in this order; README.md has the
// numerics.
#include "forward.h"

#include <cmath>

namespace bitnet {

void record_blocks(Recorder& r, const Model& m, Activations& a, KvCache& cache, uint32_t n, Buffer* hidden,
                   uint32_t hidden_row) {
  record_blocks(r, m, a, cache, n, 0, m.layers.size(), hidden, hidden_row);
}

void record_blocks(Recorder& r, const Model& m, Activations& a, KvCache& cache, uint32_t n, size_t begin,
                   size_t end, Buffer* hidden, uint32_t hidden_row) {
  const Config& c = m.config;
  const AttentionShape heads = c.attention_shape();
  const uint64_t row_bytes = uint64_t{c.n_embd} * sizeof(float);

  if (begin == 0) r.embed(m.token_embd, *a.x, n);
  for (size_t i = begin; i < end; ++i) {
    const Layer& layer = m.layers[i];
    Buffer &k = cache.keys(i), &v = cache.values(i);

    // q, k, v = W_q a, W_k a, W_v a
    r.linear(layer.qkv, {*a.x, layer.attn_norm, a.attn_in}, store(*a.qkv), n);
    // RoPE, the cache, and o = softmax(q k / sqrt(head_dim)) v
    r.self_attention(*a.qkv, layer.attn_input, *a.rotation, k, v, a.attention, *a.o, heads, n);
    // x += W_o int8(rms(o) * attn_sub_norm)
    r.linear(layer.attn_output, {*a.o, layer.attn_sub_norm, a.attn_out}, add(*a.x), n);

    // h = relu(W_gate f)^2 * (W_up f)
    r.linear(layer.ffn_gate_up, {*a.x, layer.ffn_norm, a.ffn_in}, gate(*a.h, Act::relu2), n);
    // x += W_down int8(rms(h) * ffn_sub_norm)
    r.linear(layer.ffn_down, {*a.h, layer.ffn_sub_norm, a.ffn_mid}, add(*a.x), n);

    if (hidden) r.copy(*a.x, hidden_row * row_bytes, *hidden, i * row_bytes, row_bytes);
  }
}

void record_head(Recorder& r, const Model& m, Activations& a, uint32_t first_row, uint32_t rows,
                 Buffer& logits, Buffer& argmax_result) {
  const Config& c = m.config;
  r.rms_norm(*a.x, first_row, m.output_norm, c.n_embd, *a.y, rows);
  r.head(m.head(), *a.y, logits, rows);
  r.argmax(logits, c.n_vocab, *a.argmax_partials, argmax_result);
}

namespace {

Quantised allocate_quantised(Backend& backend, uint64_t n, uint64_t features) {
  return {backend.allocate(n * features, BufferUse::device),
          backend.allocate(n * (sizeof(float) + sizeof(int32_t)), BufferUse::device), nullptr};
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

// The table is computed in double, since Vulkan asks of a device's own sine no more than an error of 2^-11,
// and that only between -pi and pi.
BufferPtr rotation_table(Backend& backend, const Config& c, uint32_t n_ctx) {
  const uint32_t pairs = c.rope_dim / 2;
  std::vector<float> table;
  table.reserve(size_t{2} * n_ctx * pairs);
  for (uint32_t position = 0; position < n_ctx; ++position)
    for (uint32_t i = 0; i < pairs; ++i) {
      const double angle = position * std::pow(double{c.rope_base}, -2.0 * i / c.rope_dim);
      table.push_back(static_cast<float>(std::cos(angle)));
      table.push_back(static_cast<float>(std::sin(angle)));
    }
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
  attn_in = allocate_quantised(backend, n, c.n_embd);
  qkv = floats(n * (q + 2 * kv));
  o = floats(n * q);
  attention = allocate_scratch(backend, c, n_ctx);
  attn_out = allocate_quantised(backend, n, q);
  ffn_in = allocate_quantised(backend, n, c.n_embd);
  h = floats(n * c.n_ff);
  ffn_mid = allocate_quantised(backend, n, c.n_ff);
  y = floats(uint64_t{max_logit_rows} * c.n_embd);
  argmax_partials = backend.allocate(kArgmaxPartials * sizeof(ArgmaxResult), BufferUse::device);
  rotation = rotation_table(backend, c, n_ctx);
}

}  // namespace bitnet
