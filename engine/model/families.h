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
#include "hadamard.h"

namespace bitnet {

struct ModelFile;

// What is particular to a family: the keys it has beside the common ones, the tensors of a block, and those
// outside of blocks that only it has, where there are some. The graph is that of engine/forward.cpp for all
// of them.
struct Family {
  const char* architecture;                              // general.architecture
  void (*read)(const Checkpoint& file, Config& config);  // after the common keys
  FileBlock (*block)(const Checkpoint& file, const Config& config, uint32_t index);
  void (*whole)(const Checkpoint& file, ModelFile& model) = nullptr;
  bool experts = false;  // its feed-forward is of experts
};
std::span<const Family> families();

// engine/model/bitnet.cpp, llama.cpp, qwen.cpp, qwen35.cpp, maple.cpp, phi3.cpp, gpt2.cpp and gemma.cpp.
void read_bitnet(const Checkpoint& file, Config& config);
FileBlock bitnet_block(const Checkpoint& file, const Config& config, uint32_t index);
void read_llama(const Checkpoint& file, Config& config);
FileBlock llama_block(const Checkpoint& file, const Config& config, uint32_t index);
void read_qwen(const Checkpoint& file, Config& config);
FileBlock qwen2_block(const Checkpoint& file, const Config& config, uint32_t index);
FileBlock qwen3_block(const Checkpoint& file, const Config& config, uint32_t index);
FileBlock qwen3moe_block(const Checkpoint& file, const Config& config, uint32_t index);
void read_qwen35(const Checkpoint& file, Config& config);
FileBlock qwen35_block(const Checkpoint& file, const Config& config, uint32_t index);
void read_maple(const Checkpoint& file, Config& config);
FileBlock maple_block(const Checkpoint& file, const Config& config, uint32_t index);
void read_phi3(const Checkpoint& file, Config& config);
FileBlock phi3_block(const Checkpoint& file, const Config& config, uint32_t index);
void read_gpt2(const Checkpoint& file, Config& config);
FileBlock gpt2_block(const Checkpoint& file, const Config& config, uint32_t index);
void gpt2_whole(const Checkpoint& file, ModelFile& model);
void read_gemma3(const Checkpoint& file, Config& config);
FileBlock gemma3_block(const Checkpoint& file, const Config& config, uint32_t index);
void read_gemma4(const Checkpoint& file, Config& config);
FileBlock gemma4_block(const Checkpoint& file, const Config& config, uint32_t index);
void gemma4_whole(const Checkpoint& file, ModelFile& model);

// What comes before the feed-forward of LLaMA's block, and its norm.
FileBlock attention_block(const Checkpoint& file, const Config& config, uint32_t index,
                          const AttentionShape& shape);
// The same with the router and the experts of a feed-forward.
FileBlock expert_block(const Checkpoint& file, const Config& config, uint32_t index,
                       const AttentionShape& shape);
// LLaMA's block with heads of this shape and n_ff features between gate and down.
FileBlock gated_block(const Checkpoint& file, const Config& config, uint32_t index,
                      const AttentionShape& shape, uint32_t n_ff);

// How a projection of this type rounds its input in this model: BitNet models are trained with int8 a row,
// and so are those that come as i2_s; other ternary ones and blocks are not, and floats take it as it is.
Input input_of(const Config& config, TensorType type);

// Reads the metadata alone.
Config read_config(const Checkpoint& file, Activation activation);
// Reads {arch}.rope.scaling.*, or the older rope.scale_linear, and rope_freqs.weight into the first of ropes,
// for families that have them.
void read_rope_scaling(const Checkpoint& file, Config& config);
// A size that is one number for all layers, or an array of one for each.
std::vector<uint32_t> layer_sizes(const Checkpoint& file, const std::string& key, uint32_t n_layer,
                                  uint32_t most);

// A model as tensors of its file; all have the right shape and type.
struct ModelFile {
  Config config;
  const GgufTensor* token_embd;
  const GgufTensor* positions = nullptr;  // [n_ctx][n_embd] f32, learned; null where heads are rotated
  // Gemma's per-layer inputs: an embedding [n_vocab][n_layer * n_per_layer], a projection to as many
  // features, and its norm [n_per_layer].
  const GgufTensor* per_layer_embd = nullptr;
  TensorStack per_layer_proj;
  NormOf<const GgufTensor*> per_layer_norm;
  NormOf<const GgufTensor*> output_norm;
  const GgufTensor* output;  // the LM head; token_embd where it is tied
  std::vector<FileBlock> blocks;
  std::shared_ptr<const Hadamard> hadamard;              // null where nothing is folded
  std::string path;                                      // of the file, for messages
  std::vector<std::shared_ptr<const MappedFile>> files;  // in which tensors lie, or what they were made of
};
// Fills in config.extra_tensors and what the config says of types too.
ModelFile read_model(const Checkpoint& file, Activation activation);

}  // namespace bitnet
