// The metadata and the tensors of a model, whatever it comes as. Reads a GGUF file of version 3, or of
// version 2, which has the same layout: its metadata and its directory of tensors. The file is mapped.
//
// Thread rule: immutable once opened; any number of threads may read it.
//
// Format: ggml/docs/gguf.md of llama.cpp. Nothing in the file is trusted: every length, count and offset is
// checked against the file's size with arithmetic that cannot wrap, and every violation is an Error(model)
// that names the file, the field or tensor, what was wanted and what was found. Opening reads the directory
// only and costs memory in proportion to the number of keys and tensors, which is bounded.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "engine/error.h"
#include "engine/mapped_file.h"

namespace bitnet {

enum class GgufType : uint32_t { u8, i8, u16, i16, u32, i32, f32, boolean, string, array, u64, i64, f64 };
const char* name_of(GgufType type);

// The types of tensors that the engine computes with; the others that ggml defines are carried as their
// numbers. engine/layouts/file_types.cpp has the table of all.
enum class TensorType : uint32_t {
  f32 = 0,
  f16 = 1,
  q4_0 = 2,
  q5_0 = 6,
  q8_0 = 8,
  q4_k = 12,
  q5_k = 13,
  q6_k = 14,
  bf16 = 30,
  tq1_0 = 34,
  tq2_0 = 35,
  i2_s = 36,
  q1_0 = 41,  // binary
  q2_0 = 42,
  pq2_0 = 142,
  ptq1_0 = 143,
  q2_0_by_128 = 0x10000 + 42,  // PrismML's older form of q2_0, with a scale every 128 weights in place of 64
};
std::string name_of(TensorType type);

struct GgufValue {
  GgufType type;
  GgufType element_type;           // of an array
  uint64_t count;                  // elements of an array, 1 otherwise
  std::span<const std::byte> raw;  // the value's bytes in the file (strings of an array with their lengths)
};

struct GgufTensor {
  std::string name;
  TensorType type;
  std::vector<uint64_t> shape;      // ne[0] first: the contiguous dimension
  uint64_t offset;                  // from the start of the file
  std::span<const std::byte> data;  // exactly as long as type and shape ask
};

// What a model consists of: a GGUF file, or other files whose parts are shown as those of a GGUF file.
class Checkpoint {
 public:
  // Throws Error(model) for anything that is not a complete and consistent GGUF file. Never blocks on a FIFO.
  explicit Checkpoint(const std::string& path);

  // A model that does not come as a GGUF file, as the one that a converter would make of it.
  struct Parts {
    std::string path, format;                              // "safetensors"
    std::vector<std::shared_ptr<const MappedFile>> files;  // all that were read, in an order that stays
    std::vector<std::byte> head;                           // a GGUF file with the metadata, without tensors
    std::vector<GgufTensor> tensors;
    // Holds the bytes of tensors that lie in none of the files, which `convert` makes.
    std::shared_ptr<const void> converted;
    std::function<void()> convert;
  };
  // Throws Error(model) where a name of the metadata or a tensor comes twice.
  explicit Checkpoint(Parts parts);
  Checkpoint(const Checkpoint&) = delete;
  Checkpoint& operator=(const Checkpoint&) = delete;

  const std::string& path() const { return path_; }
  const std::string& format() const { return format_; }  // "GGUF 3"
  const std::vector<std::shared_ptr<const MappedFile>>& files() const {
    return storage_->files;
  }                       // at least one
  uint64_t size() const;  // of all files, in bytes
  // Keeps the bytes of the tensors where they are, also after the Checkpoint has gone.
  std::shared_ptr<const void> mapping() const { return storage_; }

  // Metadata in file order.
  const std::vector<std::pair<std::string, GgufValue>>& metadata() const { return metadata_; }
  const GgufValue* find(std::string_view key) const;  // nullptr where absent

  // Typed access. The first form throws Error(model) that names the key when it is missing or of another
  // type; find_* gives nullopt when it is missing and throws when it is of another type. Any integer type
  // is taken for u32 as long as the value fits.
  uint32_t get_u32(std::string_view key) const;
  float get_f32(std::string_view key) const;
  std::string get_string(std::string_view key) const;
  std::optional<uint32_t> find_u32(std::string_view key) const;
  std::optional<float> find_f32(std::string_view key) const;
  std::optional<bool> find_bool(std::string_view key) const;
  std::optional<std::string> find_string(std::string_view key) const;
  std::vector<std::string> find_strings(std::string_view key) const;  // empty where absent
  std::vector<int32_t> find_ints(std::string_view key) const;         // of any integer type, or of booleans
  std::vector<float> find_floats(std::string_view key) const;

  // Fills in the bytes of tensors that do not lie in a file as they are computed with, the first time it is
  // called. Until then they are 0. Throws Error(model) where values are none.
  void read_weights() const;
  const std::vector<GgufTensor>& tensors() const { return tensors_; }
  const GgufTensor* find_tensor(std::string_view name) const;  // nullptr where absent

 private:
  struct Storage {
    std::vector<std::shared_ptr<const MappedFile>> files;
    std::vector<std::byte> head;
    std::shared_ptr<const void> converted;
    std::function<void()> convert;
    mutable std::once_flag once;
  };
  struct Parser;

  const GgufValue& get(std::string_view key) const;
  const GgufValue* find_typed(std::string_view key, GgufType type) const;
  const GgufValue* find_array(std::string_view key) const;
  uint32_t to_u32(std::string_view key, const GgufValue& value) const;
  [[noreturn]] void fail(std::string_view key, const std::string& problem) const;

  std::string path_, format_;
  std::shared_ptr<const Storage> storage_;
  std::vector<std::pair<std::string, GgufValue>> metadata_;
  // Views into the storage. They are ordered: a stranger can choose names of one hash.
  std::map<std::string_view, size_t> key_index_;
  std::vector<GgufTensor> tensors_;
  std::map<std::string_view, size_t> tensor_index_;
};

}  // namespace bitnet
