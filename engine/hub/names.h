// The names that tensors of folders have, as those of GGUF.
//
// Thread rule: a free function.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace bitnet::hub {

struct Place {
  std::string name;  // "blk.0.attn_q"
  std::string part;  // "weight", "bias" or "weight_scale"
  bool projection;   // of a block
};
// Nothing where the engine has no tensor of that name.
std::optional<Place> place_of(std::string_view architecture, std::string_view name);

// Whether this is a buffer that models compute for themselves.
bool is_no_weight(std::string_view name);

}  // namespace bitnet::hub
