#include "engine/gguf.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <numeric>
#include <utility>

#include "engine/layouts/file_types.h"
#include "gguf_values.h"

namespace bitnet {
namespace {

// These lie far above any model that this engine runs, and bound what a hostile directory can make it
// allocate.
constexpr uint64_t kMaxKeys = 1 << 16;
constexpr uint64_t kMaxTensors = 1 << 16;
constexpr uint64_t kMaxKeyBytes = 65535;
constexpr uint64_t kMaxTensorNameBytes = 64;
constexpr uint32_t kMaxDims = 4;
constexpr uint64_t kMaxHeadBytes = 128 << 20;  // up to the end of the directory; Gemma 4's takes 20 MB
constexpr uint32_t kDefaultAlignment = 32;

}  // namespace

std::string name_of(TensorType type) {
  const FileType* known = find_file_type(type);
  return known ? known->name : fmt::format("type {}", static_cast<uint32_t>(type));
}

// Reads the file from its first byte to the end of the directory.
struct Checkpoint::Parser {
  Checkpoint& file;
  std::span<const std::byte> all;  // of the file
  uint64_t at = 0;

  [[noreturn]] void fail(const std::string& problem) const {
    throw Error(ErrorKind::model, fmt::format("{}: {}", printable(file.path_), problem));
  }

  uint64_t left() const { return all.size() - at; }

  std::span<const std::byte> take(uint64_t n, std::string_view what) {
    if (n > left()) {
      fail(fmt::format("{} at byte {}: wanted {} bytes, got {} before the end of the file; is it complete?",
                       what, at, n, left()));
    }
    if (n > kMaxHeadBytes - at) {
      fail(fmt::format("{} at byte {}: wanted all that comes before the weights within {} bytes, got {} more",
                       what, at, kMaxHeadBytes, n));
    }
    const auto taken = all.subspan(at, n);
    at += n;
    return taken;
  }

  template <typename T>
  T number(std::string_view what) {
    return load<T>(take(sizeof(T), what).data());
  }

  std::string_view string(std::string_view what) {
    const auto length = number<uint64_t>(what);
    return as_text(take(length, what));
  }

  void header() {
    const auto magic = as_text(take(4, "magic"));
    if (magic != "GGUF" && magic != "FUGG") {
      fail(fmt::format("wanted a GGUF file, which begins with \"GGUF\", got \"{}\"", printable(magic)));
    }
    const auto version = number<uint32_t>("version");
    const uint32_t swapped = __builtin_bswap32(version);
    if (magic == "FUGG" || (swapped >= 1 && swapped <= 3)) {
      fail("wanted a little-endian GGUF file, got a big-endian one; convert it with gguf_convert_endian.py");
    }
    if (version != 2 && version != 3) {
      fail(fmt::format("wanted GGUF version 2 or 3, got version {}", version));
    }
    if (file.format_.empty()) file.format_ = fmt::format("GGUF {}", version);
  }

  // Reads a number of records and checks it against the smallest size that each can have.
  uint64_t count(const char* what, uint64_t most, uint64_t least_bytes) {
    const auto n = number<uint64_t>(what);
    if (n > most) fail(fmt::format("{}: wanted at most {}, got {}", what, most, n));
    if (n > all.size() / least_bytes) {
      fail(fmt::format("{}: wanted what fits a file of {} bytes, got {}", what, all.size(), n));
    }
    return n;
  }

  // Reads a name that may be shown as it is.
  std::string_view name(const std::string& what, uint64_t most_bytes) {
    const auto length = number<uint64_t>(what);
    if (length == 0 || length > most_bytes) {
      fail(fmt::format("name of {}: wanted 1 to {} bytes, got {}", what, most_bytes, length));
    }
    const auto text = as_text(take(length, what));
    if (printable(text, text.size()) != text) {
      fail(fmt::format("name of {}: wanted printable UTF-8, got \"{}\"", what, printable(text)));
    }
    return text;
  }

  GgufType value_type(const std::string& what) {
    const auto type = number<uint32_t>(what);
    if (type > static_cast<uint32_t>(GgufType::f64)) {
      fail(fmt::format("{}: wanted a value type of 0 to 12, got {}", what, type));
    }
    return static_cast<GgufType>(type);
  }

  GgufValue value(const std::string& what) {
    const GgufType type = value_type(what);
    const uint64_t begin = at;
    GgufValue value{type, type, 1, {}};
    if (type == GgufType::string) {
      value.raw = std::as_bytes(std::span(string(what)));
    } else if (type == GgufType::array) {
      value = array(what);
    } else {
      value.raw = take(size_of(type), what);
    }
    if (type == GgufType::boolean && load<uint8_t>(value.raw.data()) > 1) {
      fail(fmt::format("{} at byte {}: wanted a bool of 0 or 1, got {}", what, begin,
                       load<uint8_t>(value.raw.data())));
    }
    return value;
  }

  GgufValue array(const std::string& what) {
    const GgufType element = value_type(what);
    if (element == GgufType::array)
      fail(fmt::format("{}: wanted an array of plain values, got an array of arrays", what));
    const auto n = number<uint64_t>(what);
    const uint64_t least_bytes = element == GgufType::string ? sizeof(uint64_t) : size_of(element);
    if (n > left() / least_bytes) {
      fail(fmt::format("{}: wanted at most the {} elements of {} that the rest of the file can hold, got {}",
                       what, left() / least_bytes, name_of(element), n));
    }
    const uint64_t begin = at;
    if (element == GgufType::string) {
      for (uint64_t i = 0; i < n; ++i) string(what);
    } else {
      take(n * least_bytes, what);
    }
    return {GgufType::array, element, n, all.subspan(begin, at - begin)};
  }

  void metadata(uint64_t n) {
    for (uint64_t i = 0; i < n; ++i) {
      const auto key = name(fmt::format("metadata key {} of {}", i + 1, n), kMaxKeyBytes);
      const std::string what = fmt::format("key {}", printable(key));
      if (!file.key_index_.emplace(key, i).second) fail(what + ": wanted it once, got it twice");
      GgufValue v = value(what);
      file.metadata_.emplace_back(key, v);
    }
  }

  // Models above a size come as several files, of which the first one has the metadata of all.
  void refuse_part() const {
    const uint32_t parts = file.find_u32("split.count").value_or(1);
    if (parts <= 1) return;
    fail(
        fmt::format("this is part {} of {} of a model, wanted one file; join them with "
                    "llama-gguf-split --merge",
                    uint64_t{file.find_u32("split.no").value_or(0)} + 1, parts));
  }

  uint64_t alignment() const {
    const GgufValue* found = file.find_typed("general.alignment", GgufType::u32);
    if (!found) return kDefaultAlignment;
    const auto alignment = load<uint32_t>(found->raw.data());
    if (alignment < 8 || !std::has_single_bit(alignment)) {
      fail(fmt::format("key general.alignment: wanted a power of two of at least 8, got {}", alignment));
    }
    return alignment;
  }

  const FileType& file_type(const std::string& what, uint32_t type) const {
    const FileType* known = find_file_type(TensorType{type});
    if (!known || known->id == kQ2_0By128)
      fail(fmt::format("{}: type {} is not known; wanted one that ggml defines", what, type));
    if (known->block == 0)
      fail(fmt::format("{} {}", what, why_not(TensorType{type}, TensorRole::projection)));
    return *known;
  }

  uint64_t tensor_bytes(const GgufTensor& t) const {
    const FileType& type = *find_file_type(t.type);
    const std::string what = fmt::format("tensor {}", printable(t.name));
    if (t.shape[0] % type.block != 0) {
      fail(fmt::format("{}: wanted rows of a multiple of {} elements for {}, got {}", what, type.block,
                       type.name, t.shape[0]));
    }
    uint64_t bytes = 1;
    bool wraps = false;
    for (const uint64_t n : t.shape) wraps |= __builtin_mul_overflow(bytes, n, &bytes);
    wraps |= __builtin_mul_overflow(bytes / type.block, uint64_t{type.block_bytes}, &bytes);
    wraps |= __builtin_add_overflow(bytes, uint64_t{type.tail_bytes}, &bytes);
    if (wraps) {
      fail(fmt::format("{}: wanted a shape that fits the file, got [{}]", what, fmt::join(t.shape, ", ")));
    }
    return bytes;
  }

  // Fills in everything but `data`.
  void directory(uint64_t n) {
    for (uint64_t i = 0; i < n; ++i) {
      const auto tensor_name = name(fmt::format("tensor {} of {}", i + 1, n), kMaxTensorNameBytes);
      const std::string what = fmt::format("tensor {}", printable(tensor_name));
      if (!file.tensor_index_.emplace(tensor_name, i).second) fail(what + ": wanted it once, got it twice");
      const auto n_dims = number<uint32_t>(what);
      if (n_dims < 1 || n_dims > kMaxDims) {
        fail(fmt::format("{}: wanted 1 to {} dimensions, got {}", what, kMaxDims, n_dims));
      }
      std::vector<uint64_t> shape(n_dims);
      for (uint64_t& d : shape) {
        d = number<uint64_t>(what);
        if (d == 0 || d > uint64_t{std::numeric_limits<int64_t>::max()}) {
          fail(fmt::format("{}: wanted dimensions of 1 to 2^63 - 1, got {}", what, d));
        }
      }
      const auto type = TensorType{file_type(what, number<uint32_t>(what)).id};
      file.tensors_.push_back({std::string(tensor_name), type, std::move(shape), 0, {}});
      tensor_bytes(file.tensors_.back());
      file.tensors_.back().offset = number<uint64_t>(what);
    }
  }

  // Finds out whether the scales of Q2_0 stand for 64 weights or, in PrismML's older files, for 128: a
  // tensor's distance to the next one or to the end of the file fits one or the other. All in a file are of
  // one kind.
  void decide_q2_0(uint64_t base, uint64_t alignment) {
    std::vector<uint64_t> begins;
    for (const GgufTensor& t : file.tensors_) begins.push_back(t.offset);
    std::ranges::sort(begins);
    const uint64_t data_bytes = all.size() - std::min(base, all.size());
    bool by_64 = true, by_128 = true, cut = false;
    const GgufTensor* first = nullptr;
    for (const GgufTensor& t : file.tensors_) {
      if (t.type != TensorType::q2_0) continue;
      if (!first) first = &t;
      const auto next = std::ranges::upper_bound(begins, t.offset);
      const uint64_t end = next != begins.end() ? *next : std::max(data_bytes, t.offset);
      const uint64_t span = end - t.offset, bytes_64 = tensor_bytes(t);
      const uint64_t bytes_128 = t.shape[0] % 128 == 0 ? bytes_64 / 36 * 34 : 0;
      const bool is_64 = bytes_64 <= span && span - bytes_64 < alignment;
      const bool is_128 = bytes_128 != 0 && bytes_128 <= span && span - bytes_128 < alignment;
      if (!is_64 && !is_128 && next == begins.end() && span < bytes_64) {
        cut = true;  // place() says so
        continue;
      }
      if (!is_64 && !is_128) {
        fail(fmt::format(
            "tensor {}: wanted {} bytes of q2_0 with a scale every 64 weights{}, got {} before {}",
            printable(t.name), bytes_64,
            bytes_128 == 0 ? "" : fmt::format(", or {} with one every 128", bytes_128), span,
            next == begins.end() ? "the end of the file" : "the next tensor"));
      }
      if (!(by_64 && is_64) && !(by_128 && is_128)) {
        fail(fmt::format(
            "tensor {}: wanted q2_0 with a scale every {} weights as in the tensors before it, got "
            "one every {}",
            printable(t.name), by_64 ? 64 : 128, is_64 ? 64 : 128));
      }
      by_64 &= is_64;
      by_128 &= is_128;
    }
    if (first && by_64 && by_128 && !cut) {
      fail(fmt::format(
          "tensor {}: wanted sizes that tell whether q2_0 has a scale every 64 weights or every 128, "
          "got tensors that fit both",
          printable(first->name)));
    }
    if (first && !by_64)
      for (GgufTensor& t : file.tensors_)
        if (t.type == TensorType::q2_0) t.type = TensorType::q2_0_by_128;
  }

  // bitnet.cpp gives TL2 the number of MXFP4, whose tensors are longer.
  void refuse_tl2(const GgufTensor& t) const {
    constexpr TensorType kMxfp4OrTl2{39};
    if (t.type == kMxfp4OrTl2)
      fail(fmt::format("tensor {} {}", printable(t.name), why_not(t.type, TensorRole::projection)));
  }

  // Turns offsets within the data section into offsets within the file.
  void place(uint64_t base, uint64_t alignment) {
    for (GgufTensor& t : file.tensors_) {
      const uint64_t bytes = tensor_bytes(t);
      const std::string what = fmt::format("tensor {}", printable(t.name));
      if (t.offset % alignment != 0) {
        fail(fmt::format("{}: wanted an offset that is a multiple of {}, got {}", what, alignment, t.offset));
      }
      uint64_t begin = 0;
      uint64_t end = 0;
      if (__builtin_add_overflow(base, t.offset, &begin) || __builtin_add_overflow(begin, bytes, &end) ||
          end > all.size()) {
        refuse_tl2(t);
        fail(fmt::format(
            "{}: wanted {} bytes of {} [{}] at offset {} of the data, got a file of {} bytes; is it "
            "complete?",
            what, bytes, name_of(t.type), fmt::join(t.shape, ", "), t.offset, all.size()));
      }
      t.offset = begin;
      t.data = all.subspan(begin, bytes);
    }
  }

  void check_overlaps() const {
    std::vector<size_t> order(file.tensors_.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::ranges::sort(order, {}, [&](size_t i) { return file.tensors_[i].offset; });
    for (size_t k = 1; k < order.size(); ++k) {
      const GgufTensor& before = file.tensors_[order[k - 1]];
      const GgufTensor& after = file.tensors_[order[k]];
      const uint64_t end = before.offset + before.data.size();
      if (end > after.offset) {
        refuse_tl2(before);
        fail(fmt::format("tensor {}: wanted it at or after byte {}, where tensor {} ends, got byte {}",
                         printable(after.name), end, printable(before.name), after.offset));
      }
    }
  }

  void parse() {
    header();
    // A tensor is at least a name of one byte, its length, n_dims, one dimension, type and offset; a key is
    // at least a name of one byte, its length, the type and one byte of value.
    const uint64_t n_tensors = count("number of tensors", kMaxTensors, 8 + 1 + 4 + 8 + 4 + 8);
    const uint64_t n_keys = count("number of metadata keys", kMaxKeys, 8 + 1 + 4 + 1);
    metadata(n_keys);
    refuse_part();
    const uint64_t align = alignment();
    directory(n_tensors);
    const uint64_t base = (at + align - 1) / align * align;
    decide_q2_0(base, align);
    place(base, align);
    check_overlaps();
  }
};

Checkpoint::Checkpoint(const std::string& path) : path_(path) {
  auto storage = std::make_shared<Storage>();
  storage->files = {std::make_shared<const MappedFile>(path, "GGUF file", "; name the .gguf file in it")};
  storage_ = storage;
  Parser{*this, storage_->files[0]->bytes()}.parse();
}

Checkpoint::Checkpoint(Parts parts) : path_(std::move(parts.path)), format_(std::move(parts.format)) {
  auto storage = std::make_shared<Storage>();
  storage->files = std::move(parts.files);
  storage->head = std::move(parts.head);
  storage->converted = std::move(parts.converted);
  storage->convert = std::move(parts.convert);
  storage_ = storage;
  Parser parser{*this, storage_->head};
  parser.parse();
  tensors_ = std::move(parts.tensors);
  for (size_t i = 0; i < tensors_.size(); ++i)
    if (!tensor_index_.emplace(tensors_[i].name, i).second)
      parser.fail(fmt::format("tensor {}: wanted it once, got it twice", printable(tensors_[i].name)));
}

void Checkpoint::read_weights() const {
  std::call_once(storage_->once, [&] {
    if (storage_->convert) storage_->convert();
  });
}

uint64_t Checkpoint::size() const {
  uint64_t bytes = 0;
  for (const auto& file : files()) bytes += file->bytes().size();
  return bytes;
}

const GgufTensor* Checkpoint::find_tensor(std::string_view name) const {
  const auto found = tensor_index_.find(name);
  return found == tensor_index_.end() ? nullptr : &tensors_[found->second];
}

}  // namespace bitnet
