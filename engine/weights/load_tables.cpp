// How an embedding and an LM head get onto a device.
#include <fmt/format.h>

#include <cmath>

#include "engine/layouts/i2s.h"
#include "engine/layouts/pack.h"
#include "tensor_loader.h"

namespace bitnet {

Table TensorLoader::table(const GgufTensor& tensor) {
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

Matrix TensorLoader::head(const Table& t) {
  if (t.chunks.size() != 1)
    throw Error(ErrorKind::device,
                fmt::format("{} cannot bind the whole LM head of {} rows at once; try --device cpu",
                            backend_.device().name, t.n_vocab));
  Matrix m;
  m.n_in = t.n_embd;
  m.layout = backend_.group_layout();
  m.input = Input::int8_units;
  m.scale_every = t.scale_every;
  m.fixed = fixed_for(t.bound);
  m.parts[0] = {t.n_vocab, t.scale / m.fixed};
  m.codes = t.chunks[0].bytes;
  m.scales = t.chunks[0].scales;
  return m;
}

void TensorLoader::load_ternary(GgufTensor tensor, Table& t) {
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
  int lifted = 0;
  for (uint32_t row = 0; row < t.n_vocab; row += most_rows) {
    const uint32_t n = std::min(most_rows, t.n_vocab - row);
    Packed packed = load_packed(repacker, layout, rows, row, row + n, t.scale_every);
    t.scale_every = packed.scale_every;
    lifted = packed.lifted;
    t.chunks.push_back({row, n, std::move(packed.codes), std::move(packed.scales)});
  }
  t.scale = std::ldexp(t.scale, -lifted);
  t.bound = std::ldexp(repacker.largest_bound(), lifted);
}

}  // namespace bitnet
