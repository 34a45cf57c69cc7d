// RoPE (Su et al. 2021) as a table, so that kernels only multiply.
//
// Thread rule: free functions.
//
// Sources of what is done for long contexts: LLaMA 3.1's rope_freqs.weight, Chen et al. 2023 (linear), Peng
// et al. 2023 (YaRN, arXiv 2309.00071) as llama.cpp applies it, at all lengths, Ding et al. 2024 (LongRoPE,
// arXiv 2402.13753).
#pragma once

#include <vector>

#include "config.h"

namespace bitnet {

// [n_ctx][rope.dim / 2] of {cos, sin}
std::vector<float> rotation_table(const Rope& rope, uint32_t n_ctx);

// Reads rope.freq_base and rope.dimension_count, with `suffix` behind their names. A head has head_dim
// features.
Rope read_rope(const Checkpoint& file, const Config& config, const std::string& suffix, uint32_t head_dim);

// Reads rope_factors_long.weight and rope_factors_short.weight into the first of ropes, where the file has
// them.
void read_long_rope(const Checkpoint& file, Config& config);

}  // namespace bitnet
