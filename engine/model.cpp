#include "model.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <xxhash.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <unordered_set>

#include "engine/layouts/i2s.h"

namespace bitnet {
namespace {

constexpr const char* kArchitectures[] = {"bitnet-b1.58", "bitnet-25", "bitnet-1.58"};

[[noreturn]] void fail(const GgufFile& file, const std::string& what) {
  throw Error(ErrorKind::model, fmt::format("{}: {}", printable(file.path()), what));
}

// A size from the metadata. The bounds keep every product of two of them in 64 bits and every dispatch in 32.
uint32_t get_size(const GgufFile& file, const std::string& key, uint32_t most) {
  const uint32_t value = file.get_u32(key);
  if (value == 0 || value > most) fail(file, fmt::format("{} is {}, wanted 1 to {}", key, value, most));
  return value;
}

std::string old_fingerprint(const GgufFile& file) {
  XXH3_state_t* state = XXH3_createState();
  XXH3_128bits_reset(state);
  const uint64_t size = file.size();
  XXH3_128bits_update(state, &size, sizeof size);
  for (const auto& [key, value] : file.metadata()) {
    XXH3_128bits_update(state, key.data(), key.size());
    XXH3_128bits_update(state, value.raw.data(), value.raw.size());
  }
  constexpr size_t kSample = 4096;  // of each tensor's beginning and end
  for (const auto& tensor : file.tensors()) {
    const size_t n = std::min(kSample, tensor.data.size());
    XXH3_128bits_update(state, tensor.data.data(), n);
    XXH3_128bits_update(state, tensor.data.data() + tensor.data.size() - n, n);
  }
  const XXH128_hash_t hash = XXH3_128bits_digest(state);
  XXH3_freeState(state);
  return fmt::format("{:016x}{:016x}", hash.high64, hash.low64);
}

enum class Kind { norm, ternary, embedding };

bool type_fits(TensorType type, Kind kind) {
  switch (kind) {
    case Kind::norm:
      return type == TensorType::f32;
    case Kind::ternary:
      return type == TensorType::i2_s;
    case Kind::embedding:
      return type == TensorType::f16 || type == TensorType::f32;
  }
  return false;
}

const char* types_of(Kind kind) {
  switch (kind) {
    case Kind::norm:
      return "F32";
    case Kind::ternary:
      return "I2_S";
    case Kind::embedding:
      return "F16 or F32";
  }
  return "";
}

void check_finite(const GgufFile& file, const GgufTensor& tensor, std::span<const float> values) {
  const auto bad = std::find_if(values.begin(), values.end(), [](float v) { return !std::isfinite(v); });
  if (bad != values.end())
    fail(file, fmt::format("tensor {}: value {} is {}, wanted a finite number", printable(tensor.name),
                           bad - values.begin(), *bad));
}

const GgufTensor* checked(const GgufFile& file, const std::string& name, const std::vector<uint64_t>& shape,
                          Kind kind) {
  const GgufTensor* tensor = file.find_tensor(name);
  if (!tensor) fail(file, fmt::format("tensor {} is missing", name));
  if (tensor->shape != shape)
    fail(file, fmt::format("tensor {} has shape [{}], wanted [{}]", name, fmt::join(tensor->shape, ", "),
                           fmt::join(shape, ", ")));
  if (!type_fits(tensor->type, kind))
    fail(file, fmt::format("tensor {} has type {}, wanted {}", name, name_of(tensor->type), types_of(kind)));
  if (kind == Kind::norm)
    check_finite(file, *tensor,
                 {reinterpret_cast<const float*>(tensor->data.data()), tensor->data.size() / 4});
  if (kind == Kind::ternary) {
    const float scale = i2s_scale(tensor->data);
    check_finite(file, *tensor, {&scale, 1});
  }
  return tensor;
}

}  // namespace

Config read_config(const GgufFile& file) {
  Config c;
  c.architecture = file.get_string("general.architecture");
  if (std::find(std::begin(kArchitectures), std::end(kArchitectures), c.architecture) ==
      std::end(kArchitectures))
    fail(file, fmt::format("general.architecture is \"{}\", wanted one of {}", printable(c.architecture),
                           fmt::join(kArchitectures, ", ")));
  const auto key = [&](const char* name) { return c.architecture + "." + name; };
  c.name = file.find_string("general.name").value_or("");
  c.n_ctx_train = get_size(file, key("context_length"), 1 << 20);
  c.n_embd = get_size(file, key("embedding_length"), 1 << 16);
  c.n_layer = get_size(file, key("block_count"), 1 << 10);
  c.n_ff = get_size(file, key("feed_forward_length"), 1 << 18);
  c.n_head = get_size(file, key("attention.head_count"), 1 << 10);
  c.n_head_kv = get_size(file, key("attention.head_count_kv"), 1 << 10);
  c.norm_epsilon = file.get_f32(key("attention.layer_norm_rms_epsilon"));
  c.rope_base = file.get_f32(key("rope.freq_base"));
  if (!(c.norm_epsilon >= 0 && c.norm_epsilon < 1))
    fail(file,
         fmt::format("{} is {}, wanted 0 to 1", key("attention.layer_norm_rms_epsilon"), c.norm_epsilon));
  if (!(c.rope_base > 0 && std::isfinite(c.rope_base)))
    fail(file, fmt::format("{} is {}, wanted a number above 0", key("rope.freq_base"), c.rope_base));
  if (c.n_head % c.n_head_kv != 0)
    fail(file, fmt::format("{} is {}, wanted a divisor of the {} heads", key("attention.head_count_kv"),
                           c.n_head_kv, c.n_head));

  const auto key_length = file.find_u32(key("attention.key_length"));
  const auto value_length = file.find_u32(key("attention.value_length"));
  if (!key_length && c.n_embd % c.n_head != 0)
    fail(file, fmt::format("{} is {}, wanted a multiple of the {} heads", key("embedding_length"), c.n_embd,
                           c.n_head));
  c.head_dim = key_length.value_or(c.n_embd / c.n_head);
  if (c.head_dim == 0 || c.head_dim % 8 != 0 || c.head_dim > 256)
    fail(file, fmt::format("a head has {} features, wanted a multiple of 8 up to 256", c.head_dim));
  if (value_length.value_or(c.head_dim) != c.head_dim)
    fail(file, fmt::format("{} is {}, wanted {} as for keys", key("attention.value_length"), *value_length,
                           c.head_dim));
  c.rope_dim = file.find_u32(key("rope.dimension_count")).value_or(c.head_dim);
  if (c.rope_dim == 0 || c.rope_dim % 2 != 0 || c.rope_dim > c.head_dim)
    fail(file, fmt::format("{} is {}, wanted an even number up to {}", key("rope.dimension_count"),
                           c.rope_dim, c.head_dim));
  for (const auto& [name, n] :
       {std::pair("embedding_length", c.n_embd), std::pair("feed_forward_length", c.n_ff),
        std::pair("attention.head_count * head size", c.n_head * c.head_dim)})
    if (n % 128 != 0) fail(file, fmt::format("{} is {}, wanted a multiple of 128", key(name), n));

  const GgufTensor* embedding = file.find_tensor("token_embd.weight");
  if (!embedding) fail(file, "tensor token_embd.weight is missing");
  if (embedding->shape.size() != 2 || embedding->shape[1] == 0 || embedding->shape[1] > (1U << 24))
    fail(file, fmt::format("tensor token_embd.weight has shape [{}], wanted [{}, vocabulary]",
                           fmt::join(embedding->shape, ", "), c.n_embd));
  c.n_vocab = static_cast<uint32_t>(embedding->shape[1]);
  const auto stated = file.find_u32(key("vocab_size"));
  if (stated && *stated != c.n_vocab)
    fail(file, fmt::format("{} is {}, wanted {}, the rows of token_embd.weight", key("vocab_size"), *stated,
                           c.n_vocab));
  c.tied_head = file.find_tensor("output.weight") == nullptr;
  c.file_bytes = file.size();
  for (const auto& t : file.tensors())
    if (t.type == TensorType::i2_s) c.n_ternary += 4 * (t.data.size() - kI2sTail);
  c.old_fingerprint = old_fingerprint(file);
  return c;
}

ModelFiles find_tensors(const GgufFile& file, const Config& c) {
  const uint64_t embd = c.n_embd, ff = c.n_ff, q = uint64_t{c.n_head} * c.head_dim,
                 kv = uint64_t{c.n_head_kv} * c.head_dim;
  ModelFiles files;
  files.path = file.path();
  files.token_embd = checked(file, "token_embd.weight", {embd, c.n_vocab}, Kind::embedding);
  files.output_norm = checked(file, "output_norm.weight", {embd}, Kind::norm);
  files.output =
      c.tied_head ? files.token_embd : checked(file, "output.weight", {embd, c.n_vocab}, Kind::embedding);

  struct Row {
    const GgufTensor* LayerFiles::*tensor;
    const char* name;
    std::vector<uint64_t> shape;  // [input, output] features
    Kind kind;
  };
  const std::vector<Row> table = {
      {&LayerFiles::attn_norm, "attn_norm", {embd}, Kind::norm},
      {&LayerFiles::attn_q, "attn_q", {embd, q}, Kind::ternary},
      {&LayerFiles::attn_k, "attn_k", {embd, kv}, Kind::ternary},
      {&LayerFiles::attn_v, "attn_v", {embd, kv}, Kind::ternary},
      {&LayerFiles::attn_sub_norm, "attn_sub_norm", {q}, Kind::norm},
      {&LayerFiles::attn_output, "attn_output", {q, embd}, Kind::ternary},
      {&LayerFiles::ffn_norm, "ffn_norm", {embd}, Kind::norm},
      {&LayerFiles::ffn_gate, "ffn_gate", {embd, ff}, Kind::ternary},
      {&LayerFiles::ffn_up, "ffn_up", {embd, ff}, Kind::ternary},
      {&LayerFiles::ffn_sub_norm, "ffn_sub_norm", {ff}, Kind::norm},
      {&LayerFiles::ffn_down, "ffn_down", {ff, embd}, Kind::ternary},
  };
  for (uint32_t i = 0; i < c.n_layer; ++i) {
    LayerFiles layer{};
    for (const Row& row : table)
      layer.*row.tensor = checked(file, fmt::format("blk.{}.{}.weight", i, row.name), row.shape, row.kind);
    files.layers.push_back(layer);
  }
  return files;
}

std::vector<std::string> extra_tensors(const GgufFile& file, const ModelFiles& files) {
  std::unordered_set<const GgufTensor*> read = {files.token_embd, files.output_norm, files.output};
  for (const LayerFiles& l : files.layers)
    read.insert({l.attn_norm, l.attn_q, l.attn_k, l.attn_v, l.attn_sub_norm, l.attn_output, l.ffn_norm,
                 l.ffn_gate, l.ffn_up, l.ffn_sub_norm, l.ffn_down});
  std::vector<std::string> names;
  for (const GgufTensor& tensor : file.tensors())
    if (!read.contains(&tensor)) names.push_back(tensor.name);
  return names;
}

ModelInfo read_model_info(const GgufFile& file) {
  Config config = read_config(file);
  config.extra_tensors = extra_tensors(file, find_tensors(file, config));
  return config;
}

namespace {

// Copies tensors to the device and reports how far it is.
class Loader {
 public:
  Loader(const std::string& path, uint64_t file_bytes, Backend& backend, I2sLayout layout,
         const std::function<bool(uint64_t, uint64_t)>& on_progress)
      : path_(path), backend_(backend), layout_(layout), on_progress_(on_progress), total_(file_bytes) {}

  void begin() const { report(0); }

  void finish() {
    backend_.finish_uploads();
    report(total_);
  }

  Norm norm(const GgufTensor& tensor, float epsilon) {
    BufferPtr buffer = backend_.allocate(tensor.data.size(), BufferUse::weights);
    put(*buffer, 0, tensor.data);
    return {std::move(buffer), epsilon};
  }

  Matrix ternary(std::initializer_list<const GgufTensor*> tensors) {
    Matrix m;
    m.n_in = static_cast<uint32_t>((*tensors.begin())->shape[0]);
    size_t n = 0;
    for (const GgufTensor* t : tensors)
      m.parts[n++] = {static_cast<uint32_t>(t->shape[1]), i2s_scale(t->data)};
    const uint64_t row_bytes = m.n_in / 4;
    uint64_t offset = 0;
    n = 0;
    for (const GgufTensor* t : tensors) {
      auto codes = t->data.first(t->data.size() - kI2sTail);
      if (i2s_has_code_3(codes))
        throw Error(
            ErrorKind::model,
            fmt::format(
                "{}: tensor {} holds a code of 3, wanted ternary weights: the file is damaged or not I2_S",
                printable(path_), printable(t->name)));
      if (layout_ == I2sLayout::block64) {
        repacked_.resize(codes.size());
        i2s_block64_to_block128(codes, repacked_);
        codes = repacked_;
      }
      if (layout_ == I2sLayout::block128 && (m.part_codes[n] = backend_.adopt(codes))) {
        ++n;
        count(codes.size());
        continue;
      }
      if (!m.codes) m.codes = backend_.allocate(row_bytes * m.rows(), BufferUse::weights);
      put(*m.codes, offset, codes);
      offset += codes.size();
    }
    return m;
  }

  // Splits the table into chunks of rows that one binding can reach.
  Table embedding(const GgufTensor& tensor) {
    Table e;
    e.n_embd = static_cast<uint32_t>(tensor.shape[0]);
    e.n_vocab = static_cast<uint32_t>(tensor.shape[1]);
    e.type = tensor.type;
    if (BufferPtr whole = backend_.adopt(tensor.data)) {
      e.chunks.push_back({0, e.n_vocab, std::move(whole), nullptr});
      count(tensor.data.size());
      return e;
    }
    const uint64_t row_bytes = tensor.data.size() / e.n_vocab;
    const auto most_rows =
        static_cast<uint32_t>(std::min<uint64_t>(backend_.device().max_buffer_bytes / row_bytes, e.n_vocab));
    for (uint32_t row = 0; row < e.n_vocab; row += most_rows) {
      const uint32_t rows = std::min(most_rows, e.n_vocab - row);
      Table::Chunk chunk{row, rows, backend_.allocate(rows * row_bytes, BufferUse::weights), nullptr};
      put(*chunk.bytes, 0, tensor.data.subspan(row * row_bytes, rows * row_bytes));
      e.chunks.push_back(std::move(chunk));
    }
    return e;
  }

 private:
  void put(Buffer& to, uint64_t offset, std::span<const std::byte> bytes) {
    constexpr size_t kStep = 16 << 20;  // between two reports
    for (size_t at = 0; at < bytes.size(); at += kStep) {
      const auto part = bytes.subspan(at, std::min(kStep, bytes.size() - at));
      backend_.upload(to, offset + at, part);
      count(part.size());
    }
  }

  void count(uint64_t bytes) {
    done_ += bytes;
    report(done_);
  }

  void report(uint64_t done) const {
    if (on_progress_ && !on_progress_(done, total_)) throw Error(ErrorKind::runtime, "loading was stopped");
  }

  const std::string& path_;
  Backend& backend_;
  I2sLayout layout_;
  const std::function<bool(uint64_t, uint64_t)>& on_progress_;
  std::vector<std::byte> repacked_;
  uint64_t total_;  // the whole file; its directory counts as done at the end
  uint64_t done_ = 0;
};

}  // namespace

Model load_model(const Config& config, const ModelFiles& files, Backend& backend, I2sLayout layout,
                 const std::function<bool(uint64_t, uint64_t)>& on_progress) {
  Model model;
  model.config = config;
  Loader load(files.path, config.file_bytes, backend, layout, on_progress);
  load.begin();
  model.token_embd = load.embedding(*files.token_embd);
  for (const LayerFiles& from : files.layers) {
    Layer layer;
    layer.attn_norm = load.norm(*from.attn_norm, config.norm_epsilon);
    layer.qkv = load.ternary({from.attn_q, from.attn_k, from.attn_v});
    layer.attn_sub_norm = load.norm(*from.attn_sub_norm, config.norm_epsilon);
    layer.attn_output = load.ternary({from.attn_output});
    layer.ffn_norm = load.norm(*from.ffn_norm, config.norm_epsilon);
    layer.ffn_gate_up = load.ternary({from.ffn_gate, from.ffn_up});
    layer.ffn_sub_norm = load.norm(*from.ffn_sub_norm, config.norm_epsilon);
    layer.ffn_down = load.ternary({from.ffn_down});
    model.layers.push_back(std::move(layer));
  }
  model.output_norm = load.norm(*files.output_norm, config.norm_epsilon);
  if (!model.config.tied_head) model.separate_head = load.embedding(*files.output);
  load.finish();
  return model;
}

}  // namespace bitnet
