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

void CpuRecorder::norm(const Buffer& x, uint32_t first_row, const Norm& norm, uint32_t n_features,
                       const Buffer& y, uint32_t n) {
  program_.norms.push_back(&y);
  step(n, [&k = k_, x = data_of<const float>(x) + size_t{first_row} * n_features,
           w = data_of<const float>(*norm.weight), n_features, epsilon = norm.epsilon,
           y = data_of<float>(y)](uint32_t t, CacheLine*) {
    const float* row = x + size_t{t} * n_features;
    const float mean = k.sum_of_squares(row, n_features) / static_cast<float>(n_features);
    k.normalise(row, w, n_features, 1 / std::sqrt(mean + epsilon), y + size_t{t} * n_features);
  });
}

void CpuRecorder::rope_store_kv(const Buffer& qkv, const AttentionInput& before, const Buffer& rotation,
                                const Buffer& k_cache, const Buffer& v_cache, const AttentionShape& shape,
                                uint32_t n) {
  const auto floats = [](const BufferPtr& b) { return b ? data_of<const float>(*b) : nullptr; };
  step(n, [&k = k_, &input = input_, s = shape, qkv = data_of<float>(qkv), bias = floats(before.bias),
           q_norm = floats(before.q_norm.weight), q_epsilon = before.q_norm.epsilon,
           k_norm = floats(before.k_norm.weight), k_epsilon = before.k_norm.epsilon,
           rotation = data_of<const float>(rotation), keys = data_of<uint16_t>(k_cache),
           values = data_of<uint16_t>(v_cache)](uint32_t t, CacheLine*) {
    const uint32_t position = input.position + t, kv = s.n_head_kv * s.head_dim;
    const uint32_t width = (s.n_head + 2 * s.n_head_kv) * s.head_dim;
    const float* angles = rotation + size_t{position} * s.rope_dim;
    float* head = qkv + size_t{t} * width;
    float* key = head + size_t{s.n_head} * s.head_dim;
    if (bias)
      for (uint32_t i = 0; i < width; ++i) head[i] += bias[i];
    for (; head < key + kv; head += s.head_dim) {
      const bool is_key = head >= key;
      if (const float* norm = is_key ? k_norm : q_norm)
        k.norm_head(head, norm, s.head_dim, is_key ? k_epsilon : q_epsilon);
      k.rotate(head, angles, s.rope_dim);
    }
    k.to_halves(key, kv, keys + size_t{position} * kv);
    k.to_halves(key + kv, kv, values + size_t{position} * kv);
  });
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
  const auto n_ctx = static_cast<uint32_t>(k_cache.size() / (size_t{2} * s.n_head_kv * s.head_dim));
  step(
      n * sets,
      [&k = k_, &input = input_, s, group, heads, sets, n, qkv = data_of<const float>(qkv),
       keys = data_of<const uint16_t>(k_cache), values = data_of<const uint16_t>(v_cache),
       o = data_of<float>(o)](uint32_t unit, CacheLine* scratch) {
        const uint32_t t = n - 1 - unit / sets;  // the longest first
        const uint32_t head = unit % sets * heads, kv_head = head / group;
        const size_t width = size_t{s.n_head + 2 * s.n_head_kv} * s.head_dim;
        k.attention({.keys = keys + kv_head * s.head_dim,
                     .values = values + kv_head * s.head_dim,
                     .row = size_t{s.n_head_kv} * s.head_dim,
                     .n_keys = input.position + t + 1,
                     .head_dim = s.head_dim,
                     .n_heads = heads,
                     .queries = qkv + t * width + size_t{head} * s.head_dim,
                     .scale = 1 / std::sqrt(static_cast<float>(s.head_dim)),
                     .out = o + (size_t{t} * s.n_head + head) * s.head_dim,
                     .scratch = reinterpret_cast<float*>(scratch)});
      },
      attention_scratch(n_ctx) * sizeof(float));
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
