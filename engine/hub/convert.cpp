#include "convert.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <exception>
#include <iterator>
#include <map>
#include <mutex>
#include <thread>

#include "engine/layouts/file_types.h"
#include "engine/layouts/i2s.h"
#include "engine/threads.h"
#include "names.h"

namespace bitnet::hub {
namespace {

constexpr uint64_t kLine = 64;         // bytes; converted tensors begin at multiples
constexpr uintptr_t kFileAligned = 8;  // as tensors of GGUF files are at least
constexpr size_t kMostThreads = 8;     // more do not convert faster than memory gives
constexpr size_t kBlock = 128;         // of I2_S
constexpr size_t kMostGgufDims = 4;    // of GGUF

// Memory of zeros that costs nothing until it is written.
class Memory {
 public:
  explicit Memory(size_t bytes) : bytes_(bytes) {
    if (bytes == 0) return;
    at_ = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at_ == MAP_FAILED)
      throw Error(ErrorKind::runtime, fmt::format("no memory for {} bytes of converted weights", bytes));
    madvise(at_, bytes, MADV_HUGEPAGE);
  }
  ~Memory() {
    if (bytes_ != 0) munmap(at_, bytes_);
  }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  std::span<std::byte> bytes() const { return {static_cast<std::byte*>(at_), bytes_}; }

 private:
  void* at_ = nullptr;
  size_t bytes_;
};

// A tensor of a file, as a matrix.
struct Source {
  std::string path, name;
  TensorType type;  // of its floats
  std::span<const std::byte> data;
  uint64_t rows, columns;
  uint64_t offset;
  [[noreturn]] void fail(const std::string& problem) const {
    hub::fail(path, fmt::format("tensor {}: {}", printable(name), problem));
  }
  void row(uint64_t r, float* to) const {
    row_floats(type, data.data() + r * find_file_type(type)->row_bytes(columns), columns, to);
  }
};
using Work = std::function<void(std::span<std::byte> to)>;
struct Job {
  size_t tensor;
  uint64_t bytes;
  Work work;
};

// The types that GGUF has too.
std::optional<TensorType> type_of(const std::string& dtype) {
  struct Row {
    const char* dtype;
    uint32_t type;
  };
  constexpr Row kRows[] = {{"F32", 0},  {"F16", 1},  {"BF16", 30}, {"I8", 24},
                           {"I16", 25}, {"I32", 26}, {"I64", 27},  {"F64", 28}};
  const Row* found = std::ranges::find(kRows, dtype, [](const Row& r) { return std::string_view(r.dtype); });
  return found == std::end(kRows) ? std::nullopt : std::optional(TensorType{found->type});
}

bool is_float(const std::string& dtype) { return dtype == "F32" || dtype == "F16" || dtype == "BF16"; }

void to_floats(const Source& from, float offset, std::span<std::byte> to) {
  auto* out = reinterpret_cast<float*>(to.data());
  for (uint64_t r = 0; r < from.rows; ++r) from.row(r, out + r * from.columns);
  for (uint64_t i = 0; i < from.rows * from.columns; ++i) out[i] += offset;
}

void put_scale(std::span<std::byte> i2_s, float scale) {
  std::memcpy(i2_s.data() + i2_s.size() - kI2sTail, &scale, sizeof scale);
}

void unpack(const Source& from, float scale, std::span<std::byte> to) {
  i2s_hub_to_block128(from.data, from.columns, to.first(to.size() - kI2sTail));
  put_scale(to, scale);
}

void round_weights(const Source& from, std::span<std::byte> to) {
  std::vector<float> row(from.columns);
  double sum = 0;
  for (uint64_t r = 0; r < from.rows; ++r) {
    from.row(r, row.data());
    double of_row = 0;
    for (const float w : row) of_row += std::abs(w);
    sum += of_row;
  }
  if (!std::isfinite(sum)) from.fail("holds NaN or infinity, wanted finite numbers");
  const auto mean = static_cast<float>(sum / static_cast<double>(from.rows * from.columns));
  const float s = 1.0F / std::max(mean, 1e-5F);
  std::vector<uint8_t> codes(from.columns);
  for (uint64_t r = 0; r < from.rows; ++r) {
    from.row(r, row.data());
    for (size_t i = 0; i < row.size(); ++i) {  // half to even: 0.5 is 0
      const float w = row[i] * s;
      codes[i] = static_cast<uint8_t>(1 + static_cast<int>(w > 0.5F) - static_cast<int>(w < -0.5F));
    }
    i2s_pack(codes.data(), codes.size(), to.data() + r * (from.columns / 4));
  }
  put_scale(to, 1.0F / s);
}

void transpose(const Source& from, std::span<std::byte> to) {
  const size_t bytes = from.data.size() / (from.rows * from.columns);
  for (uint64_t r = 0; r < from.rows; ++r)
    for (uint64_t c = 0; c < from.columns; ++c)
      std::memcpy(to.data() + (c * from.rows + r) * bytes, from.data.data() + (r * from.columns + c) * bytes,
                  bytes);
}

void run(const std::vector<Job>& jobs, const std::vector<std::span<std::byte>>& to) {
  std::atomic<size_t> next = 0;
  std::mutex mutex;
  std::exception_ptr error;
  const auto work = [&] {
    for (size_t i = next++; i < jobs.size(); i = next++) {
      try {
        jobs[i].work(to[i]);
      } catch (...) {
        const std::lock_guard lock(mutex);
        if (!error) error = std::current_exception();
        next = jobs.size();
      }
    }
  };
  const size_t most = std::min({kMostThreads, jobs.size(), size_t{std::thread::hardware_concurrency()}});
  on_threads(std::max<size_t>(most, 1), [&](size_t) { work(); });
  if (error) std::rethrow_exception(error);
}

class Converter {
 public:
  Converter(const std::vector<Shard>& shards, const Config& config) : shards_(shards), c_(config) {
    for (const Shard& shard : shards)
      for (const HubTensor& t : shard.tensors) by_name_[t.name] = &t;
  }

  Converted work() {
    for (const Shard& shard : shards_)
      for (const HubTensor& t : shard.tensors) add(shard.path, t);
    for (const auto& [name, factors] : c_.rope_factors) {
      const Work work = [values = factors](std::span<std::byte> to) {
        std::memcpy(to.data(), values.data(), to.size());
      };
      put_made({name, TensorType::f32, {factors.size()}, 0, {}}, factors.size() * sizeof(float), work);
    }
    return finish();
  }

 private:
  void add(const std::string& path, const HubTensor& t) {
    if (is_no_weight(t.name)) return;
    const auto place = place_of(c_.architecture, t.name);
    if (!place) {  // `info` tells of what the engine does not read
      if (const auto type = type_of(t.dtype); type && t.shape.size() <= kMostGgufDims) put(t, t.name, *type);
      return;
    }
    if (place->part == "weight_scale" || (c_.tied_head && place->name == "output")) return;
    const std::string name = place->name + "." + place->part;
    const Source from{path,
                      t.name,
                      type_of(t.dtype).value_or(TensorType::f32),
                      t.data,
                      t.shape.empty() ? 1 : t.shape[0],
                      t.shape.size() < 2 ? 1 : t.shape[1],
                      t.offset};
    if (t.shape.size() > 2) from.fail(fmt::format("wanted 1 or 2 dimensions, got {}", t.shape.size()));
    const bool ternary = c_.ternary && place->projection && place->part == "weight" &&
                         std::ranges::none_of(c_.not_converted, [&](const std::string& part) {
                           return t.name.find(part) != std::string::npos;
                         });
    if (ternary && t.shape.size() == 2 && t.dtype == "U8")
      add_packed(from, name);
    else if (!is_float(t.dtype))
      from.fail(fmt::format("wanted {}BF16, F16 or F32, got {}", ternary ? "packed U8, " : "", t.dtype));
    else if (t.shape.size() < 2 || place->name == "position_embd")
      add_floats(from, t, name);
    else if (ternary)
      add_master(from, name);
    else if (c_.transposed && place->projection)
      put_made({name, from.type, {from.rows, from.columns}, t.offset, {}}, t.data.size(),
               [from](std::span<std::byte> to) { transpose(from, to); });
    else
      put(t, name, from.type);
  }

  void add_packed(const Source& from, const std::string& name) {
    check_columns(from);
    if (from.rows > UINT32_MAX) from.fail("wanted fewer rows");
    const auto found = by_name_.find(from.name + "_scale");
    if (found == by_name_.end()) from.fail("wanted weight_scale beside packed weights, got none");
    const HubTensor& s = *found->second;
    if (!is_float(s.dtype) || s.data.size() != find_file_type(*type_of(s.dtype))->block_bytes)
      from.fail(fmt::format("weight_scale: wanted one number in BF16, F16 or F32, got {} [{}]", s.dtype,
                            fmt::join(s.shape, ", ")));
    float scale = 0;
    row_floats(*type_of(s.dtype), s.data.data(), 1, &scale);
    if (!(scale > 0) || !std::isfinite(scale) || !std::isfinite(1 / scale))
      from.fail(fmt::format("weight_scale: wanted a number above 0, got {}", scale));
    if (c_.divides) scale = 1 / scale;
    put_made({name, TensorType::i2_s, {from.columns, from.rows * 4}, from.offset, {}},
             from.data.size() + kI2sTail,
             [from, scale](std::span<std::byte> to) { unpack(from, scale, to); });
  }

  void add_master(const Source& from, const std::string& name) {
    check_columns(from);
    if (by_name_.contains(from.name + "_scale"))
      from.fail("wanted packed U8 beside weight_scale, got floating-point weights");
    put_made({name, TensorType::i2_s, {from.columns, from.rows}, from.offset, {}},
             from.rows * from.columns / 4 + kI2sTail,
             [from](std::span<std::byte> to) { round_weights(from, to); });
  }

  void add_floats(const Source& from, const HubTensor& t, const std::string& name) {
    const bool is_norm = name.find("norm.weight") != std::string::npos;
    const float offset = is_norm ? c_.norm_offset : 0;
    if (from.type == TensorType::f32 && offset == 0) {
      put(t, name, from.type);
      return;
    }
    GgufTensor made{name, TensorType::f32, {t.shape.rbegin(), t.shape.rend()}, t.offset, {}};
    if (made.shape.empty()) made.shape = {1};
    put_made(std::move(made), from.rows * from.columns * sizeof(float),
             [from, offset](std::span<std::byte> to) { to_floats(from, offset, to); });
  }

  static void check_columns(const Source& from) {
    if (from.columns % kBlock != 0)
      from.fail(fmt::format("wanted rows of a multiple of {} weights, got {}", kBlock, from.columns));
  }

  // As it lies, unless a number would lie across the border of a word.
  void put(const HubTensor& t, const std::string& name, TensorType type) {
    GgufTensor tensor{name, type, {t.shape.rbegin(), t.shape.rend()}, t.offset, t.data};
    if (tensor.shape.empty()) tensor.shape = {1};
    if (reinterpret_cast<uintptr_t>(t.data.data()) % kFileAligned != 0) {
      put_made(std::move(tensor), t.data.size(),
               [data = t.data](std::span<std::byte> to) { std::ranges::copy(data, to.begin()); });
      return;
    }
    tensors_.push_back(std::move(tensor));
  }

  void put_made(GgufTensor tensor, uint64_t bytes, Work work) {
    jobs_.push_back({tensors_.size(), bytes, std::move(work)});
    tensors_.push_back(std::move(tensor));
  }

  Converted finish() {
    uint64_t total = 0;
    for (const Job& job : jobs_) total += (job.bytes + kLine - 1) / kLine * kLine;
    auto memory = std::make_shared<const Memory>(total);
    std::vector<std::span<std::byte>> to;
    uint64_t at = 0;
    for (const Job& job : jobs_) {
      to.push_back(memory->bytes().subspan(at, job.bytes));
      tensors_[job.tensor].data = to.back();
      at += (job.bytes + kLine - 1) / kLine * kLine;
    }
    return {std::move(tensors_), std::move(memory),
            [jobs = std::move(jobs_), to = std::move(to)] { run(jobs, to); }};
  }

  const std::vector<Shard>& shards_;
  const Config& c_;
  std::map<std::string_view, const HubTensor*> by_name_;
  std::vector<GgufTensor> tensors_;
  std::vector<Job> jobs_;
};

}  // namespace

Converted convert(const std::vector<Shard>& shards, const Config& config) {
  return Converter(shards, config).work();
}

}  // namespace bitnet::hub
