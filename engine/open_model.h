// Opens a model, whatever it comes as.
//
// Thread rule: free functions; any thread.
#pragma once

#include <memory>
#include <string>

#include "engine/gguf.h"

namespace bitnet {

// A GGUF file, or a folder as the Hugging Face hub has it (config.json, tokenizer.json, *.safetensors), which
// is shown as the GGUF file that a converter would make of it (engine/hub/). Throws Error(model).
std::unique_ptr<const Checkpoint> open_model(const std::string& path);
// As open_model, for who asks only what the weights are: no tokenizer of a folder is read.
std::unique_ptr<const Checkpoint> open_weights(const std::string& path);

}  // namespace bitnet
