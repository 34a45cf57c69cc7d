#include "recorder.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>
#include <cstring>
#include <limits>

namespace bitnet::cpu {
namespace {

uint32_t ceil_div(uint64_t a, uint64_t b) { return static_cast<uint32_t>((a + b - 1) / b); }

// Batches up to this size use the rows as they are; for larger ones tiles of rows are unpacked.
constexpr uint32_t kRowTokens = 3;
constexpr uint32_t kTokensAtOnce = 96;  // of a tile, so that the sums stay in the first cache

struct TokenScale {
  float s;
  int32_t sum;
};

// A stack of ternary tensors as rows of codes.
struct RowStack {
  explicit RowStack(const Matrix& w) {
    row_bytes = w.n_in / 4;
    const uint8_t* stacked = w.codes ? data_of<const uint8_t>(*w.codes) : nullptr;
    uint32_t row = 0;
    for (size_t i = 0; i < w.parts.size() && w.parts[i].rows != 0; ++i) {
      const uint8_t* codes =
          w.part_codes[i] ? data_of<const uint8_t>(*w.part_codes[i]) : stacked + row * row_bytes;
      tensors[n_tensors++] = {row, row + w.parts[i].rows, w.parts[i].scale, codes};
      row += w.parts[i].rows;
    }
  }
  struct Tensor {
    uint32_t begin, end;
    float scale;
    const uint8_t* codes;
  };
  const Tensor& tensor_of(uint32_t row) const {
    size_t i = 0;
    while (row >= tensors[i].end) ++i;
    return tensors[i];
  }
  const uint8_t* row(uint32_t r) const {
    const Tensor& p = tensor_of(r);
    return p.codes + (r - p.begin) * row_bytes;
  }
  // f(first, end, tensor) for the pieces of [begin, end) that are of one tensor each
  template <typename F>
  void pieces(uint32_t begin, uint32_t end, F f) const {
    while (begin < end) {
      const Tensor& p = tensor_of(begin);
      const uint32_t piece_end = std::min(end, p.end);
      f(begin, piece_end, p);
      begin = piece_end;
    }
  }

  std::array<Tensor, 3> tensors{};
  size_t n_tensors = 0;
  uint64_t row_bytes = 0;
};

}  // namespace

template <typename Work>
void CpuRecorder::step(uint32_t units, Work work, size_t scratch_bytes) {
  program_.scratch_lines = std::max(program_.scratch_lines, scratch_bytes / sizeof(CacheLine) + 1);
  program_.steps.push_back({units, std::move(work)});
}

// A unit is large enough that taking one costs nothing, and small enough that no thread waits long for the
// last one.
uint32_t CpuRecorder::rows_a_unit(uint32_t rows, uint64_t row_bytes) const {
  constexpr uint64_t kLeast = 16 << 10, kMost = 64 << 10;  // bytes
  const uint64_t bytes = std::clamp(rows * row_bytes / (8 * threads_), kLeast, kMost);
  return std::max(8U, static_cast<uint32_t>(bytes / row_bytes) / 8 * 8);
}

void CpuRecorder::embed(const Table& table, const Buffer& x, uint32_t n) {
  struct Chunk {
    uint32_t begin, rows;
    const std::byte* data;
  };
  std::vector<Chunk> chunks;
  for (const auto& c : table.chunks)
    chunks.push_back({c.row_begin, c.rows, data_of<const std::byte>(*c.bytes)});
  step(n, [this_k = &k_, &input = input_, chunks, n_embd = table.n_embd, f32 = table.type == TensorType::f32,
           out = data_of<float>(x)](uint32_t t, CacheLine*) {
    const auto row = static_cast<uint32_t>(input.tokens[t]);
    for (const Chunk& c : chunks) {
      if (row - c.begin >= c.rows) continue;  // a row below the chunk wraps to a large number
      const std::byte* from = c.data + size_t{row - c.begin} * n_embd * (f32 ? 4 : 2);
      float* to = out + size_t{t} * n_embd;
      if (f32)
        std::memcpy(to, from, size_t{n_embd} * 4);
      else
        this_k->to_floats(reinterpret_cast<const uint16_t*>(from), n_embd, to);
    }
  });
}

void CpuRecorder::quantise(const Matrix& matrix, const In& in, uint32_t n) {
  const uint32_t n_features = matrix.n_in;
  step(n, [&k = k_, x = data_of<const float>(in.x) + size_t{in.first_row} * n_features,
           w = data_of<const float>(*in.norm.weight), n_features, epsilon = in.norm.epsilon,
           q = data_of<int8_t>(*in.q.q), info = data_of<TokenScale>(*in.q.info)](uint32_t t, CacheLine*) {
    const float* row = x + size_t{t} * n_features;
    const float mean = k.sum_of_squares(row, n_features) / static_cast<float>(n_features);
    const float inverse = 1 / std::sqrt(mean + epsilon);
    const float s = 127 / std::max(1e-5F, k.largest_normalised(row, w, n_features, inverse));
    info[t] = {s, k.quantise(row, w, n_features, inverse, s, q + size_t{t} * n_features)};
  });
}

void CpuRecorder::rms_norm(const Buffer& x, uint32_t first_row, const Norm& norm, uint32_t n_features,
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

// For decode. Calls output(first row, rows, tensor, token, its scale and sum, sums).
template <typename Output>
void CpuRecorder::ternary_rows(const Matrix& w, const Quantised& q, uint32_t n, Output output) {
  const RowStack stack(w);
  const uint32_t rows = w.rows(), n_in = w.n_in, at_once = rows_a_unit(rows, stack.row_bytes);
  step(
      ceil_div(rows, at_once),
      [&k = k_, stack, rows, n_in, at_once, n, output, q = data_of<const int8_t>(*q.q),
       info = data_of<const TokenScale>(*q.info)](uint32_t unit, CacheLine* scratch) {
        auto* sums = reinterpret_cast<int32_t*>(scratch);
        const uint32_t begin = unit * at_once, end = std::min(rows, begin + at_once);
        stack.pieces(begin, end, [&](uint32_t first, uint32_t last, const RowStack::Tensor& tensor) {
          for (uint32_t t = 0; t < n; ++t) {  // the codes are in the second cache after the first token
            k.ternary_rows(tensor.codes + (first - tensor.begin) * stack.row_bytes, n_in, last - first,
                           q + size_t{t} * n_in, sums);
            output(first, last - first, tensor, t, info[t], sums);
          }
        });
      },
      at_once * sizeof(int32_t));
}

// For prefill. Calls output as above, for pieces of a tile.
template <typename Output>
void CpuRecorder::ternary_tiles(const Matrix& w, const Quantised& q, uint32_t n, Output output) {
  const RowStack stack(w);
  const uint32_t rows = w.rows(), n_in = w.n_in;
  const size_t sums_bytes = size_t{kTokensAtOnce} * kTileRows * sizeof(int32_t);
  step(
      ceil_div(rows, kTileRows),
      [&k = k_, stack, rows, n_in, n, output, sums_bytes, q = data_of<const int8_t>(*q.q),
       info = data_of<const TokenScale>(*q.info)](uint32_t unit, CacheLine* scratch) {
        auto* sums = reinterpret_cast<int32_t*>(scratch);
        auto* tile = reinterpret_cast<uint8_t*>(scratch) + sums_bytes;
        const uint32_t begin = unit * kTileRows, end = std::min(rows, begin + kTileRows);
        const uint8_t* tile_rows[kTileRows];
        for (uint32_t r = 0; r < kTileRows; ++r) tile_rows[r] = stack.row(std::min(begin + r, rows - 1));
        k.unpack_tile(tile_rows, n_in, tile);
        for (uint32_t t0 = 0; t0 < n; t0 += kTokensAtOnce) {
          const uint32_t tokens = std::min(kTokensAtOnce, n - t0);
          k.tile_product(tile, n_in, q + size_t{t0} * n_in, tokens, sums);
          stack.pieces(begin, end, [&](uint32_t first, uint32_t last, const RowStack::Tensor& tensor) {
            for (uint32_t t = 0; t < tokens; ++t)
              output(first, last - first, tensor, t0 + t, info[t0 + t],
                     sums + t * kTileRows + (first - begin));
          });
        }
      },
      sums_bytes + size_t{n_in} * kTileRows);
}

void CpuRecorder::product(const Matrix& w, const Quantised& q, const Out& out, uint32_t n) {
  if (out.kind == Out::Kind::gate) return ternary_gate_up(w, q, out.y, n);
  const auto sums_to = out.kind == Out::Kind::add ? k_.add_sums : k_.scale_sums;
  const auto output = [sums_to, y = data_of<float>(out.y), n_out = w.rows()](
                          uint32_t first, uint32_t rows, const RowStack::Tensor& tensor, uint32_t t,
                          const TokenScale& info, const int32_t* sums) {
    sums_to(sums, rows, info.sum, tensor.scale / info.s, y + size_t{t} * n_out + first);
  };
  n <= kRowTokens ? ternary_rows(w, q, n, output) : ternary_tiles(w, q, n, output);
}

// A unit makes some rows of the gate and the same rows of up: half a tile of each in prefill.
void CpuRecorder::ternary_gate_up(const Matrix& w, const Quantised& q, const Buffer& y, uint32_t n) {
  const RowStack stack(w);
  const uint32_t n_out = w.rows() / 2, n_in = w.n_in;
  const bool tiled = n > kRowTokens;
  const uint32_t at_once = tiled ? kTileRows / 2 : rows_a_unit(w.rows(), stack.row_bytes * 2);
  const size_t sums_bytes = size_t{tiled ? kTokensAtOnce * kTileRows : 2 * at_once} * sizeof(int32_t);
  step(
      ceil_div(n_out, at_once),
      [&k = k_, stack, n_out, n_in, n, tiled, at_once, sums_bytes, q = data_of<const int8_t>(*q.q),
       info = data_of<const TokenScale>(*q.info), y = data_of<float>(y)](uint32_t unit, CacheLine* scratch) {
        auto* sums = reinterpret_cast<int32_t*>(scratch);
        const uint32_t begin = unit * at_once, rows = std::min(n_out - begin, at_once);
        const auto output = [&](uint32_t t, const int32_t* gate, const int32_t* up) {
          const TokenScale& i = info[t];
          k.gate_sums(gate, up, rows, i.sum, stack.tensors[0].scale / i.s, stack.tensors[1].scale / i.s,
                      y + size_t{t} * n_out + begin);
        };
        if (!tiled) {
          for (uint32_t t = 0; t < n; ++t) {
            for (uint32_t i = 0; i < 2; ++i)
              k.ternary_rows(stack.tensors[i].codes + begin * stack.row_bytes, n_in, rows,
                             q + size_t{t} * n_in, sums + i * at_once);
            output(t, sums, sums + at_once);
          }
          return;
        }
        auto* tile = reinterpret_cast<uint8_t*>(scratch) + sums_bytes;
        const uint8_t* tile_rows[kTileRows];
        for (uint32_t r = 0; r < kTileRows; ++r)
          tile_rows[r] =
              stack.tensors[r / at_once].codes + std::min(begin + r % at_once, n_out - 1) * stack.row_bytes;
        k.unpack_tile(tile_rows, n_in, tile);
        for (uint32_t t0 = 0; t0 < n; t0 += kTokensAtOnce) {
          const uint32_t tokens = std::min(kTokensAtOnce, n - t0);
          k.tile_product(tile, n_in, q + size_t{t0} * n_in, tokens, sums);
          for (uint32_t t = 0; t < tokens; ++t)
            output(t0 + t, sums + t * kTileRows, sums + t * kTileRows + at_once);
        }
      },
      sums_bytes + (tiled ? size_t{n_in} * kTileRows : 0));
}

void CpuRecorder::rope_store_kv(const Buffer& qkv, const AttentionInput&, const Buffer& rotation,
                                const Buffer& k_cache, const Buffer& v_cache, const AttentionShape& shape,
                                uint32_t n) {
  step(n, [&k = k_, &input = input_, s = shape, qkv = data_of<float>(qkv),
           rotation = data_of<const float>(rotation), keys = data_of<uint16_t>(k_cache),
           values = data_of<uint16_t>(v_cache)](uint32_t t, CacheLine*) {
    const uint32_t position = input.position + t, kv = s.n_head_kv * s.head_dim;
    const float* angles = rotation + size_t{position} * s.rope_dim;
    float* head = qkv + size_t{t} * (s.n_head + 2 * s.n_head_kv) * s.head_dim;
    float* key = head + size_t{s.n_head} * s.head_dim;
    for (; head < key + kv; head += s.head_dim) k.rotate(head, angles, s.rope_dim);
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

void CpuRecorder::head(const Table& table, const Buffer& y, const Buffer& logits, uint32_t n) {
  const Shortlist* shortlist = n == 1 ? shortlists_(table) : nullptr;
  if (shortlist)
    shortlisted_head(table, *shortlist, y, logits);
  else
    full_head(table, y, logits, n);
}

// First all logits are approximated. Then the rows whose upper bound reaches the best lower bound are
// computed from F16. The other approximations are below that bound, so none of them is the largest. The n
// largest are found in the same way with the n-th best of the units' lower bounds, which n rows reach.
void CpuRecorder::shortlisted_head(const Table& table, const Shortlist& shortlist, const Buffer& y,
                                   const Buffer& logits) {
  const auto head = std::make_shared<ShortlistedHead>();
  head->logits = &cpu_buffer(logits);
  head->vector = &y;
  const auto no_shortlist = [](const Table&) { return nullptr; };
  head->full = std::make_shared<CpuProgram>();
  CpuRecorder(k_, threads_, input_, no_shortlist, *head->full).full_head(table, y, logits, 1);
  program_.shortlisted.push_back(head);

  const uint32_t rows = table.n_vocab, n = table.n_embd, at_once = rows_a_unit(rows, n);
  const uint32_t units = ceil_div(rows, at_once);
  head->rows_a_unit = at_once;
  head->lower.resize(units);
  head->upper.resize(units);
  const auto* from = data_of<const uint16_t>(*table.chunks[0].bytes);
  const auto* vector = data_of<const float>(y);
  auto* out = data_of<float>(logits);
  step(1, [head, &shortlist, vector, n](uint32_t, CacheLine*) {
    head->was_shortlisted = false;
    if (head->wanted_whole || !shortlist.ready()) return;
    shortlist.set_vector({vector, n}, head->y);
    head->was_shortlisted = head->y.usable;
  });
  step(
      units,
      [&k = k_, head, &shortlist, from, vector, out, rows, n, at_once](uint32_t unit, CacheLine* scratch) {
        const uint32_t begin = unit * at_once, end = std::min(rows, begin + at_once);
        if (!head->was_shortlisted) {
          k.half_rows(from + size_t{begin} * n, n, end - begin, vector, out + begin);
          return;
        }
        shortlist.approximate(head->y, begin, end, reinterpret_cast<int32_t*>(scratch), out + begin,
                              head->lower[unit], head->upper[unit]);
      },
      at_once * sizeof(int32_t));
  step(1, [head](uint32_t, CacheLine*) {
    head->border = *std::max_element(head->lower.begin(), head->lower.end());
  });
  const auto rescore = [&k = k_, h = head.get(), &shortlist, from, vector, out, rows, n, at_once](
                           uint32_t unit, CacheLine*) {
    if (!h->was_shortlisted || h->upper[unit] < h->border) return;
    const uint32_t begin = unit * at_once, end = std::min(rows, begin + at_once);
    for (uint32_t r = begin; r < end; ++r)
      if (!(shortlist.upper(h->y, r, out[r]) < h->border))
        k.half_rows(from + size_t{r} * n, n, 1, vector, out + r);
  };
  step(units, rescore);
  head->rescore = std::make_shared<CpuProgram>();
  CpuRecorder(k_, threads_, input_, no_shortlist, *head->rescore).step(units, rescore);
}

void CpuRecorder::full_head(const Table& table, const Buffer& y, const Buffer& logits, uint32_t n) {
  for (const auto& chunk : table.chunks) {
    const uint64_t row_bytes = uint64_t{table.n_embd} * (table.type == TensorType::f32 ? 4 : 2);
    const uint32_t at_once = rows_a_unit(chunk.rows, row_bytes);
    step(ceil_div(chunk.rows, at_once),
         [&k = k_, rows = data_of<const std::byte>(*chunk.bytes), row_bytes, at_once, n,
          n_embd = table.n_embd, f32 = table.type == TensorType::f32, n_rows = chunk.rows,
          row_begin = chunk.row_begin, n_vocab = table.n_vocab, y = data_of<const float>(y),
          logits = data_of<float>(logits)](uint32_t unit, CacheLine*) {
           const uint32_t first = unit * at_once, count = std::min(at_once, n_rows - first);
           const std::byte* from = rows + first * row_bytes;
           for (uint32_t t = 0; t < n; ++t) {
             float* out = logits + size_t{t} * n_vocab + row_begin + first;
             const float* vector = y + size_t{t} * n_embd;
             if (f32)
               k.float_rows(reinterpret_cast<const float*>(from), n_embd, count, vector, out);
             else
               k.half_rows(reinterpret_cast<const uint16_t*>(from), n_embd, count, vector, out);
           }
         });
  }
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
