// A folder as the Hugging Face hub has it, as the GGUF file that a converter would make of it: config.json,
// tokenizer.json, and either model.safetensors or model.safetensors.index.json with its shards; where they
// are there, tokenizer_config.json, generation_config.json and chat_template.jinja.
//
// Thread rule: a free function; any thread.
//
// A link is followed within the folder and into the hub's own cache (../../blobs) alone. Every fault is an
// Error(model) of one line.
#pragma once

#include <memory>
#include <string>

#include "engine/gguf.h"

namespace bitnet {

// Without the text, which takes most of the time, there are no keys tokenizer.*.
std::unique_ptr<const Checkpoint> read_hub_folder(const std::string& path, bool with_text = true);

}  // namespace bitnet
