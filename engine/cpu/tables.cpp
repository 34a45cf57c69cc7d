// The token embedding and a dense head: rows of a table become floats, or are multiplied with vectors.
#include <algorithm>
#include <limits>

#include "engine/layouts/file_types.h"
#include "engine/layouts/pack.h"
#include "recorder.h"

namespace bitnet::cpu {

RowFloats row_floats_of(const CpuKernels& k, TensorType type) {
  switch (type) {
    case TensorType::f32:
      return k.f32_floats;
    case TensorType::f16:
      return k.f16_floats;
    case TensorType::bf16:
      return k.bf16_floats;
    case TensorType::q8_0:
      return k.q8_0_floats;
    case TensorType::q4_0:
      return k.q4_0_floats;
    case TensorType::q5_0:
      return k.q5_0_floats;
    case TensorType::q4_k:
      return k.q4_k_floats;
    case TensorType::q5_k:
      return k.q5_k_floats;
    case TensorType::q6_k:
      return k.q6_k_floats;
    default:
      throw Error(ErrorKind::model, "the CPU cannot read a table of type " + shown_name(type));
  }
}

void multiply_rows(const CpuKernels& k, const TableRows& rows, uint32_t first, uint32_t n_rows,
                   const float* y, uint32_t n_tokens, size_t stride, float* out, float* scratch) {
  const std::byte* from = rows.row(first);
  if (n_tokens == 1 && rows.type == TensorType::f32)
    return k.float_rows(reinterpret_cast<const float*>(from), rows.n, n_rows, y, out);
  if (n_tokens == 1 && (rows.type == TensorType::f16 || rows.type == TensorType::bf16))
    return (rows.type == TensorType::f16 ? k.half_rows : k.bf16_rows)(reinterpret_cast<const uint16_t*>(from),
                                                                      rows.n, n_rows, y, out);
  constexpr uint32_t kShort = 1024;  // of which some stay in the first cache
  if (k.half_tokens && rows.type == TensorType::f16 && rows.n <= kShort)
    return k.half_tokens(reinterpret_cast<const uint16_t*>(from), rows.n, n_rows, y, n_tokens, stride, out);
  const RowFloats floats = row_floats_of(k, rows.type);
  const uint32_t at_once = rows.n <= kShort ? kTableRows : 1;
  for (uint32_t begin = 0; begin < n_rows; begin += at_once) {
    const uint32_t some = std::min(at_once, n_rows - begin);
    for (uint32_t r = 0; r < some; ++r)
      floats(from + (begin + r) * rows.row_bytes, rows.n, scratch + size_t{r} * rows.n);
    k.float_tokens(scratch, rows.n, some, y, n_tokens, stride, out + begin);
  }
}

TableRows rows_of(const Table& table, const Table::Chunk& chunk) {
  const FileType* type = table.is_ternary() ? nullptr : find_file_type(table.type);
  return {data_of<const std::byte>(*chunk.bytes), type ? type->row_bytes(table.n_embd) : 0, table.n_embd,
          table.type};
}

namespace {

// Row `row` of a chunk of a ternary table, times `scale`.
void ternary_floats(const CpuKernels& k, const uint8_t* codes, const uint16_t* scales, uint32_t n,
                    uint32_t scale_every, float scale, uint32_t row, float* out) {
  const size_t band = row / kBandRows, lane = row % kBandRows;
  const uint8_t* in_band = codes + band * kBandRows * code_bytes(k.group_layout, n);
  for (uint32_t i = 0; i < n; i += scale_every) {
    float value = 0;
    k.to_floats(scales + (band * (n / scale_every) + i / scale_every) * kBandRows + lane, 1, &value);
    value *= scale;
    for (uint32_t j = i; j < i + scale_every; ++j)
      out[j] = static_cast<float>(code_in_band(k.group_layout, in_band, n, lane, j) - 1) * value;
  }
}

constexpr uint64_t kHeadBytes = 48 << 10;  // of a unit; a head has so many that the last ones do not matter

float largest_lower(const std::vector<Shortlist::Bounds>& bounds) {
  constexpr size_t kSome = 16;  // of which the compiler takes several at a time
  float largest[kSome];
  std::fill_n(largest, kSome, -std::numeric_limits<float>::infinity());
  size_t i = 0;
  for (; i + kSome <= bounds.size(); i += kSome)
    for (size_t j = 0; j < kSome; ++j)
      largest[j] = bounds[i + j].lower > largest[j] ? bounds[i + j].lower : largest[j];
  for (; i < bounds.size(); ++i) largest[0] = std::max(largest[0], bounds[i].lower);
  return *std::max_element(largest, largest + kSome);
}

}  // namespace

void CpuRecorder::embed(const Table& table, const EmbedExtra& extra, const Buffer& x, uint32_t n) {
  struct Chunk {
    uint32_t begin, rows;
    TableRows dense;
    const uint8_t* codes;    // of a ternary table
    const uint16_t* scales;  // likewise
  };
  std::vector<Chunk> chunks;
  for (const auto& c : table.chunks)
    chunks.push_back({c.row_begin, c.rows, rows_of(table, c), data_of<const uint8_t>(*c.bytes),
                      table.is_ternary() ? data_of<const uint16_t>(*c.scales) : nullptr});
  const RowFloats floats = table.is_ternary() ? nullptr : row_floats_of(k_, table.type);
  step(n, [&k = k_, &input = input_, chunks, floats, n_embd = table.n_embd, every = table.scale_every,
           scale = table.scale, times = extra.scale,
           positions = extra.positions ? data_of<const float>(*extra.positions) : nullptr,
           x = data_of<float>(x)](uint32_t t, CacheLine*) {
    const auto token = static_cast<uint32_t>(input.tokens[t]);
    float* out = x + size_t{t} * n_embd;
    for (const Chunk& c : chunks) {
      const uint32_t row = token - c.begin;  // below the chunk it wraps to a large number
      if (row >= c.rows) continue;
      if (floats)
        floats(c.dense.row(row), n_embd, out);
      else
        ternary_floats(k, c.codes, c.scales, n_embd, every, scale, row, out);
    }
    const float* learned = positions ? positions + size_t{input.position + t} * n_embd : nullptr;
    for (uint32_t i = 0; i < n_embd && times != 1; ++i) out[i] *= times;
    for (uint32_t i = 0; i < n_embd && learned; ++i) out[i] += learned[i];
  });
}

void CpuRecorder::head(const Table& table, const Buffer& y, const Buffer& logits, uint32_t n) {
  const Shortlist* shortlist = n <= Shortlist::kMostVectors ? shortlists_(table) : nullptr;
  if (shortlist)
    shortlisted_head(table, *shortlist, y, logits, n);
  else
    full_head(table, y, logits, n);
}

// First all logits are approximated. Then the rows whose upper bound reaches the best lower bound are
// computed from the table itself. The other approximations are below that bound, so none of them is the
// largest. The largest few are found in the same way with the n-th best of the units' lower bounds, which n
// rows reach.
void CpuRecorder::shortlisted_head(const Table& table, const Shortlist& shortlist, const Buffer& y,
                                   const Buffer& logits, uint32_t n) {
  const auto head = std::make_shared<ShortlistedHead>();
  head->logits = &cpu_buffer(logits);
  head->vectors = &y;
  const auto no_shortlist = [](const Table&) { return nullptr; };
  head->full = std::make_shared<CpuProgram>();
  CpuRecorder(k_, threads_, input_, no_shortlist, *head->full).full_head(table, y, logits, n);
  program_.shortlisted.push_back(head);

  const uint32_t rows = table.n_vocab, width = table.n_embd;
  const uint32_t at_once = rows_a_unit(rows, width, 8, kHeadBytes), units = ceil_div(rows, at_once);
  head->rows = rows;
  head->rows_a_unit = at_once;
  head->ys.resize(n);
  head->tokens.resize(n);
  for (auto& token : head->tokens) token.bounds.resize(units);
  const TableRows from = rows_of(table, table.chunks[0]);
  const auto* vectors = data_of<const float>(y);
  auto* out = data_of<float>(logits);
  step(1, [head, &shortlist, vectors, n, width](uint32_t, CacheLine*) {
    head->was_shortlisted = !head->wanted_whole && shortlist.ready();
    for (uint32_t t = 0; t < n && head->was_shortlisted; ++t) {
      shortlist.set_vector({vectors + size_t{t} * width, width}, head->ys[t]);
      head->was_shortlisted = head->ys[t].usable;
    }
  });
  step(
      units,
      [&k = k_, head, &shortlist, from, vectors, out, rows, n, at_once](uint32_t unit, CacheLine* scratch) {
        const uint32_t begin = unit * at_once, end = std::min(rows, begin + at_once);
        if (!head->was_shortlisted) {
          multiply_rows(k, from, begin, end - begin, vectors, n, rows, out + begin,
                        reinterpret_cast<float*>(scratch));
          return;
        }
        Shortlist::Bounds bounds[Shortlist::kMostVectors];
        shortlist.approximate(head->ys, begin, end, reinterpret_cast<int32_t*>(scratch), out + begin, rows,
                              bounds);
        for (uint32_t t = 0; t < n; ++t) head->tokens[t].bounds[unit] = bounds[t];
      },
      std::max(at_once * n, kTableRows * width) * sizeof(int32_t));
  reads(rows, at_once, [&](uint32_t first, uint32_t end) {
    return Weights{{shortlist.codes(first, end), {}}};
  });
  step(n, [head](uint32_t t, CacheLine*) { head->tokens[t].border = largest_lower(head->tokens[t].bounds); });
  // There are few candidates, so a unit of this step looks at many of those before.
  const uint32_t together = std::max(1U, units / (8 * threads_)), rescored = ceil_div(units, together);
  const auto rescore = [&k = k_, h = head.get(), &shortlist, from, vectors, out, rows, width, at_once, units,
                        together](uint32_t t, uint32_t first, CacheLine* scratch) {
    if (!h->was_shortlisted) return;
    const ShortlistedHead::Token& token = h->tokens[t];
    float* logits_of = out + size_t{t} * rows;
    for (uint32_t unit = first * together; unit < std::min(units, (first + 1) * together); ++unit) {
      if (token.bounds[unit].upper < token.border) continue;
      const uint32_t begin = unit * at_once, end = std::min(rows, begin + at_once);
      for (uint32_t r = begin; r < end; ++r)
        if (!(shortlist.upper(h->ys[t], r, logits_of[r]) < token.border))
          multiply_rows(k, from, r, 1, vectors + size_t{t} * width, 1, 0, logits_of + r,
                        reinterpret_cast<float*>(scratch));
    }
  };
  const size_t room = width * sizeof(float);
  step(
      n * rescored,
      [rescore, rescored](uint32_t unit, CacheLine* scratch) {
        rescore(unit / rescored, unit % rescored, scratch);
      },
      room);
  head->rescore = std::make_shared<CpuProgram>();
  CpuRecorder(k_, threads_, input_, no_shortlist, *head->rescore)
      .step(
          rescored,
          [rescore, h = head.get()](uint32_t unit, CacheLine* scratch) { rescore(h->token, unit, scratch); },
          room);
}

void CpuRecorder::full_head(const Table& table, const Buffer& y, const Buffer& logits, uint32_t n) {
  for (const auto& chunk : table.chunks) {
    const TableRows from = rows_of(table, chunk);
    const uint32_t at_once = rows_a_unit(chunk.rows, from.row_bytes, 8, kHeadBytes);
    step(
        ceil_div(chunk.rows, at_once),
        [&k = k_, from, at_once, n, n_rows = chunk.rows, n_vocab = table.n_vocab, y = data_of<const float>(y),
         out = data_of<float>(logits) + chunk.row_begin](uint32_t unit, CacheLine* scratch) {
          const uint32_t first = unit * at_once, count = std::min(at_once, n_rows - first);
          multiply_rows(k, from, first, count, y, n, n_vocab, out + first, reinterpret_cast<float*>(scratch));
        },
        size_t{kTableRows} * table.n_embd * sizeof(float));
  }
}

}  // namespace bitnet::cpu
