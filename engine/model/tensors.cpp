#include "tensors.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "engine/layouts/blocks.h"
#include "engine/layouts/file_types.h"
#include "engine/layouts/i2s.h"

namespace bitnet {
namespace {

void check_type(const Checkpoint& file, const GgufTensor& tensor, TensorRole role) {
  const std::string why = why_not(tensor.type, role);
  if (!why.empty()) fail(file, fmt::format("tensor {} {}", printable(tensor.name), why));
}

void check_finite(const Checkpoint& file, const GgufTensor& tensor, std::span<const float> values) {
  const auto bad = std::find_if(values.begin(), values.end(), [](float v) { return !std::isfinite(v); });
  if (bad != values.end())
    fail(file, fmt::format("tensor {}: value {} is {}, wanted a finite number", printable(tensor.name),
                           bad - values.begin(), *bad));
}

// Kernels take the weights of a row that share a scale together, 128 of I2_S, though half of them are a block
// of its files. The scale of an i2_s tensor stands behind its codes. Those of blocks are checked while they
// are loaded.
void check_weights(const Checkpoint& file, const GgufTensor& tensor, TensorRole role) {
  check_type(file, tensor, role);
  const uint32_t every = find_file_type(tensor.type)->scale_every;
  if (every != 0 && tensor.shape[0] % every != 0)
    fail(file, fmt::format("tensor {} is {} and has rows of {}, wanted a multiple of {}",
                           printable(tensor.name), shown_name(tensor.type), tensor.shape[0], every));
  if (tensor.type != TensorType::i2_s) return;
  const float scale = i2s_scale(tensor.data);
  check_finite(file, tensor, {&scale, 1});
}

// Whether tensors of these types can be stacked: both as blocks, both as floats, or ternary ones of one type.
bool have_one_layout(TensorType a, TensorType b) {
  const auto dense = [](TensorType t) { return !find_file_type(t)->trits; };
  const auto blocks = [](TensorType t) { return find_block_type(t) != nullptr; };
  return a == b || (dense(a) && dense(b) && blocks(a) == blocks(b));
}

std::span<const float> floats_of(const GgufTensor& tensor) {
  return {reinterpret_cast<const float*>(tensor.data.data()), tensor.data.size() / sizeof(float)};
}

}  // namespace

void fail(const Checkpoint& file, const std::string& what) {
  throw Error(ErrorKind::model, fmt::format("{}: {}", printable(file.path()), what));
}

void fail_as_unlike(const Checkpoint& file, const GgufTensor& first, const GgufTensor& other) {
  fail(file, fmt::format("tensor {} has type {}, wanted {} as {} has", other.name, shown_name(other.type),
                         shown_name(first.type), first.name));
}

Tensors::Tensors(const Checkpoint& file, uint32_t block)
    : file_(file), prefix_(fmt::format("blk.{}.", block)) {}

const GgufTensor* Tensors::checked(const std::string& name, const std::vector<uint64_t>& shape) const {
  const GgufTensor* tensor = file_.find_tensor(name);
  if (!tensor) fail(file_, fmt::format("tensor {} is missing", name));
  if (tensor->shape != shape)
    fail(file_, fmt::format("tensor {} has shape [{}], wanted [{}]", name, fmt::join(tensor->shape, ", "),
                            fmt::join(shape, ", ")));
  return tensor;
}

const GgufTensor* Tensors::vector(const std::string& name, uint64_t n) const {
  const GgufTensor* tensor = checked(name, {n});
  check_type(file_, *tensor, TensorRole::norm);
  check_finite(file_, *tensor, floats_of(*tensor));
  return tensor;
}

const GgufTensor* Tensors::float_rows(const char* name, uint64_t n, uint64_t rows) const {
  const GgufTensor* tensor = checked(full(name) + ".weight", {n, rows});
  check_type(file_, *tensor, TensorRole::norm);
  check_finite(file_, *tensor, floats_of(*tensor));
  return tensor;
}

std::optional<float> Tensors::number(const char* name) const {
  const GgufTensor* tensor = find_vector(full(name) + ".weight", 1);
  return tensor ? std::optional(floats_of(*tensor)[0]) : std::nullopt;
}

const GgufTensor* Tensors::find_vector(const std::string& name, uint64_t n) const {
  return file_.find_tensor(name) ? vector(name, n) : nullptr;
}

const GgufTensor* Tensors::norm(const char* name, uint64_t n) const {
  return vector(full(name) + ".weight", n);
}

const GgufTensor* Tensors::table(const char* name, uint64_t n_embd, uint64_t n_vocab) const {
  const GgufTensor* tensor = checked(full(name) + ".weight", {n_embd, n_vocab});
  check_weights(file_, *tensor, tensor->name == "output.weight" ? TensorRole::head : TensorRole::embedding);
  return tensor;
}

TensorStack Tensors::projections(uint64_t n_in, std::span<const Named> names) const {
  TensorStack stack;
  size_t i = 0;
  for (const auto& [name, n_out] : names) {
    const GgufTensor* tensor = checked(full(name) + ".weight", {n_in, n_out});
    check_weights(file_, *tensor, TensorRole::projection);
    stack.parts[i] = tensor;
    if (!have_one_layout(stack.parts[0]->type, tensor->type)) fail_as_unlike(file_, *stack.parts[0], *tensor);
    stack.scales[i++] = find_vector(full(name) + ".scale", 1);
  }
  return stack;
}

TensorStack Tensors::halves(uint64_t n_in, const Named& name) const {
  const TensorStack both = projections(n_in, {{name.name, 2 * name.n_out}});
  const GgufTensor& whole = *both.parts[0];
  if (whole.type == TensorType::i2_s)
    fail(file_, fmt::format("tensor {} is I2_S, whose halves cannot be told apart", printable(whole.name)));
  const size_t bytes = whole.data.size() / 2;
  TensorStack stack;
  for (size_t i = 0; i < 2; ++i) {
    auto half = std::make_shared<GgufTensor>(whole);
    half->shape[1] = name.n_out;
    half->offset += i * bytes;
    half->data = whole.data.subspan(i * bytes, bytes);
    stack.parts[i] = half.get();
    stack.scales[i] = both.scales[0];
    stack.cuts.push_back(std::move(half));
  }
  return stack;
}

Tensors::Split Tensors::split_heads(uint64_t n_in, const Named& name, uint32_t run_length) const {
  const TensorStack both = projections(n_in, {{name.name, 2 * name.n_out}});
  Split split;
  for (uint32_t i = 0; i < 2; ++i) {
    TensorStack& stack = i == 0 ? split.first : split.second;
    auto rows = std::make_shared<GgufTensor>(*both.parts[0]);
    rows->shape[1] = name.n_out;
    stack.parts[0] = rows.get();
    stack.scales[0] = both.scales[0];
    stack.runs[0] = {run_length, 2 * run_length, i * run_length};
    stack.cuts.push_back(std::move(rows));
  }
  return split;
}

TensorStack Tensors::stacked_behind(TensorStack stack, uint64_t n_in,
                                    std::initializer_list<Named> names) const {
  const TensorStack others = projections(n_in, names);
  for (size_t i = 0; i < names.size(); ++i) {
    stack.parts[i + 1] = others.parts[i];
    stack.scales[i + 1] = others.scales[i];
    if (!have_one_layout(stack.parts[0]->type, others.parts[i]->type))
      fail_as_unlike(file_, *stack.parts[0], *others.parts[i]);
  }
  return stack;
}

TensorStack Tensors::experts(uint64_t n_in, std::initializer_list<Named> names, uint32_t n_expert) const {
  TensorStack stack;
  stack.n_expert = n_expert;
  for (const auto& [name, n_out] : names) {
    const GgufTensor* whole = checked(full(name) + ".weight", {n_in, n_out, n_expert});
    check_weights(file_, *whole, TensorRole::projection);
    const size_t i = stack.cuts.size();
    auto rows = std::make_shared<GgufTensor>(*whole);
    rows->shape = {n_in, n_out * n_expert};
    stack.parts[i] = rows.get();
    stack.cuts.push_back(std::move(rows));
    if (!have_one_layout(stack.parts[0]->type, whole->type)) fail_as_unlike(file_, *stack.parts[0], *whole);
    stack.scales[i] = find_vector(full(name) + ".scale", 1);
  }
  return stack;
}

TensorStack Tensors::biased_projection(uint64_t n_in, const Named& name) const {
  TensorStack stack = projections(n_in, {&name, 1});
  stack.biases = biases({name});
  return stack;
}

std::array<const GgufTensor*, 3> Tensors::find_biases(std::span<const Named> names) const {
  if (!file_.find_tensor(full(names[0].name) + ".bias")) return {};
  return biases(names);
}

std::array<const GgufTensor*, 3> Tensors::biases(std::span<const Named> names) const {
  std::array<const GgufTensor*, 3> found{};
  size_t i = 0;
  for (const auto& [name, n_out] : names) found[i++] = vector(full(name) + ".bias", n_out);
  return found;
}

}  // namespace bitnet
