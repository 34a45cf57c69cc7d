// How a model's file wants its answers to be chosen: the keys general.sampling.* of GGUF, as llama.cpp names
// them.
//
// Thread rule: free functions and plain values; any thread.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "chat_settings.h"
#include "engine/gguf.h"

namespace bitnet {

struct ModelSettings {
  std::vector<std::pair<std::string, std::string>> values;  // as `/set NAME VALUE`, each within its range
  std::vector<std::string> unusable;  // a phrase for each key that was passed over: key, wanted, found
};

// Never throws: a wish that cannot be met is no reason to refuse the model.
ModelSettings read_model_settings(const GgufFile& file);

// Makes the wishes of this file the defaults, where neither the command line, the config file, a script nor
// the person says otherwise. Wishes of a file before it are taken back.
void adopt(const ModelSettings& wishes, ChatSettings& settings);

}  // namespace bitnet
