#include "tensor_loader.h"

#include <sys/mman.h>

#include <cstring>
#include <list>

#include "engine/layouts/pack.h"
#include "engine/mapped_file.h"
#include "place_backend.h"

namespace bitnet {
namespace {

float f32_of(const GgufTensor& tensor) {
  float value = 0;
  std::memcpy(&value, tensor.data.data(), sizeof value);
  return value;
}

}  // namespace

BufferPtr TensorLoader::suppressed() {
  if (c_.suppressed_tokens.empty()) return nullptr;
  const auto ids = std::as_bytes(std::span(c_.suppressed_tokens));
  BufferPtr buffer = backend_.allocate(ids.size(), BufferUse::weights);
  backend_.upload(*buffer, 0, ids);
  return buffer;
}

BufferPtr TensorLoader::stacked(const std::array<const GgufTensor*, 3>& vectors, size_t by_heads) {
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

namespace {

// Tensors of some rows of those of the file, and their bytes.
struct GatheredRows {
  std::list<GgufTensor> tensors;
  std::list<std::vector<std::byte>> bytes;
};

// A part that is some rows of its tensor, one behind the other.
const GgufTensor& gathered(const GgufTensor& part, const RowRuns& runs, GatheredRows& to) {
  const uint64_t tail = find_file_type(part.type)->tail_bytes, rows = part.shape[1] / runs.run * runs.every;
  const uint64_t row_bytes = (part.data.size() - tail) / rows;
  std::vector<std::byte>& bytes = to.bytes.emplace_back();
  bytes.reserve(part.shape[1] * row_bytes + tail);
  const auto append = [&](std::span<const std::byte> some) {
    bytes.insert(bytes.end(), some.begin(), some.end());
  };
  for (uint64_t row = runs.first; row < rows; row += runs.every)
    append(part.data.subspan(row * row_bytes, runs.run * row_bytes));
  append(part.data.last(tail));
  GgufTensor& tensor = to.tensors.emplace_back(part);
  tensor.data = bytes;
  return tensor;
}

}  // namespace

BufferPtr TensorLoader::adopt(const RowsToPack::Part& part, std::span<const std::byte> rows) {
  return part.is_copy ? nullptr : backend_.adopt(rows);
}

Rotation TensorLoader::rotation_for(uint32_t width) {
  const auto found = file_.hadamard->signs.find(width);
  if (found == file_.hadamard->signs.end()) return {file_.hadamard->block};
  BufferPtr& signs = signs_[width];
  if (!signs) {
    const auto bytes = std::as_bytes(std::span(found->second));
    signs = backend_.allocate(bytes.size(), BufferUse::weights);
    backend_.upload(*signs, 0, bytes);
  }
  return {file_.hadamard->block, signs};
}

Rotation TensorLoader::rotation_of(const GgufTensor& tensor) {
  if (!file_.hadamard || !file_.hadamard->folded.contains(tensor.name)) return {};
  return rotation_for(static_cast<uint32_t>(tensor.shape[0]));
}

Rotation TensorLoader::embedding_rotation() {
  if (!file_.hadamard || !file_.hadamard->embedding) return {};
  return rotation_for(c_.n_embd);
}

Matrix TensorLoader::projection(const TensorStack& stack, size_t by_heads) {
  Matrix m = unrotated(stack, by_heads);
  m.rotation = rotation_of(*stack.parts[0]);
  return m;
}

Matrix TensorLoader::unrotated(const TensorStack& stack, size_t by_heads) {
  piece_ = stack.parts[0];
  if (homes_.placement.home_of(*piece_) == Home::file) return from_file(stack, by_heads);
  RowsToPack rows;
  rows.n_in = static_cast<uint32_t>(stack.parts[0]->shape[0]);
  GatheredRows some_rows;
  for (const GgufTensor* t : stack.parts) {
    if (!t) continue;
    const RowRuns& runs = stack.runs[rows.parts.size()];
    if (runs.run != 0) {
      const auto in_file = t->data;
      t = &gathered(*t, runs, some_rows);
      let_go(in_file);
    }
    rows.parts.push_back({.tensor = t, .rows = static_cast<uint32_t>(t->shape[1]), .is_copy = runs.run != 0});
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

BufferPtr TensorLoader::allocate(uint64_t bytes) {
  if (homes_.placement.home_of(*piece_) == Home::device) try {
      return backend_.allocate(bytes, BufferUse::weights);
    } catch (const Error&) {
      if (!homes_.may_move) throw;
      homes_.placement.move_to_host(*piece_);
    }
  return backend_.allocate(bytes, BufferUse::host_weights);
}

BufferPtr TensorLoader::whole(const GgufTensor& tensor) {
  BufferPtr buffer = backend_.allocate(tensor.data.size(), BufferUse::weights);
  put(*buffer, 0, tensor.data);
  return buffer;
}

std::span<const std::byte> TensorLoader::rows_in_order(const RowsToPack::Part& part,
                                                       std::span<const std::byte> rows, uint64_t row_bytes) {
  ordered_.resize(rows.size());
  for (uint32_t r = 0; r < part.rows; ++r) {
    const uint64_t from = r / part.head_dim * part.head_dim + rope_row(r % part.head_dim, part.rope_dim);
    std::memcpy(ordered_.data() + r * row_bytes, rows.data() + from * row_bytes, row_bytes);
  }
  return ordered_;
}

void TensorLoader::load_blocks(const RowsToPack& rows, Matrix& m) {
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
    let_go(tensor.data);
    to.fixed = fixed_for(repacker.bound());
    to.scale /= to.fixed;
  }
}

void TensorLoader::load_floats(const RowsToPack& rows, Matrix& m) {
  m.layout = Layout::floats;
  for (size_t i = 0; i < rows.parts.size(); ++i) {
    const RowsToPack::Part& part = rows.parts[i];
    const auto in_file = part.tensor->data;
    if (part.head_dim == 0 && (m.parts[i].codes = adopt(part, in_file))) {
      count(in_file.size());
      continue;
    }
    m.parts[i].codes = allocate(in_file.size() + kPadding);
    const uint64_t row_bytes = in_file.size() / part.rows;
    put(*m.parts[i].codes, 0, part.head_dim == 0 ? in_file : rows_in_order(part, in_file, row_bytes));
    let_go(in_file);
  }
}

void TensorLoader::put(Buffer& to, uint64_t offset, std::span<const std::byte> bytes) {
  for (size_t at = 0; at < bytes.size(); at += kStep) {
    const auto part = bytes.subspan(at, std::min<size_t>(kStep, bytes.size() - at));
    backend_.upload(to, offset + at, part);
    count(part.size());
  }
  let_go(bytes);
}

void TensorLoader::let_go(std::span<const std::byte> bytes) const {
  constexpr uintptr_t kLarge = 2 << 20;  // a page may be mapped with those around it, of as much
  for (const auto& file : file_.files) {
    if (bytes.empty() || !is_in(*file, bytes)) continue;
    const auto first = reinterpret_cast<uintptr_t>(file->bytes().data()),
               at = reinterpret_cast<uintptr_t>(bytes.data());
    const uintptr_t begin = std::max(first, at / kLarge * kLarge);
    const uintptr_t end =
        std::min(first + file->bytes().size(), (at + bytes.size() + kLarge - 1) / kLarge * kLarge);
    madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED);
  }
}

void TensorLoader::report(uint64_t done) const {
  if (on_progress_ && !on_progress_(done, c_.file_bytes))
    throw Error(ErrorKind::runtime, "loading was stopped");
}

Norm TensorLoader::norm(const NormOf<const GgufTensor*>& from) {
  return {static_cast<Norm::Kind>(from.kind), from.weight ? whole(*from.weight) : nullptr,
          from.bias ? whole(*from.bias) : nullptr, from.epsilon};
}

void TensorLoader::finish() {
  backend_.finish_uploads();
  report(c_.file_bytes);
}

WeightReader::Put TensorLoader::put_in_place(const TensorStack& stack, size_t by_heads) const {
  auto of_model = std::make_shared<ModelFile>();
  of_model->config = c_;
  of_model->path = file_.path;
  std::vector<GgufTensor> tensors;
  for (const GgufTensor* t : stack.parts)
    if (t) tensors.push_back(*t);
  return
      [of_model = std::shared_ptr<const ModelFile>(of_model), tensors, runs = stack.runs, by_heads,
       &backend = backend_, layout = layout_](std::span<const std::byte> bytes, std::span<std::byte> place) {
        std::vector<GgufTensor> there = tensors;
        TensorStack stack;
        stack.runs = runs;
        for (size_t i = 0, at = 0; i < there.size(); ++i) {
          there[i].data = bytes.subspan(at, tensors[i].data.size());
          at += there[i].data.size();
          stack.parts[i] = &there[i];
        }
        PlaceBackend to(backend, place);
        Placement all_there;
        TensorLoader(*of_model, to, layout, {.placement = all_there, .read_again = true}, {})
            .unrotated(stack, by_heads);
      };
}

Matrix TensorLoader::from_file(const TensorStack& stack, size_t by_heads) {
  PlaceBackend nowhere(backend_, homes_.places[0]->size());
  Placement all_there;
  const uint64_t before = done_;
  const std::function<bool(uint64_t, uint64_t)> tell = [&](uint64_t done, uint64_t) {
    report(before + done);
    return true;
  };
  TensorLoader packer(file_, nowhere, layout_, {.placement = all_there, .read_again = true}, tell);
  TensorStack weights = stack;
  weights.biases = {};
  Matrix m = packer.unrotated(weights, by_heads);
  done_ = before + packer.done_;
  std::vector<std::span<const std::byte>> ranges;
  for (const GgufTensor* t : stack.parts)
    if (t) ranges.push_back(t->data);
  m.in_file = homes_.reader->add(ranges, put_in_place(stack, by_heads));
  for (const auto range : ranges) let_go(range);
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

}  // namespace bitnet
