#include "matrix_tile.h"

#include <algorithm>

namespace bitnet::vk {

uint32_t tile_rows(const Specialisation& c) {
  return c.at(CONSTANT_MATRIX_M) * c.at(CONSTANT_ROW_TILES) * c.at(CONSTANT_SUBGROUP_ROWS);
}

uint32_t tile_tokens(const Specialisation& c) {
  return c.at(CONSTANT_MATRIX_N) * c.at(CONSTANT_TOKEN_TILES) * c.at(CONSTANT_SUBGROUP_TOKENS);
}

std::optional<ChosenTile> matrix_tile(const Device& device, std::span<const MatrixTile> tiles,
                                      uint64_t outputs,
                                      const std::function<uint32_t(const Specialisation&)>& shared_bytes) {
  const MatrixShape shape = *device.int8_matrix();
  std::optional<ChosenTile> largest;
  for (const MatrixTile& t : tiles) {
    const Specialisation c = {
        {CONSTANT_WORKGROUP_SIZE,
         device.info().subgroup_size * t.subgroup_rows * t.subgroup_tokens * t.parts},
        {CONSTANT_MATRIX_M, shape.m},
        {CONSTANT_MATRIX_N, shape.n},
        {CONSTANT_MATRIX_K, shape.k},
        {CONSTANT_ROW_TILES, std::max(1U, t.rows / shape.m)},
        {CONSTANT_TOKEN_TILES, std::max(1U, t.tokens / shape.n)},
        {CONSTANT_SUBGROUP_ROWS, t.subgroup_rows},
        {CONSTANT_SUBGROUP_TOKENS, t.subgroup_tokens},
        {CONSTANT_PARTS, t.parts}};
    if (c.at(CONSTANT_WORKGROUP_SIZE) > device.limits().maxComputeWorkGroupInvocations ||
        shared_bytes(c) > device.limits().maxComputeSharedMemorySize)
      continue;
    largest = {c, t.at_once * device.multiprocessors()};
    if (outputs <= t.most_outputs) break;
  }
  return largest;
}

}  // namespace bitnet::vk
