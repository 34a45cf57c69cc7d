// Reads how a model's file wants its answers to be chosen: the keys general.sampling.* of GGUF, as llama.cpp
// names them.
//
// Thread rule: free functions and plain values; any thread.
#pragma once

#include <string>
#include <vector>

#include "engine/gguf.h"

namespace bitnet {

struct ModelSettings {
  struct Wish {
    std::string setting;  // as `/set NAME VALUE`
    std::string value;    // a number; of any size
    std::string key;      // of the file
  };
  std::vector<Wish> values;
  std::vector<std::string> unusable;  // a phrase for each key that was passed over: key, wanted, found
};

// It never throws: a wish that cannot be met is no reason to refuse the model.
ModelSettings read_model_settings(const Checkpoint& file);

}  // namespace bitnet
