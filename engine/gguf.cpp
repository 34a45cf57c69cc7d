#include "engine/gguf.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <limits>
#include <numeric>
#include <system_error>
#include <utility>

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
constexpr uint32_t kDefaultAlignment = 32;

struct TypeSize {
  uint32_t type;
  const char* name;
  uint32_t block;        // elements
  uint32_t block_bytes;  // of one block
  uint32_t tail_bytes;   // once, after the last block
};

// Block sizes of ggml-common.h; i2_s (2 bits an element, then the scale) is bitnet.cpp's own.
constexpr TypeSize kTypeSizes[] = {
    {0, "f32", 1, 4, 0},         {1, "f16", 1, 2, 0},         {2, "q4_0", 32, 18, 0},
    {3, "q4_1", 32, 20, 0},      {6, "q5_0", 32, 22, 0},      {7, "q5_1", 32, 24, 0},
    {8, "q8_0", 32, 34, 0},      {9, "q8_1", 32, 36, 0},      {10, "q2_k", 256, 84, 0},
    {11, "q3_k", 256, 110, 0},   {12, "q4_k", 256, 144, 0},   {13, "q5_k", 256, 176, 0},
    {14, "q6_k", 256, 210, 0},   {15, "q8_k", 256, 292, 0},   {16, "iq2_xxs", 256, 66, 0},
    {17, "iq2_xs", 256, 74, 0},  {18, "iq3_xxs", 256, 98, 0}, {19, "iq1_s", 256, 50, 0},
    {20, "iq4_nl", 32, 18, 0},   {21, "iq3_s", 256, 110, 0},  {22, "iq2_s", 256, 82, 0},
    {23, "iq4_xs", 256, 136, 0}, {24, "i8", 1, 1, 0},         {25, "i16", 1, 2, 0},
    {26, "i32", 1, 4, 0},        {27, "i64", 1, 8, 0},        {28, "f64", 1, 8, 0},
    {29, "iq1_m", 256, 56, 0},   {30, "bf16", 1, 2, 0},       {34, "tq1_0", 256, 54, 0},
    {35, "tq2_0", 256, 66, 0},   {36, "i2_s", 64, 16, 32},
};

const TypeSize* find_type_size(uint32_t type) {
  const auto* found = std::ranges::find(kTypeSizes, type, &TypeSize::type);
  return found == std::end(kTypeSizes) ? nullptr : found;
}

}  // namespace

std::string name_of(TensorType type) {
  const TypeSize* known = find_type_size(static_cast<uint32_t>(type));
  return known ? known->name : fmt::format("type {}", static_cast<uint32_t>(type));
}

GgufFile::Mapping::~Mapping() {
  if (!bytes.empty()) munmap(const_cast<std::byte*>(bytes.data()), bytes.size());
}

// Reads the file from its first byte to the end of the directory.
struct GgufFile::Parser {
  GgufFile& file;
  uint64_t at = 0;

  [[noreturn]] void fail(const std::string& problem) const {
    throw Error(ErrorKind::model, fmt::format("{}: {}", printable(file.path_), problem));
  }

  uint64_t left() const { return file.size() - at; }

  std::span<const std::byte> take(uint64_t n, std::string_view what) {
    if (n > left()) {
      fail(fmt::format("{} at byte {}: wanted {} bytes, got {} before the end of the file; is it complete?",
                       what, at, n, left()));
    }
    const auto taken = file.bytes().subspan(at, n);
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
    file.version_ = number<uint32_t>("version");
    const uint32_t swapped = __builtin_bswap32(file.version_);
    if (magic == "FUGG" || (swapped >= 1 && swapped <= 3)) {
      fail("wanted a little-endian GGUF file, got a big-endian one; convert it with gguf_convert_endian.py");
    }
    if (file.version_ != 2 && file.version_ != 3) {
      fail(fmt::format("wanted GGUF version 2 or 3, got version {}", file.version_));
    }
  }

  // Reads a number of records and checks it against the smallest size that each can have.
  uint64_t count(const char* what, uint64_t most, uint64_t least_bytes) {
    const auto n = number<uint64_t>(what);
    if (n > most) fail(fmt::format("{}: wanted at most {}, got {}", what, most, n));
    if (n > file.size() / least_bytes) {
      fail(fmt::format("{}: wanted what fits a file of {} bytes, got {}", what, file.size(), n));
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
    return {GgufType::array, element, n, file.bytes().subspan(begin, at - begin)};
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

  uint64_t alignment() const {
    const GgufValue* found = file.find_typed("general.alignment", GgufType::u32);
    if (!found) return kDefaultAlignment;
    const auto alignment = load<uint32_t>(found->raw.data());
    if (alignment < 8 || !std::has_single_bit(alignment)) {
      fail(fmt::format("key general.alignment: wanted a power of two of at least 8, got {}", alignment));
    }
    return alignment;
  }

  static uint64_t tensor_bytes(const Parser& parser, const std::string& what, uint32_t type,
                               const std::vector<uint64_t>& shape) {
    const TypeSize* known = find_type_size(type);
    if (!known) {
      parser.fail(fmt::format(
          "{}: type {} is not known{}; wanted one that ggml defines", what, type,
          type == 38 || type == 39 ? " (tl1 and tl2 cannot be run: use the model's i2_s file)" : ""));
    }
    if (shape[0] % known->block != 0) {
      parser.fail(fmt::format("{}: wanted rows of a multiple of {} elements for {}, got {}", what,
                              known->block, known->name, shape[0]));
    }
    uint64_t bytes = 1;
    bool wraps = false;
    for (const uint64_t n : shape) wraps |= __builtin_mul_overflow(bytes, n, &bytes);
    wraps |= __builtin_mul_overflow(bytes / known->block, uint64_t{known->block_bytes}, &bytes);
    wraps |= __builtin_add_overflow(bytes, uint64_t{known->tail_bytes}, &bytes);
    if (wraps) {
      parser.fail(
          fmt::format("{}: wanted a shape that fits the file, got [{}]", what, fmt::join(shape, ", ")));
    }
    return bytes;
  }

  // Fills in everything but `data`, and returns the sizes of the tensors for that.
  std::vector<uint64_t> directory(uint64_t n) {
    std::vector<uint64_t> sizes;
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
      const auto type = number<uint32_t>(what);
      sizes.push_back(tensor_bytes(*this, what, type, shape));
      const auto offset = number<uint64_t>(what);
      file.tensors_.push_back({std::string(tensor_name), TensorType{type}, std::move(shape), offset, {}});
    }
    return sizes;
  }

  // Turns offsets within the data section into offsets within the file.
  void place(const std::vector<uint64_t>& sizes, uint64_t alignment) {
    const uint64_t base = (at + alignment - 1) / alignment * alignment;
    for (size_t i = 0; i < sizes.size(); ++i) {
      GgufTensor& t = file.tensors_[i];
      const std::string what = fmt::format("tensor {}", printable(t.name));
      if (t.offset % alignment != 0) {
        fail(fmt::format("{}: wanted an offset that is a multiple of {}, got {}", what, alignment, t.offset));
      }
      uint64_t begin = 0;
      uint64_t end = 0;
      if (__builtin_add_overflow(base, t.offset, &begin) || __builtin_add_overflow(begin, sizes[i], &end) ||
          end > file.size()) {
        fail(fmt::format(
            "{}: wanted {} bytes of {} [{}] at offset {} of the data, got a file of {} bytes; is it "
            "complete?",
            what, sizes[i], name_of(t.type), fmt::join(t.shape, ", "), t.offset, file.size()));
      }
      t.offset = begin;
      t.data = file.bytes().subspan(begin, sizes[i]);
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
    const uint64_t align = alignment();
    const std::vector<uint64_t> sizes = directory(n_tensors);
    place(sizes, align);
    check_overlaps();
  }
};

namespace {

FileState state_of(const struct stat& info) {
  const auto nanoseconds = [](const timespec& t) { return int64_t{t.tv_sec} * 1'000'000'000 + t.tv_nsec; };
  return {info.st_dev, info.st_ino, static_cast<uint64_t>(info.st_size), nanoseconds(info.st_mtim),
          nanoseconds(info.st_ctim)};
}

}  // namespace

FileState file_state(const std::string& path) {
  struct stat info = {};
  return stat(path.c_str(), &info) == 0 ? state_of(info) : FileState();
}

GgufFile::GgufFile(const std::string& path) : path_(path) {
  Parser parser{*this};
  // O_NONBLOCK: opening a FIFO that nobody writes to must not wait.
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  const auto why = [] { return std::generic_category().message(errno); };
  if (fd < 0) parser.fail(fmt::format("cannot open the model file: {}", why()));
  struct Closer {
    int fd;
    ~Closer() { close(fd); }
  } closer{fd};

  struct stat info = {};
  if (fstat(fd, &info) != 0) parser.fail(fmt::format("cannot read the model file: {}", why()));
  if (S_ISDIR(info.st_mode)) parser.fail("wanted a GGUF file, got a folder; name the .gguf file in it");
  if (!S_ISREG(info.st_mode)) parser.fail("wanted a GGUF file, got a pipe, device or socket");
  if (info.st_size == 0) parser.fail("wanted a GGUF file, got an empty file");
  state_ = state_of(info);
  const auto size = static_cast<size_t>(info.st_size);
  void* mapped = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd, 0);
  if (mapped == MAP_FAILED)
    parser.fail(fmt::format("cannot map the model file of {} bytes: {}", size, why()));
  mapping_->bytes = {static_cast<const std::byte*>(mapped), size};
  madvise(mapped, size,
          MADV_HUGEPAGE);  // what comes from the disk now comes in pages of 2 MB where that can be
  parser.parse();
}

const GgufTensor* GgufFile::find_tensor(std::string_view name) const {
  const auto found = tensor_index_.find(name);
  return found == tensor_index_.end() ? nullptr : &tensors_[found->second];
}

}  // namespace bitnet
