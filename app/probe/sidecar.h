// The JSON beside an array of numbers, which says from what it was made: the keys that ember writes, and more
// about the device.
//
// Thread rule: free functions; main's thread.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "app/model/model_open.h"
#include "engine/engine.h"
#include "prompt_text.h"

namespace bitnet {

// What is known of the model and of who computes with it: model_path, architecture, tokenizer_path,
// tokenizer_sha256, model_file_size_bytes, model_sha256 (null unless `hash_model`, because it reads the whole
// file), gguf_metadata, run_manifest. A GGUF file is its own tokenizer's file, so that is hashed by what it
// says under tokenizer.*.
nlohmann::ordered_json describe_model(const Checkpoint& file, const Engine& engine,
                                      const ModelOptions& options, bool hash_model);

std::string model_sha256(const Checkpoint& file);  // of all its files, one after the other

// {schema_version, prompt, tokenizer_path, tokenizer_sha256, bos_token_id, token_ids, token_count, offsets,
// offset_unit, encode_with_offsets_matches_encode}
nlohmann::ordered_json token_audit(const Checkpoint& file, const Tokenizer& tokenizer,
                                   const PromptText& prompt);

int64_t unix_seconds();

// "a/b.npy" -> "a/b_metadata.json"
std::string beside(const std::string& path, const std::string& ending);

// Throws Error(runtime) where this file is there already and `overwrite` does not allow another in its place.
void refuse_existing(const std::string& path, bool overwrite);

std::string json_text(
    const nlohmann::ordered_json& value);  // with line ends; bytes that are no UTF-8 are replaced

}  // namespace bitnet
