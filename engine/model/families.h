// The families of models that this engine runs, a row each, and a model's file read as one of them.
//
// Thread rule: free functions and values.
//
// Every shape, type and key is checked before a device is touched. A missing key or tensor, a wrong shape or
// type, and a NaN or Inf in a norm or scale are each an Error(model) that names it.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "block.h"
#include "engine/gguf.h"

namespace bitnet {

// What is particular to a family: the keys it has beside the common ones, and the tensors of a block. The
// graph is that of engine/forward.cpp for all of them.
struct Family {
  const char* architecture;                            // general.architecture
  void (*read)(const GgufFile& file, Config& config);  // after the common keys
  FileBlock (*block)(const GgufFile& file, const Config& config, uint32_t index);
};
std::span<const Family> families();

// engine/model/bitnet.cpp, llama.cpp and qwen.cpp.
void read_bitnet(const GgufFile& file, Config& config);
FileBlock bitnet_block(const GgufFile& file, const Config& config, uint32_t index);
void read_llama(const GgufFile& file, Config& config);
FileBlock llama_block(const GgufFile& file, const Config& config, uint32_t index);
void read_qwen(const GgufFile& file, Config& config);
FileBlock qwen2_block(const GgufFile& file, const Config& config, uint32_t index);
FileBlock qwen3_block(const GgufFile& file, const Config& config, uint32_t index);

// How a projection of this type rounds its input in this model: BitNet models are trained with int8 a row,
// and so are those that come as i2_s; other ternary ones and blocks are not, and floats take it as it is.
Input input_of(const Config& config, TensorType type);

// Reads the metadata alone.
Config read_config(const GgufFile& file, Activation activation);
// Reads {arch}.rope.scaling.* and rope_freqs.weight, for families that have them.
void read_rope_scaling(const GgufFile& file, Config& config);

// A model as tensors of its file; all have the right shape and type.
struct ModelFile {
  Config config;
  const GgufTensor* token_embd;
  const GgufTensor* output_norm;
  const GgufTensor* output;  // the LM head; token_embd where it is tied
  std::vector<FileBlock> blocks;
  std::string path;  // of the file, for messages
};
// Fills in config.extra_tensors and what the config says of types too.
ModelFile read_model(const GgufFile& file, Activation activation);

}  // namespace bitnet
