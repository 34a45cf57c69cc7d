// The kernels of matrices of blocks and floats.
#include <algorithm>

#include "builds.h"
#include "engine/layouts/blocks.h"
#include "kernels.h"
#include "matrix_tile.h"

namespace bitnet::vk {
namespace {

Specialisation out_constants(const Out& out) {
  Specialisation c{{CONSTANT_OUT, static_cast<uint32_t>(out.kind)}};
  if (out.kind == Out::Kind::gate || out.kind == Out::Kind::act)
    c[CONSTANT_ACTIVATION] = activation_of(out.act);
  return c;
}

// Shared memory of blocks_matmul_matrix, in bytes.
uint32_t tile_bytes(const Specialisation& c, const BlockType& type) {
  const uint32_t rows = tile_rows(c), tokens = tile_tokens(c), unit = type.unit, parts = c.at(CONSTANT_PARTS);
  const uint32_t runs = 2 * parts, units = runs * 32 / unit, stride = 32 * runs + 16;
  const uint32_t stride_w = 16 * (units * std::max(unit, c.at(CONSTANT_MATRIX_K)) / 16 + 1);
  const uint32_t minima = type.has_min ? runs * 4 * (rows + tokens) : 0;
  const uint32_t step = rows * stride_w + tokens * stride + (units * rows + runs * tokens) * 4 + minima;
  return std::max(step, rows * c.at(CONSTANT_MATRIX_N) * c.at(CONSTANT_SUBGROUP_TOKENS) * parts * 4);
}

// The tile of blocks_matmul_matrix, measured on an H200. Units of 16 leave no registers for parts, and minima
// few. Of few tokens the larger tiles would be half empty. Two of them are for products of which an H200 then
// has one tile on nearly each of its multiprocessors.
std::optional<ChosenTile> blocks_tile(const Device& device, const BlockType& type, uint64_t outputs,
                                      uint32_t tokens) {
  constexpr uint64_t kFew = 400'000;
  constexpr MatrixTile kOfUnits16[] = {
      {kFew, 16, 16, 4, 1}, {1'600'000, 32, 32, 2, 2}, {UINT64_MAX, 32, 32, 2, 4}};
  constexpr MatrixTile kOfUnits32[] = {{kFew, 16, 32, 2, 1, 4},
                                       {1'000'000, 32, 32, 2, 2, 2},
                                       {1'350'000, 32, 32, 5, 2, 2},
                                       {1'600'000, 32, 32, 2, 2, 2},
                                       {2'150'000, 32, 32, 4, 4},
                                       {2'300'000, 32, 32, 2, 4},
                                       {UINT64_MAX, 32, 32, 2, 2, 2}};
  constexpr MatrixTile kWithMinima[] = {
      {kFew, 16, 32, 2, 1, 4}, {4'000'000, 32, 32, 2, 2, 2}, {UINT64_MAX, 32, 32, 2, 4}};
  const std::span<const MatrixTile> tiles = type.unit == 16 ? std::span<const MatrixTile>(kOfUnits16)
                                            : type.has_min  ? kWithMinima
                                                            : std::span<const MatrixTile>(kOfUnits32);
  return matrix_tile(device, tiles, tokens <= 32 ? std::min(outputs, kFew) : outputs,
                     [&](const Specialisation& c) { return tile_bytes(c, type); });
}

}  // namespace

Specialisation blocks_constants(TensorType type, const Out& out) {
  const BlockType& t = *find_block_type(type);
  Specialisation c = out_constants(out);
  c.insert({{CONSTANT_BITS, t.bits}, {CONSTANT_UNIT, t.unit}, {CONSTANT_MINIMUM, t.has_min ? 1 : 0}});
  return c;
}

const Kernel& VulkanKernels::blocks_matvec(TensorType type, const Out& out) {
  const Device& d = device_;
  const bool integer_dot = integer_dot_;
  Specialisation constants = blocks_constants(type, out);
  constants[CONSTANT_ROWS] = 4;
  return kernel(SUBGROUPS_DOT(blocks_matvec), constants);
}

VulkanKernels::Matmul VulkanKernels::blocks_matmul(TensorType type, const Out& out, uint32_t rows,
                                                   uint32_t n) {
  const bool integer_dot = integer_dot_, gated = out.kind == Out::Kind::gate;
  Specialisation constants = blocks_constants(type, out);
  const MatrixShape shape = device_.int8_matrix().value_or(MatrixShape{});
  if (matrix_ && shape.k <= 32 && shape.n % 4 == 0) {
    const uint64_t outputs = uint64_t{rows} * n * (gated ? 2 : 1);
    if (const auto tile = blocks_tile(device_, *find_block_type(type), outputs, n)) {
      constants.insert(tile->constants.begin(), tile->constants.end());
      const uint32_t tile_height = tile_rows(tile->constants);
      return {.kernel = kernel(Shader::blocks_matmul_matrix, constants),
              .rows = gated ? tile_height / 2 : tile_height,
              .tokens = tile_tokens(tile->constants),
              .tensors = true};
    }
  }
  return {kernel(DOT(blocks_matmul), constants), gated ? 32U : 64U, 32};
}

const Kernel& VulkanKernels::floats(TensorType type, const Out& out, uint32_t n) {
  const Device& d = device_;
  const bool many_sums = d.is_gpu() && !d.shared_subgroups() && n > kMatvecTokens;
  Specialisation constants = out_constants(out);
  constants.insert({{CONSTANT_TABLE_TYPE, static_cast<uint32_t>(type)},
                    {CONSTANT_ROWS, many_sums ? 4 : 2},
                    {CONSTANT_TOKEN_TILES, n == 1      ? 1
                                           : many_sums ? 8
                                                       : 4}});
  const Shader shader = d.shared_subgroups() ? Shader::floats_shared
                        : d.is_gpu()         ? Shader::floats_unrolled
                                             : Shader::floats;
  return kernel(shader, constants);
}

}  // namespace bitnet::vk
