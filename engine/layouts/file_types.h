// The types that tensors of a GGUF file may have: one table, from which everything else takes names and
// sizes.
//
// Thread rule: constant data and free functions.
//
// A new type is a row in file_types.cpp and its functions in one of the files beside it. Sources:
// ggml-common.h and ggml-quants.c of llama.cpp; bitnet.cpp for I2_S, TL1 and TL2; PrismML's llama.cpp for
// Q1_0, PQ2_0 and PTQ1_0.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace bitnet {

enum class TensorType : uint32_t;  // engine/gguf.h names those that the engine computes with

struct FileType {
  uint32_t id;               // as the directory of a file has it
  const char* name;          // as ggml writes it, in lower case
  uint32_t block = 0;        // elements; 0 where a file does not tell how its tensors lie
  uint32_t block_bytes = 0;  // of one block
  uint32_t tail_bytes = 0;   // once, behind the last block of a tensor
  // Writes a row of n values. It is null where the type cannot be an embedding or a head.
  void (*floats)(const std::byte* row, size_t n, float* out) = nullptr;
  uint32_t scale_every = 0;  // elements of a row that share a scale; 0 where the weights are not ternary
  // Writes a row's codes, n bytes of 0, 1, 2 for -1, 0, +1, and its n / scale_every scales as F16. It gives
  // false where a code is none of these. It is null where the weights are not ternary.
  bool (*trits)(const std::byte* row, size_t n, uint8_t* codes, uint16_t* scales) = nullptr;
  const char* no_trit = "a code of 3";  // what is in a row of which `trits` gives false

  uint64_t row_bytes(uint64_t n) const { return n / block * block_bytes; }
};

// Q2_0 has a scale every 64 elements. PrismML's older files have one every 128 under the same id 42, and only
// the distance between two tensors tells: gguf.cpp gives such tensors this id, which no file may have.
constexpr uint32_t kQ2_0By128 = 0x10000 + 42;

const FileType* find_file_type(TensorType type);  // nullptr where the type is not known
std::string shown_name(TensorType type);          // for messages: "Q8_0", or "type 99" where it is not known

// A row of values, by definition: the reference for every other way to read this type. Requires: a type that
// has `floats`, and whole blocks. A row of I2_S comes without its tensor's scale.
void row_floats(TensorType type, const std::byte* row, size_t n, float* out);

// FileType::trits. Requires: a ternary type, and whole blocks. The scale of I2_S stands behind the whole
// tensor, so its rows get scales of 1.
bool trits(TensorType type, const std::byte* row, size_t n, uint8_t* codes, uint16_t* scales);

// What a tensor is for, as far as that decides which types it may have.
enum class TensorRole { projection, embedding, head, norm };

// Why the engine cannot take a tensor of this type in this role, and what would help; empty where it can. The
// text follows the tensor's name: "has type Q4_1, which ...".
std::string why_not(TensorType type, TensorRole role);

}  // namespace bitnet
