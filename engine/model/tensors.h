// Finds the tensors of a file by name and checks shape, type and values, so that a family's file has names
// and shapes alone.
//
// Thread rule: as the Checkpoint.
//
// A missing tensor, a wrong shape or type, ternary rows that end between two scales, and a NaN or Inf in a
// norm, bias or scale are each an Error(model) that names the tensor.
#pragma once

#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "block.h"
#include "engine/gguf.h"

namespace bitnet {

[[noreturn]] void fail(const Checkpoint& file, const std::string& what);
// Names the types of two tensors that should have one.
[[noreturn]] void fail_as_unlike(const Checkpoint& file, const GgufTensor& first, const GgufTensor& other);

// The tensors of one block, or those outside of blocks where `block` is not given. A name is without "blk.N."
// and ".weight"; a full name is whole.
class Tensors {
 public:
  explicit Tensors(const Checkpoint& file) : file_(file) {}
  Tensors(const Checkpoint& file, uint32_t block);

  const GgufTensor* norm(const char* name, uint64_t n) const;
  NormOf<const GgufTensor*> norm(const char* name, uint64_t n, float epsilon) const {
    return rms_of(norm(name, n), epsilon);
  }
  NormOf<const GgufTensor*> layer_norm(const char* name, uint64_t n, float epsilon) const {
    return {NormOf<const GgufTensor*>::Kind::layer, norm(name, n), vector(full(name) + ".bias", n), epsilon};
  }
  const GgufTensor* table(const char* name, uint64_t n_embd, uint64_t n_vocab) const;
  const GgufTensor* float_rows(const char* name, uint64_t n, uint64_t rows) const;  // f32 [rows][n]
  std::optional<float> number(const char* name) const;                       // f32 [1]; nullopt where absent
  const GgufTensor* vector(const std::string& full_name, uint64_t n) const;  // f32 [n]
  const GgufTensor* find_vector(const std::string& full_name, uint64_t n) const;  // null where absent

  struct Named {
    const char* name;
    uint64_t n_out;
  };
  // Projections of n_in features, each with its scale where the file has one. Ternary ones have one type, and
  // so have dense ones but for this: some may be other blocks than the first, or other floats.
  TensorStack projections(uint64_t n_in, std::span<const Named> names) const;
  TensorStack projections(uint64_t n_in, std::initializer_list<Named> names) const {
    return projections(n_in, std::span(names.begin(), names.size()));
  }
  // The first n_out rows of a tensor of twice as many, and the last ones.
  TensorStack halves(uint64_t n_in, const Named& name) const;
  // Rows come by heads, in each run_length of the first part and as many of the second; `name` has the rows
  // of one part.
  struct Split {
    TensorStack first, second;
  };
  Split split_heads(uint64_t n_in, const Named& name, uint32_t run_length) const;
  // `first`, which has one part, with projections behind it.
  TensorStack stacked_behind(TensorStack first, uint64_t n_in, std::initializer_list<Named> names) const;
  // Projections of experts, whose tensors have a third dimension.
  TensorStack experts(uint64_t n_in, std::initializer_list<Named> names, uint32_t n_expert) const;
  TensorStack biased_projection(uint64_t n_in, const Named& name) const;  // with NAME.bias
  std::array<const GgufTensor*, 3> biases(std::span<const Named> names) const;
  std::array<const GgufTensor*, 3> biases(std::initializer_list<Named> names) const {
    return biases(std::span(names.begin(), names.size()));
  }
  // The same where the first of them is there; else none.
  std::array<const GgufTensor*, 3> find_biases(std::span<const Named> names) const;
  std::array<const GgufTensor*, 3> find_biases(std::initializer_list<Named> names) const {
    return find_biases(std::span(names.begin(), names.size()));
  }

 private:
  const GgufTensor* checked(const std::string& name, const std::vector<uint64_t>& shape) const;
  std::string full(const char* name) const { return prefix_ + name; }

  const Checkpoint& file_;
  std::string prefix_;
};

}  // namespace bitnet
