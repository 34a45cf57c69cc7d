#include "loader.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "engine/layouts/i2s.h"
#include "engine/layouts/pack.h"
#include "place_backend.h"
#include "repack.h"

namespace bitnet {
namespace {

constexpr uint64_t kStep = 16 << 20;  // bytes between two reports

float f32_of(const GgufTensor& tensor) {
  float value = 0;
  std::memcpy(&value, tensor.data.data(), sizeof value);
  return value;
}

// Copies tensors to the device and reports how far it is.
class Loader {
 public:
  Loader(const ModelFile& file, Backend& backend, I2sLayout layout, WeightHomes homes,
         const std::function<bool(uint64_t, uint64_t)>& on_progress)
      : file_(file),
        c_(file.config),
        backend_(backend),
        layout_(layout),
        homes_(homes),
        on_progress_(on_progress) {}

  void begin() const { report(0); }

  void finish() {
    backend_.finish_uploads();
    report(c_.file_bytes);
  }

  Norm norm(const NormOf<const GgufTensor*>& from) {
    return {static_cast<Norm::Kind>(from.kind), from.weight ? whole(*from.weight) : nullptr,
            from.bias ? whole(*from.bias) : nullptr, from.epsilon};
  }

  BufferPtr maybe(const GgufTensor* tensor) { return tensor ? whole(*tensor) : nullptr; }

  BufferPtr suppressed() {
    if (c_.suppressed_tokens.empty()) return nullptr;
    const auto ids = std::as_bytes(std::span(c_.suppressed_tokens));
    BufferPtr buffer = backend_.allocate(ids.size(), BufferUse::weights);
    backend_.upload(*buffer, 0, ids);
    return buffer;
  }

  // Vectors behind each other. `by_heads` as of projection.
  BufferPtr stacked(const std::array<const GgufTensor*, 3>& vectors, size_t by_heads = 0) {
    uint64_t bytes = 0;
    for (const GgufTensor* t : vectors) bytes += t ? t->data.size() : 0;
    if (bytes == 0) return nullptr;
    BufferPtr buffer = backend_.allocate(bytes, BufferUse::weights);
    uint64_t at = 0;
    for (size_t i = 0; i < vectors.size() && vectors[i]; ++i) {
      const GgufTensor& t = *vectors[i];
      const bool ordered = i < by_heads && c_.interleaved_rope;
      const RowsToPack::Part part{&t, static_cast<uint32_t>(t.shape[0]), ordered ? c_.head_dim : 0,
                                  c_.attention_shape().rope_dim};
      put(*buffer, at, ordered ? rows_in_order(part, t.data, sizeof(float)) : t.data);
      at += t.data.size();
    }
    return buffer;
  }

  // `by_heads` says how many tensors of the stack, the first ones, have rows that RoPE rotates.
  Matrix projection(const TensorStack& stack, size_t by_heads = 0) {
    piece_ = stack.parts[0];
    if (homes_.placement.home_of(*piece_) == Home::file) return from_file(stack, by_heads);
    RowsToPack rows;
    rows.n_in = static_cast<uint32_t>(stack.parts[0]->shape[0]);
    for (const GgufTensor* t : stack.parts) {
      if (!t) continue;
      rows.parts.push_back({t, static_cast<uint32_t>(t->shape[1])});
      if (rows.parts.size() > by_heads || !c_.interleaved_rope) continue;
      rows.parts.back().head_dim = c_.head_dim;
      rows.parts.back().rope_dim = c_.attention_shape().rope_dim;
    }
    Matrix m;
    m.n_in = rows.n_in;
    m.n_expert = stack.n_expert;
    m.input = input_of(c_, stack.parts[0]->type);
    m.bias = stacked(stack.biases);
    for (size_t i = 0; i < rows.parts.size(); ++i)
      m.parts[i] = {rows.parts[i].rows, stack.scales[i] ? f32_of(*stack.scales[i]) : 1.0F,
                    stack.parts[i]->type};
    if (find_block_type(stack.parts[0]->type))
      load_blocks(rows, m);
    else if (!find_file_type(stack.parts[0]->type)->trits)
      load_floats(rows, m);
    else if (stack.parts[0]->type == TensorType::i2_s && !is_by_expert(m))
      load_trits(rows, m);
    else
      load_groups(rows, m);
    if (m.n_expert != 0) m.addresses = backend_.addresses_of(m);
    return m;
  }

  // Splits the table into chunks of rows that one binding can reach.
  Table table(const GgufTensor& tensor) {
    piece_ = &tensor;
    Table t;
    t.n_embd = static_cast<uint32_t>(tensor.shape[0]);
    t.n_vocab = static_cast<uint32_t>(tensor.shape[1]);
    t.type = tensor.type;
    const FileType& type = *find_file_type(tensor.type);
    if (type.trits) {
      load_ternary(tensor, t);
      return t;
    }
    if (BufferPtr whole = backend_.adopt(tensor.data)) {
      t.chunks.push_back({0, t.n_vocab, std::move(whole), nullptr});
      count(tensor.data.size());
      return t;
    }
    const uint64_t row_bytes = type.row_bytes(t.n_embd);
    const auto most_rows = static_cast<uint32_t>(
        std::min<uint64_t>((backend_.device().max_buffer_bytes - kPadding) / row_bytes, t.n_vocab));
    for (uint32_t row = 0; row < t.n_vocab; row += most_rows) {
      const uint32_t rows = std::min(most_rows, t.n_vocab - row);
      Table::Chunk chunk{row, rows, allocate(rows * row_bytes + kPadding), nullptr};
      put(*chunk.bytes, 0, tensor.data.subspan(row * row_bytes, rows * row_bytes));
      t.chunks.push_back(std::move(chunk));
    }
    return t;
  }

  // The projection of a ternary table onto the vocabulary; it shares the table's buffers.
  Matrix head(const Table& t) {
    if (t.chunks.size() != 1)
      throw Error(ErrorKind::device,
                  fmt::format("{} cannot bind the whole LM head of {} rows at once; try --device cpu",
                              backend_.device().name, t.n_vocab));
    Matrix m;
    m.n_in = t.n_embd;
    m.layout = backend_.group_layout();
    m.input = Input::int8_units;
    m.scale_every = t.scale_every;
    m.fixed = fixed_for(head_bound_);
    m.parts[0] = {t.n_vocab, t.scale / m.fixed};
    m.codes = t.chunks[0].bytes;
    m.scales = t.chunks[0].scales;
    return m;
  }

 private:
  static constexpr uint64_t kPadding = 16;  // kernels load 16 bytes at a time, also at the end of a table

  // What the reader does with a piece: it packs it as this loader would, into its place.
  WeightReader::Put put_in_place(const TensorStack& stack, size_t by_heads) const {
    auto of_model = std::make_shared<ModelFile>();
    of_model->config = c_;
    of_model->path = file_.path;
    std::vector<GgufTensor> tensors;
    for (const GgufTensor* t : stack.parts)
      if (t) tensors.push_back(*t);
    return [of_model = std::shared_ptr<const ModelFile>(of_model), tensors, by_heads, &backend = backend_,
            layout = layout_](std::span<const std::byte> bytes, std::span<std::byte> place) {
      std::vector<GgufTensor> there = tensors;
      TensorStack stack;
      for (size_t i = 0, at = 0; i < there.size(); ++i) {
        there[i].data = bytes.subspan(at, tensors[i].data.size());
        at += there[i].data.size();
        stack.parts[i] = &there[i];
      }
      PlaceBackend to(backend, place);
      Placement all_there;
      Loader(*of_model, to, layout, {all_there}, {}).projection(stack, by_heads);
    };
  }

  // A matrix that stays in the file: it is packed once to see what is in it, and where its buffers will lie.
  Matrix from_file(const TensorStack& stack, size_t by_heads) {
    PlaceBackend nowhere(backend_, {});
    Placement all_there;
    const uint64_t before = done_;
    const std::function<bool(uint64_t, uint64_t)> tell = [&](uint64_t done, uint64_t) {
      report(before + done);
      return true;
    };
    Loader packer(file_, nowhere, layout_, {all_there}, tell);
    TensorStack weights = stack;
    weights.biases = {};
    Matrix m = packer.projection(weights, by_heads);
    done_ = before + packer.done_;
    std::vector<std::span<const std::byte>> ranges;
    for (const GgufTensor* t : stack.parts)
      if (t) ranges.push_back(t->data);
    m.in_file = homes_.reader->add(ranges, put_in_place(stack, by_heads));
    const BufferPtr& place = homes_.places[homes_.reader->place_of(m.in_file)];
    const auto lay = [&](BufferPtr& buffer) {
      if (!buffer) return;
      const auto& there = static_cast<const PlaceBackend::Part&>(*buffer);
      buffer = backend_.part_of(place, there.offset(), there.size());
    };
    lay(m.codes);
    lay(m.scales);
    for (Matrix::Part& part : m.parts) lay(part.codes), lay(part.scales);
    m.bias = stacked(stack.biases);
    return m;
  }

  // For the piece that is loaded, where it was placed.
  BufferPtr allocate(uint64_t bytes) {
    if (homes_.placement.home_of(*piece_) == Home::device) try {
        return backend_.allocate(bytes, BufferUse::weights);
      } catch (const Error&) {
        if (!homes_.may_move) throw;
        homes_.placement.move_to_host(*piece_);
      }
    return backend_.allocate(bytes, BufferUse::host_weights);
  }

  BufferPtr whole(const GgufTensor& tensor) {
    BufferPtr buffer = backend_.allocate(tensor.data.size(), BufferUse::weights);
    put(*buffer, 0, tensor.data);
    return buffer;
  }

  // Whether the codes of this stack are to lie in host memory in 1.6 bits.
  bool in_fives(const RowsToPack& rows) const {
    return homes_.placement.home_of(*piece_) == Home::host && backend_.host_has_fives() &&
           std::ranges::all_of(rows.parts, [](const auto& p) { return p.rows % kRowsTogether == 0; });
  }

  // Corrects what the placement says of a piece whose codes take fewer bytes than in two bits.
  void count_fives(const Matrix& m) {
    if (homes_.placement.fives) return;  // it knows
    const uint64_t saved = m.rows() * (code_bytes(m.layout, m.n_in) - code_bytes(Layout::fives16, m.n_in));
    Placement& p = homes_.placement;
    p.in_host -= saved;
    p.read_in_host -= saved;
    for (WeightPiece& piece : p.pieces)
      if (piece.tensor == piece_) piece.bytes -= saved, piece.read -= saved;
  }

  // A part of a stack in 1.6 bits. There is one scale, that of the tensor.
  void load_trits_in_fives(const RowsToPack::Part& part, uint32_t first_row, Matrix& m) {
    GgufTensor tensor = *part.tensor;
    const auto in_file = tensor.data.first(tensor.data.size() - kI2sTail);
    tensor.data = block128_in_order({&tensor, part.rows}, in_file, m.n_in / 4);
    RowsToPack rows{{part}, m.n_in};
    rows.parts[0].tensor = &tensor;
    Repacker repacker(file_.path, Layout::fives16, Layout::fives16, rows, m.n_in);
    const uint64_t row_bytes = code_bytes(Layout::fives16, m.n_in);
    const uint32_t step = rows_a_step(row_bytes);
    for (uint32_t row = 0; row < part.rows; row += step) {
      const uint32_t last = std::min(part.rows, row + step);
      backend_.upload(*m.codes, (first_row + row) * row_bytes, repacker.pack(row, last).codes);
      count((last - row) * uint64_t{m.n_in / 4});
    }
  }

  // An i2_s stack: as it lies in the file, where that is the kernels' own order.
  void load_trits(const RowsToPack& rows, Matrix& m) {
    m.in_fives = m.n_expert == 0 && in_fives(rows);
    if (m.in_fives) {
      m.codes = allocate(m.rows() * code_bytes(Layout::fives16, m.n_in));
      count_fives(m);
    }
    uint32_t first_row = 0;
    const uint64_t row_bytes = m.n_in / 4;
    uint64_t at = 0;
    for (size_t i = 0; i < rows.parts.size(); ++i) {
      const RowsToPack::Part& part = rows.parts[i];
      m.parts[i].scale *= i2s_scale(part.tensor->data);
      const auto in_file = part.tensor->data.first(part.tensor->data.size() - kI2sTail);
      if (i2s_rows_have_code_3(in_file, part.rows))
        throw Error(
            ErrorKind::model,
            fmt::format(
                "{}: tensor {} holds a code of 3, wanted ternary weights: the file is damaged or not I2_S",
                printable(file_.path), printable(part.tensor->name)));
      if (m.in_fives) {
        load_trits_in_fives(part, first_row, m);
        first_row += part.rows;
        continue;
      }
      const bool as_it_lies = layout_ == I2sLayout::block128 && part.head_dim == 0;
      if (as_it_lies && (m.part_codes[i] = backend_.adopt(in_file))) {
        count(in_file.size());
      } else {
        if (!m.codes) m.codes = allocate(row_bytes * m.rows());
        put(*m.codes, at, as_it_lies ? in_file : block128_in_order(part, in_file, row_bytes));
      }
      at += in_file.size();
    }
  }

  std::span<const std::byte> block128_in_order(const RowsToPack::Part& part, std::span<const std::byte> codes,
                                               uint64_t row_bytes) {
    if (layout_ != I2sLayout::block128) {
      if (layout_ == I2sLayout::rows1x4 && part.rows % 4 != 0)
        throw Error(ErrorKind::model, fmt::format("{}: tensor {} has {} rows, wanted a multiple of 4 for 1x4",
                                                  printable(file_.path), part.tensor->name, part.rows));
      repacked_.resize(codes.size());
      if (layout_ == I2sLayout::block64)
        i2s_block64_to_block128(codes, repacked_);
      else
        i2s_1x4_to_block128(codes, row_bytes * 4, repacked_);
      codes = repacked_;
    }
    return part.head_dim == 0 ? codes : rows_in_order(part, codes, row_bytes);
  }

  // Rows of a head in the order in which kernels rotate them.
  std::span<const std::byte> rows_in_order(const RowsToPack::Part& part, std::span<const std::byte> rows,
                                           uint64_t row_bytes) {
    ordered_.resize(rows.size());
    for (uint32_t r = 0; r < part.rows; ++r) {
      const uint64_t from = r / part.head_dim * part.head_dim + rope_row(r % part.head_dim, part.rope_dim);
      std::memcpy(ordered_.data() + r * row_bytes, rows.data() + from * row_bytes, row_bytes);
    }
    return ordered_;
  }

  // Whether ternary experts of all types lie in Layout::groups.
  bool is_by_expert(const Matrix& m) const { return m.n_expert && backend_.group_layout() == Layout::groups; }

  // The rows of experts one expert after the other. I2_S has a scale of 1 a row there, and its own is that of
  // the part.
  RowsByExpert by_expert(const RowsToPack& stacked, Matrix& m) {
    Matrix::Part* to = m.parts.data();
    return rows_by_expert(stacked, m.n_expert, [&](const RowsToPack::Part& part) {
      const auto data = part.tensor->data;
      if (part.tensor->type != TensorType::i2_s) return data;
      (to++)->scale *= i2s_scale(data);
      return block128_in_order(part, data.first(data.size() - kI2sTail), stacked.n_in / 4);
    });
  }

  void load_groups(const RowsToPack& stacked, Matrix& m) {
    m.layout = backend_.group_layout();
    const auto experts = is_by_expert(m) ? by_expert(stacked, m) : RowsByExpert();
    const RowsToPack& rows = is_by_expert(m) ? experts.rows : stacked;
    const bool i2_s = rows.parts[0].tensor->type == TensorType::i2_s;
    const uint32_t of_file = i2_s ? rows.n_in : find_file_type(rows.parts[0].tensor->type)->scale_every;
    m.in_fives = m.n_expert == 0 && in_fives(rows);
    const Layout layout = m.in_fives ? Layout::fives16 : m.layout;
    if (m.in_fives) count_fives(m);
    Repacker repacker(file_.path, layout, m.layout, rows, of_file);
    const Packed packed = load_packed(repacker, layout, rows, 0, m.rows(), of_file);
    m.codes = packed.codes, m.scales = packed.scales;
    m.scale_every = packed.scale_every;
    m.fixed = fixed_for(repacker.largest_bound());
    for (Matrix::Part& part : m.parts) part.scale /= m.fixed;
  }

  // Each part has a type, codes, scales and `fixed` of its own.
  void load_blocks(const RowsToPack& rows, Matrix& m) {
    m.layout = backend_.block_layout();
    for (size_t i = 0; i < rows.parts.size(); ++i) {
      const RowsToPack part{{rows.parts[i]}, rows.n_in};
      const GgufTensor& tensor = *part.parts[0].tensor;
      BlockRepacker repacker(file_.path, m.layout, part);
      Matrix::Part& to = m.parts[i];
      to.codes = allocate(repacker.code_bytes(to.rows));
      to.scales = allocate(repacker.scale_bytes(to.rows));
      const uint64_t row_bytes = find_file_type(tensor.type)->row_bytes(rows.n_in);
      const uint32_t step = rows_a_step(row_bytes);
      for (uint32_t row = 0; row < to.rows; row += step) {
        const uint32_t last = std::min(to.rows, row + step);
        const PackedBlocks& some = repacker.pack(row, last);
        backend_.upload(*to.codes, repacker.code_bytes(row), some.codes);
        backend_.upload(*to.scales, repacker.scale_bytes(row), some.scales);
        count((last - row) * row_bytes);
      }
      to.fixed = fixed_for(repacker.bound());
      to.scale /= to.fixed;
    }
  }

  // Rows as they lie in the file, where RoPE wants no other order.
  void load_floats(const RowsToPack& rows, Matrix& m) {
    m.layout = Layout::floats;
    for (size_t i = 0; i < rows.parts.size(); ++i) {
      const RowsToPack::Part& part = rows.parts[i];
      const auto in_file = part.tensor->data;
      if (part.head_dim == 0 && (m.parts[i].codes = backend_.adopt(in_file))) {
        count(in_file.size());
        continue;
      }
      m.parts[i].codes = allocate(in_file.size() + kPadding);
      const uint64_t row_bytes = in_file.size() / part.rows;
      put(*m.parts[i].codes, 0, part.head_dim == 0 ? in_file : rows_in_order(part, in_file, row_bytes));
    }
  }

  // A row of an i2_s table has one scale, 1, and the tensor's is Table::scale.
  void load_ternary(GgufTensor tensor, Table& t) {
    t.scale_every = find_file_type(tensor.type)->scale_every;
    if (tensor.type == TensorType::i2_s) {
      t.scale_every = t.n_embd;
      t.scale = i2s_scale(tensor.data);
      const auto codes = tensor.data.first(tensor.data.size() - kI2sTail);
      tensor.data = block128_in_order({&tensor, t.n_vocab}, codes, t.n_embd / 4);
    }
    const RowsToPack rows{{{&tensor, t.n_vocab}}, t.n_embd};
    const Layout layout = backend_.group_layout();
    Repacker repacker(file_.path, layout, layout, rows, t.scale_every);
    const auto most_rows = static_cast<uint32_t>(std::min<uint64_t>(
        backend_.device().max_buffer_bytes / (t.n_embd / 4) / kRowsTogether * kRowsTogether, t.n_vocab));
    for (uint32_t row = 0; row < t.n_vocab; row += most_rows) {
      const uint32_t n = std::min(most_rows, t.n_vocab - row);
      Packed packed = load_packed(repacker, layout, rows, row, row + n, t.scale_every);
      t.scale_every = packed.scale_every;
      t.chunks.push_back({row, n, std::move(packed.codes), std::move(packed.scales)});
    }
    head_bound_ = repacker.largest_bound();
  }

  struct Packed {
    BufferPtr codes, scales;
    uint32_t scale_every;
  };
  // On the CPU equal scales are merged, so that a token reads fewer bytes; the numbers stay the same.
  Packed load_packed(Repacker& repacker, Layout layout, const RowsToPack& rows, uint32_t begin, uint32_t end,
                     uint32_t scale_every) {
    const uint64_t row_bytes = code_bytes(layout, rows.n_in);
    const uint64_t scale_bytes = rows.n_in / scale_every * sizeof(uint16_t);
    const uint64_t n = (uint64_t{end - begin} + kRowsTogether - 1) / kRowsTogether * kRowsTogether;
    const bool merges = has_bands(backend_.group_layout()) && begin == 0 && end == rows.rows();
    Packed packed{allocate(n * row_bytes), merges ? nullptr : allocate(n * scale_bytes), scale_every};
    std::vector<uint16_t> all_scales;
    const uint32_t step = rows_a_step(row_bytes);
    for (uint32_t row = begin; row < end; row += step) {
      const uint32_t last = std::min(end, row + step);
      const PackedRows& some = repacker.pack(row, last);
      backend_.upload(*packed.codes, (row - begin) * row_bytes, some.codes);
      if (merges)
        all_scales.insert(all_scales.end(), some.scales.begin(), some.scales.end());
      else
        backend_.upload(*packed.scales, (row - begin) * scale_bytes, std::as_bytes(std::span(some.scales)));
      const GgufTensor* tensor = nullptr;
      rows.row(row, tensor);
      count((last - row) * find_file_type(tensor->type)->row_bytes(rows.n_in));
    }
    if (merges) {
      packed.scale_every *= merge_scales16(all_scales, rows.n_in / scale_every);
      packed.scales = allocate(all_scales.size() * sizeof(uint16_t));
      backend_.upload(*packed.scales, 0, std::as_bytes(std::span(all_scales)));
    }
    return packed;
  }

  static uint32_t rows_a_step(uint64_t row_bytes) {
    return static_cast<uint32_t>(std::max<uint64_t>(kStep / row_bytes / 128, 1) * 128);
  }

  void put(Buffer& to, uint64_t offset, std::span<const std::byte> bytes) {
    for (size_t at = 0; at < bytes.size(); at += kStep) {
      const auto part = bytes.subspan(at, std::min<size_t>(kStep, bytes.size() - at));
      backend_.upload(to, offset + at, part);
      count(part.size());
    }
  }

  void count(uint64_t bytes) {
    done_ += bytes;
    report(done_);
  }

  void report(uint64_t done) const {
    if (on_progress_ && !on_progress_(done, c_.file_bytes))
      throw Error(ErrorKind::runtime, "loading was stopped");
  }

  const ModelFile& file_;
  const Config& c_;
  Backend& backend_;
  const I2sLayout layout_;
  const WeightHomes homes_;
  const GgufTensor* piece_ = nullptr;  // the first tensor of what is loaded now
  const std::function<bool(uint64_t, uint64_t)> on_progress_;
  std::vector<std::byte> repacked_, ordered_;
  double head_bound_ = 0;  // of the table that was loaded last
  uint64_t done_ = 0;      // of the file's bytes; its directory counts as done at the end
};

Block load_block(Loader& load, const FileBlock& from) {
  constexpr size_t kQueriesAndKeys = 2;
  const auto& [attention, delta, ffn, per_layer, scale] = from;
  Block b;
  b.attention.pre = load.norm(attention.pre);
  b.attention.qkv = load.projection(attention.qkv, kQueriesAndKeys);
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

}  // namespace

Model load_model(const ModelFile& file, Backend& backend, I2sLayout layout, WeightHomes homes,
                 const std::function<bool(uint64_t, uint64_t)>& on_progress) {
  Model model;
  model.config = file.config;
  Loader load(file, backend, layout, homes, on_progress);
  load.begin();
  model.token_embd = load.table(*file.token_embd);
  model.positions = load.maybe(file.positions);
  if (file.per_layer_embd)
    model.per_layer = {load.table(*file.per_layer_embd), load.projection(file.per_layer_proj),
                       load.norm(file.per_layer_norm)};
  if (model.config.tied_head && model.token_embd.is_ternary())
    model.ternary_head = load.head(model.token_embd);
  for (const FileBlock& block : file.blocks) model.blocks.push_back(load_block(load, block));
  model.output_norm = load.norm(file.output_norm);
  model.suppressed = load.suppressed();
  if (!model.config.tied_head) {
    Table head = load.table(*file.output);
    if (head.is_ternary())
      model.ternary_head = load.head(head);
    else
      model.dense_head = std::move(head);
  }
  if (model.finishes_logits())
    (model.dense_head.n_vocab == 0 ? model.token_embd : model.dense_head).wants_all_logits = true;
  load.finish();
  return model;
}

}  // namespace bitnet
