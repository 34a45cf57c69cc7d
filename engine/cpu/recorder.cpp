#include "recorder.h"

#include <algorithm>
#include <atomic>
#include <cassert>
#include <cmath>
#include <cstring>

#include "engine/error.h"
#include "linear.h"

namespace bitnet::cpu {

void CpuRecorder::add_step(Step step, size_t scratch_bytes) {
  made_last_ = nullptr;
  if (step.units > ThreadPool::kMostUnits)
    throw Error(ErrorKind::device,
                "the CPU cannot divide work among threads in so many units; try a smaller batch");
  size_t scratch_lines = scratch_bytes / sizeof(CacheLine) + 1;
  if (own_) {
    step.inputs = [own = own_] { return own->reads(); };
    step.prepare = [own = own_](CacheLine* scratch) { own->run_own(scratch); };
    scratch_lines += own_->own_lines();
  }
  program_.scratch_lines = std::max(program_.scratch_lines, scratch_lines);
  program_.steps.push_back(std::move(step));
}

// A unit is large enough that taking one costs nothing, and small enough that no thread waits long for the
// last one. Between these bounds it is the largest with which the thread that has most has least.
uint32_t CpuRecorder::rows_a_unit(uint32_t rows, uint64_t row_bytes, uint32_t multiple,
                                  uint64_t most_bytes) const {
  constexpr uint64_t kLeast = 16 << 10;
  const uint64_t bytes = std::clamp(rows * row_bytes / (8 * threads_), kLeast, most_bytes);
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

// Heads of q, k and v, from rows as a projection gives them to what attention reads.
class Heads {
 public:
  Heads(const CpuKernels& k, const RunInput& input, const Buffer& qkv, const AttentionInput& before,
        const Buffer& rotation, const Buffer& k_cache, const Buffer& v_cache, const AttentionShape& shape)
      : k_(k),
        input_(input),
        s_(shape),
        qkv_(data_of<float>(qkv)),
        bias_(before.bias ? data_of<const float>(*before.bias) : nullptr),
        q_norm_(before.q_norm),
        k_norm_(before.k_norm),
        v_norm_(before.v_norm),
        rotation_(data_of<const float>(rotation)),
        keys_(data_of<uint16_t>(k_cache)),
        values_(data_of<uint16_t>(v_cache)),
        rows_(cache_rows(k_cache, shape)) {}

  uint32_t count() const { return s_.row_heads(); }
  uint32_t head_dim() const { return s_.head_dim; }

  // Where there are no rows of v, they are those of k before its norm and RoPE.
  void run(uint32_t token, uint32_t head) const {
    const uint32_t dim = s_.head_dim, position = input_.position + token;
    const float* angles = rotation_ + size_t{position} * s_.rope_dim;
    float* x = qkv_ + (size_t{token} * count() + head) * dim;
    for (uint32_t i = 0; bias_ && i < dim; ++i) x[i] += bias_[size_t{head} * dim + i];
    if (head < s_.n_head) {
      q_norm_.run(k_, x, dim);
      return k_.rotate(x, angles, s_.rope_dim);
    }
    const uint32_t of_kv = (head - s_.n_head) % s_.n_head_kv;
    const size_t at = (size_t{position % rows_} * s_.n_head_kv + of_kv) * dim;
    if (head >= s_.n_head + s_.n_head_kv) return store_value(x, values_ + at);
    if (s_.rows == AttentionRows::qk) {
      float value[kMostHeadDim];
      std::copy_n(x, dim, value);
      store_value(value, values_ + at);
    }
    k_norm_.run(k_, x, dim);
    k_.rotate(x, angles, s_.rope_dim);
    k_.to_halves(x, dim, keys_ + at);
  }

 private:
  void store_value(float* value, uint16_t* to) const {
    v_norm_.run(k_, value, s_.head_dim);
    k_.to_halves(value, s_.head_dim, to);
  }

  const CpuKernels& k_;
  const RunInput& input_;
  const AttentionShape s_;
  float* qkv_;
  const float* bias_;
  const HeadNorm q_norm_, k_norm_, v_norm_;
  const float* rotation_;
  uint16_t* keys_;
  uint16_t* values_;
  uint32_t rows_;  // of the caches
};

struct alignas(64) RowCount {
  std::atomic<uint32_t> rows = 0;
};

}  // namespace

void CpuRecorder::rope_store_kv(const Buffer& qkv, const AttentionInput& before, const Buffer& rotation,
                                const Buffer& k_cache, const Buffer& v_cache, const AttentionShape& shape,
                                uint32_t n) {
  const Heads heads(k_, input_, qkv, before, rotation, k_cache, v_cache, shape);
  step(n, [heads](uint32_t t, CacheLine*) {
    for (uint32_t head = 0; head < heads.count(); ++head) heads.run(t, head);
  });
}

void CpuRecorder::self_attention(const Buffer& qkv, const AttentionInput& before, const Buffer& rotation,
                                 const Buffer& k_cache, const Buffer& v_cache,
                                 const AttentionScratch& scratch, const Buffer& o,
                                 const AttentionShape& shape, uint32_t n) {
  if (made_last_ != &qkv)
    return Recorder::self_attention(qkv, before, rotation, k_cache, v_cache, scratch, o, shape, n);
  const Heads heads(k_, input_, qkv, before, rotation, k_cache, v_cache, shape);
  const auto there = std::make_shared<std::vector<RowCount>>(heads.count());
  rows_done_->call = [heads, there, n](uint32_t first, uint32_t end) {
    const uint32_t dim = heads.head_dim();
    for (uint32_t head = first / dim; head * dim < end; ++head) {
      const uint32_t more = std::min(end, (head + 1) * dim) - std::max(first, head * dim);
      std::atomic<uint32_t>& rows = (*there)[head].rows;
      if (rows.fetch_add(more, std::memory_order_acq_rel) + more != dim) continue;
      rows.store(0, std::memory_order_relaxed);  // for the next run
      for (uint32_t t = 0; t < n; ++t) heads.run(t, head);
    }
  };
  attention(qkv, k_cache, v_cache, o, shape, n);
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
  const auto done = n == 1 ? std::make_shared<RowsDone>(RowsDone{s.n_head * s.head_dim}) : nullptr;
  step(
      n * sets,
      [&k = k_, &input = input_, s, group, heads, sets, n, rows, window, scale, done,
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
        if (done && done->call) done->call(head * s.head_dim, (head + heads) * s.head_dim);
      },
      attention_scratch(window) * sizeof(float));
  rows_done_ = done;
  if (done) made_last_ = &o;
}

void CpuRecorder::argmax(const Buffer& logits, uint32_t n_vocab, const Buffer& partial, const Buffer& result,
                         uint32_t rows) {
  constexpr uint32_t kLogitsAPartial = 4096;
  const uint32_t partials = std::min(256U, ceil_div(n_vocab, kLogitsAPartial));
  const uint32_t a_partial = ceil_div(n_vocab, partials);
  auto* all_results = data_of<ArgmaxResult>(partial);
  step(partials * rows, [&k = k_, logits = data_of<const float>(logits), n_vocab, partials, a_partial,
                         all_results](uint32_t unit, CacheLine*) {
    const uint32_t begin = std::min(n_vocab, unit % partials * a_partial),
                   end = std::min(n_vocab, begin + a_partial);
    const LargestLogit l = k.largest_logit(logits + size_t{unit / partials} * n_vocab + begin, end - begin);
    all_results[unit] = {l.largest, begin + l.index, l.sum_exp, l.non_finite ? 1U : 0U};
  });
  step(rows, [all_results, partials, out = data_of<ArgmaxResult>(result)](uint32_t row, CacheLine*) {
    const ArgmaxResult* results = all_results + size_t{row} * partials;
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
    out[row] = best;
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
