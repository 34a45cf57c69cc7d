// The tile of results that a workgroup of a kernel with cooperative matrices makes.
//
// Thread rule: free functions.
#pragma once

#include <functional>
#include <optional>
#include <span>

#include "kernel.h"

namespace bitnet::vk {

// Larger tiles share more of what is loaded into shared memory; smaller ones give more workgroups something
// to do.
struct MatrixTile {
  uint64_t most_outputs;                    // of a product, up to which this tile is the best
  uint32_t rows, tokens;                    // of a subgroup
  uint32_t subgroup_rows, subgroup_tokens;  // subgroups of a workgroup
  uint32_t parts = 1;                       // times as many, which divide the inputs: CONSTANT_PARTS
  // Such workgroups that a multiprocessor runs at a time; 0: these tiles are never split (split_tiles.h).
  uint32_t at_once = 0;
};

struct ChosenTile {
  Specialisation constants;
  uint32_t at_once = 0;  // such workgroups that the device runs at a time, or 0
};

// The tile for `outputs` sums: of those of `tiles`, from small to large, for which the device has enough
// invocations and shared memory, the first that is meant for as many, or the last.
// `shared_bytes` tells what a kernel with these constants takes. Requires: the device has int8 matrices.
std::optional<ChosenTile> matrix_tile(const Device& device, std::span<const MatrixTile> tiles,
                                      uint64_t outputs,
                                      const std::function<uint32_t(const Specialisation&)>& shared_bytes);

// Rows and tokens that a workgroup with these constants makes.
uint32_t tile_rows(const Specialisation& c);
uint32_t tile_tokens(const Specialisation& c);

}  // namespace bitnet::vk
