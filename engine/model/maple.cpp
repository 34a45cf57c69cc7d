// maple (deepgrove/maple-preview, 20B-A1B; src/models/maple.cpp of llama.cpp): Qwen3's block with experts.
// Its layers have a window and rotate half of each head; every fourth one sees all keys and rotates nothing.
// The experts clamp their gate from above, before the activation, and what it is multiplied with on both
// sides.
#include <fmt/format.h>

#include <cmath>

#include "families.h"
#include "tensors.h"

namespace bitnet {

void read_maple(const Checkpoint& file, Config& c) {
  c.activation_reason = "general.architecture is maple";
  read_rope_scaling(file, c);
  const std::string window = "maple.attention.sliding_window",
                    pattern = "maple.attention.sliding_window_pattern", clamps = "maple.swiglu_clamp_exp",
                    swa_base = "maple.rope.freq_base_swa";
  const uint32_t n_window = file.get_u32(window);
  if (n_window == 0) fail(file, window + " is 0, wanted a number above 0");
  const std::vector<int32_t> local = file.find_ints(pattern);
  if (local.size() != c.n_layer)
    fail(file, fmt::format("{} has {} elements, wanted one for each of the {} layers", pattern, local.size(),
                           c.n_layer));
  const std::vector<float> clamp = file.find_floats(clamps);
  if (!clamp.empty() && clamp.size() < c.n_layer)
    fail(file, fmt::format("{} has {} elements, wanted one for each of the {} layers", clamps, clamp.size(),
                           c.n_layer));
  c.ropes[0].base = file.find_f32(swa_base).value_or(c.ropes[0].base);
  if (!(c.ropes[0].base > 0 && std::isfinite(c.ropes[0].base)))
    fail(file, fmt::format("{} is {}, wanted a number above 0", swa_base, c.ropes[0].base));
  constexpr float kUsualClamp = 7;
  for (uint32_t i = 0; i < c.n_layer; ++i) {
    Layer layer{.heads = c.attention_shape(),
                .kv_of = i,
                .n_ff = c.n_ff,
                .clamp = clamp.empty() ? kUsualClamp : clamp[i]};
    if (!(layer.clamp >= 0 && std::isfinite(layer.clamp)))
      fail(file, fmt::format("{} has {} for layer {}, wanted 0 or a number above 0", clamps, layer.clamp, i));
    // As llama.cpp has it: n_window keys with the token's own. The makers' other code sees one more.
    if (local[i] != 0)
      layer.heads.window = n_window;
    else
      layer.heads.rope_dim = 0;
    c.layers.push_back(layer);
  }
}

FileBlock maple_block(const Checkpoint& file, const Config& c, uint32_t index) {
  FileBlock block = expert_block(file, c, index, c.layers[index].heads);
  block.ffn.clamp = c.layers[index].clamp;
  return block;
}

}  // namespace bitnet
