// What config.json says: the keys of a GGUF file, and how the weights of the folder lie.
//
// Thread rule: free functions and values.
//
// Source: the configuration classes of Hugging Face's transformers, and integrations/bitnet.py for
// quantization_config.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "fields.h"
#include "metadata.h"

namespace bitnet::hub {

struct Config {
  std::string architecture;  // general.architecture
  uint32_t n_vocab = 0;
  bool tied_head = false;  // config.json says so
  // Projections are ternary: packed in U8, or to be rounded.
  bool ternary = false;
  bool divides = false;                    // by weight_scale, where others multiply
  std::vector<std::string> not_converted;  // parts of the names of those that are not
  float norm_offset = 0;                   // is added to the weights of norms
  bool transposed = false;                 // projections lie [in, out], as gpt2's Conv1D has them
  // Tensors [rotated features / 2] that config.json has, each with its name in a GGUF file.
  std::vector<std::pair<std::string, std::vector<float>>> rope_factors;
};

// Throws Error(model) for what the engine would compute otherwise than transformers.
Config read_config(const Fields& fields, Metadata& to);

}  // namespace bitnet::hub
