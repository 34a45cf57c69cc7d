// The tensors of a folder as the engine takes them: where their bytes can stay as they lie, they do.
//
// Thread rule: belongs to one thread; converts on threads of its own.
//
// Norms and biases become F32. Packed projections (U8 [out / 4, in]: bits 2 i and 2 i + 1 of row p are row
// i * out / 4 + p, codes 0, 1, 2 for -1, 0, 1) become I2_S in block128, with the scale behind. A master's
// projections are rounded to that: s = 1 / max(mean |W|, 1e-5), code = round half even(W s) within -1 to 1,
// scale 1 / s. Source: pack_weights and WeightQuant in integrations/bitnet.py of transformers.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "config.h"
#include "engine/gguf.h"
#include "safetensors.h"

namespace bitnet::hub {

struct Shard {
  std::string path;
  std::vector<HubTensor> tensors;
};

struct Converted {
  std::vector<GgufTensor> tensors;
  std::shared_ptr<const void> memory;  // of those that do not lie in a file
  std::function<void()> convert;       // fills it; requires that it and the files are there
};
// Throws Error(model) where a dtype or shape is none that can be converted; the values are looked at later.
Converted convert(const std::vector<Shard>& shards, const Config& config);

}  // namespace bitnet::hub
