// Reads and checks what a model file must hold, the configuration in its metadata and the table of its
// weights, and puts the weights on a device.
//
// Thread rule: free functions and values; as the Backend where one is given.
//
// Every shape, type and key is checked before a byte is copied to the device. A missing key or tensor, a
// wrong shape or type, and a NaN or Inf in a norm or scale are each an Error(model) that names it.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "backend.h"

namespace bitnet {

struct Config : ModelInfo {
  float norm_epsilon = 0;
  float rope_base = 0;    // theta
  uint32_t rope_dim = 0;  // features of a head that are rotated
  AttentionShape attention_shape() const { return {n_head, n_head_kv, head_dim, rope_dim}; }
};

// Reads the metadata alone. The architectures are bitnet-b1.58, bitnet-25 and bitnet-1.58.
Config read_config(const GgufFile& file);

struct LayerFiles {
  const GgufTensor *attn_norm, *attn_q, *attn_k, *attn_v, *attn_sub_norm, *attn_output;
  const GgufTensor *ffn_norm, *ffn_gate, *ffn_up, *ffn_sub_norm, *ffn_down;
};

// The tensors in the file; all have the right shape and type.
struct ModelFiles {
  const GgufTensor* token_embd;
  const GgufTensor* output_norm;
  const GgufTensor* output;  // the LM head; token_embd where it is tied
  std::vector<LayerFiles> layers;
  std::string path;  // of the file, for messages
};
ModelFiles find_tensors(const GgufFile& file, const Config& config);

// The names of the tensors that are not among `files`.
std::vector<std::string> extra_tensors(const GgufFile& file, const ModelFiles& files);

struct Layer {
  Norm attn_norm;             // [n_embd] f32
  AttentionInput attn_input;  // absent here
  Matrix qkv;                 // n_embd -> (n_head + 2 n_head_kv) * head_dim
  Norm attn_sub_norm;         // [n_head * head_dim] f32
  Matrix attn_output;         // n_head * head_dim -> n_embd
  Norm ffn_norm;              // [n_embd] f32
  Matrix ffn_gate_up;         // n_embd -> 2 n_ff
  Norm ffn_sub_norm;          // [n_ff] f32
  Matrix ffn_down;            // n_ff -> n_embd
};

struct Model {
  Config config;
  Table token_embd;
  std::vector<Layer> layers;
  Norm output_norm;     // [n_embd] f32
  Table separate_head;  // empty where the head is tied
  const Table& head() const { return config.tied_head ? token_embd : separate_head; }
};

// Puts the weights on the device. on_progress as in EngineOptions.
Model load_model(const Config& config, const ModelFiles& files, Backend& backend, I2sLayout layout,
                 const std::function<bool(uint64_t, uint64_t)>& on_progress);

}  // namespace bitnet
