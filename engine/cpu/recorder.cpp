#include "recorder.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstring>

namespace bitnet::cpu {

// A unit is large enough that taking one costs nothing, and small enough that no thread waits long for the
// last one. Between these bounds it is the largest with which the thread that has most has least.
uint32_t CpuRecorder::rows_a_unit(uint32_t rows, uint64_t row_bytes, uint32_t multiple) const {
  constexpr uint64_t kLeast = 16 << 10, kMost = 48 << 10;  // bytes
  const uint64_t bytes = std::clamp(rows * row_bytes / (8 * threads_), kLeast, kMost);
  const auto most = std::max(multiple, static_cast<uint32_t>(bytes / row_bytes) / multiple * multiple);
  const auto busiest = [&](uint32_t at_once) {
    return ceil_div(ceil_div(rows, at_once), threads_) * at_once;
  };
  uint32_t best = most;
  for (uint32_t at_once = most; at_once >= most / 2 && at_once != 0; at_once -= multiple)
    if (busiest(at_once) < busiest(best)) best = at_once;
  return best;
}

namespace {

// The rows of a cache, position p in row p % rows.
uint32_t cache_rows(const Buffer& k_cache, const AttentionShape& s) {
  return static_cast<uint32_t>(k_cache.size() / (sizeof(uint16_t) * s.n_head_kv * s.head_dim));
}

// The norm over each head of q, k or v.
struct HeadNorm {
  bool there;
  const float* weight;  // null: all are 1
  float epsilon;

  explicit HeadNorm(const Norm& norm)
      : there(norm),
        weight(norm.weight ? data_of<const float>(*norm.weight) : nullptr),
        epsilon(norm.epsilon) {}
  void run(const CpuKernels& k, float* head, uint32_t n) const {
    if (there) k.norm_head(head, weight, n, epsilon);
  }
};

}  // namespace

void CpuRecorder::rope_store_kv(const Buffer& qkv, const AttentionInput& before, const Buffer& rotation,
                                const Buffer& k_cache, const Buffer& v_cache, const AttentionShape& shape,
                                uint32_t n) {
  const auto work = [&k = k_, &input = input_, s = shape, qkv = data_of<float>(qkv),
                     bias = before.bias ? data_of<const float>(*before.bias) : nullptr,
                     q_norm = HeadNorm(before.q_norm), k_norm = HeadNorm(before.k_norm),
                     v_norm = HeadNorm(before.v_norm), rotation = data_of<const float>(rotation),
                     rows = cache_rows(k_cache, shape), keys = data_of<uint16_t>(k_cache),
                     values = data_of<uint16_t>(v_cache)](uint32_t t, CacheLine* scratch) {
    const uint32_t position = input.position + t, kv = s.n_head_kv * s.head_dim;
    const uint32_t width = s.row_heads() * s.head_dim;
    const float* angles = rotation + size_t{position} * s.rope_dim;
    float* q = qkv + size_t{t} * width;
    float *key = q + size_t{s.n_head} * s.head_dim, *value = key + kv;
    if (bias)
      for (uint32_t i = 0; i < width; ++i) q[i] += bias[i];
    for (; q < key; q += s.head_dim) {
      q_norm.run(k, q, s.head_dim);
      k.rotate(q, angles, s.rope_dim);
    }
    if (s.rows == AttentionRows::q) return;
    if (s.rows == AttentionRows::qk) value = std::copy_n(key, kv, reinterpret_cast<float*>(scratch)) - kv;
    for (uint32_t i = 0; i < kv; i += s.head_dim) {
      v_norm.run(k, value + i, s.head_dim);
      k_norm.run(k, key + i, s.head_dim);
      k.rotate(key + i, angles, s.rope_dim);
    }
    const size_t to = size_t{position % rows} * kv;
    k.to_halves(key, kv, keys + to);
    k.to_halves(value, kv, values + to);
  };
  step(n, work, size_t{shape.n_head_kv} * shape.head_dim * sizeof(float));
}

void CpuRecorder::attention(const Buffer& qkv, const Buffer& k_cache, const Buffer& v_cache, const Buffer& o,
                            const AttentionShape& shape, uint32_t n) {
  const AttentionShape s = shape;
  const uint32_t group = s.n_head / s.n_head_kv;
  // Heads that share keys are taken together, but not so many that threads are left without work.
  uint32_t heads = std::min(group, kMostHeads);
  while (heads > 1 && (group % heads != 0 ||
                       (n * s.n_head / heads < 8 * threads_ && n * s.n_head / heads % threads_ != 0)))
    --heads;
  const uint32_t sets = s.n_head / heads;
  const uint32_t rows = cache_rows(k_cache, s), window = s.window == 0 ? rows : std::min(s.window, rows);
  const float scale = s.scale != 0 ? s.scale : 1 / std::sqrt(static_cast<float>(s.head_dim));
  step(
      n * sets,
      [&k = k_, &input = input_, s, group, heads, sets, n, rows, window, scale,
       qkv = data_of<const float>(qkv), keys = data_of<const uint16_t>(k_cache),
       values = data_of<const uint16_t>(v_cache), o = data_of<float>(o)](uint32_t unit, CacheLine* scratch) {
        const uint32_t t = n - 1 - unit / sets;  // the longest first
        const uint32_t head = unit % sets * heads, kv_head = head / group;
        const uint32_t n_keys = std::min(input.position + t + 1, window);
        const size_t width = size_t{s.row_heads()} * s.head_dim;
        const uint32_t of_head = kv_head * s.head_dim;
        k.attention({.keys = keys + of_head,
                     .values = values + of_head,
                     .row = size_t{s.n_head_kv} * s.head_dim,
                     .rows = rows,
                     .first = (input.position + t + 1 - n_keys) % rows,
                     .n_keys = n_keys,
                     .head_dim = s.head_dim,
                     .n_heads = heads,
                     .queries = qkv + t * width + size_t{head} * s.head_dim,
                     .scale = scale,
                     .out = o + (size_t{t} * s.n_head + head) * s.head_dim,
                     .scratch = reinterpret_cast<float*>(scratch)});
      },
      attention_scratch(window) * sizeof(float));
}

void CpuRecorder::argmax(const Buffer& logits, uint32_t n_vocab, const Buffer& partial,
                         const Buffer& result) {
  constexpr uint32_t kLogitsAPartial = 4096;
  const uint32_t partials = std::min(kArgmaxPartials, ceil_div(n_vocab, kLogitsAPartial));
  const uint32_t a_partial = ceil_div(n_vocab, partials);
  auto* results = data_of<ArgmaxResult>(partial);
  step(partials, [&k = k_, logits = data_of<const float>(logits), n_vocab, a_partial, results](
                     uint32_t partial, CacheLine*) {
    const uint32_t begin = std::min(n_vocab, partial * a_partial), end = std::min(n_vocab, begin + a_partial);
    const LargestLogit l = k.largest_logit(logits + begin, end - begin);
    results[partial] = {l.largest, begin + l.index, l.sum_exp, l.non_finite ? 1U : 0U};
  });
  step(1, [results, partials, out = data_of<ArgmaxResult>(result)](uint32_t, CacheLine*) {
    ArgmaxResult best = results[0];
    for (uint32_t i = 1; i < partials; ++i)
      if (results[i].largest > best.largest) best = results[i];
    double sum = 0;
    best.non_finite = 0;
    for (uint32_t i = 0; i < partials; ++i) {
      sum += results[i].sum_exp * std::exp(double{results[i].largest} - best.largest);
      best.non_finite |= results[i].non_finite;
    }
    best.sum_exp = static_cast<float>(sum);
    *out = best;
  });
}

void CpuRecorder::copy(const Buffer& from, uint64_t from_offset, const Buffer& to, uint64_t to_offset,
                       uint64_t bytes) {
  assert(from_offset + bytes <= from.size() && to_offset + bytes <= to.size());
  for (const auto& head : program_.shortlisted)
    if (head->logits == &from) head->wanted_whole = true;
  step(1, [from = data_of<const std::byte>(from) + from_offset, to = data_of<std::byte>(to) + to_offset,
           bytes](uint32_t, CacheLine*) { std::memcpy(to, from, bytes); });
}

}  // namespace bitnet::cpu
