// What a model file says, without a device.
//
// Thread rule: free functions and values.
//
// Errors: Error(model) for a file that cannot be run.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/gguf.h"
#include "engine/placement.h"

namespace bitnet {

// How the ternary values lie in i2_s tensors (see engine/layouts/i2s.h). A file does not tell.
enum class I2sLayout { block128, block64, rows1x4 };

// What a feed-forward does to its gate, or to all that it has; of_file: what the file says or lets one infer.
enum class Activation { of_file, relu2, silu, gelu };

struct ModelInfo {
  std::string architecture;  // "bitnet-b1.58", "llama", ...
  std::string name;          // general.name, may be empty
  uint32_t n_vocab = 0;
  uint32_t n_ctx_train = 0;  // tokens the model was trained for
  // A session of more tokens computes other numbers than one of as many or less (LongRoPE); 0: all the same.
  uint32_t brief_context = 0;
  uint32_t n_embd = 0;
  uint32_t n_layer = 0;
  uint32_t n_ff = 0;                         // of one expert, where there are experts
  uint32_t n_expert = 0, n_expert_used = 0;  // 0: there are none
  uint32_t n_head = 0;
  uint32_t n_head_kv = 0;
  uint32_t head_dim = 0;
  uint64_t n_ternary = 0, n_dense = 0;  // weights of the projections
  uint64_t file_bytes = 0;
  bool tied_head = true;                        // the LM head is the token embedding
  Activation activation = Activation::of_file;  // relu2, silu or gelu
  std::string activation_reason;                // what says so
  std::string projection_types;                 // of tensors: "I2_S", "Q4_K, Q6_K"
  std::string embedding_type, head_type;
  std::string inputs;  // how projections round their inputs: "int8 a row", "int8 every 64", "not rounded"
  bool int16_every_128 = false;  // whether a GPU rounds some to 16 bits every 128
  std::string rope;    // "base 500000, yarn of 4 over 16384 tokens"
  // As fingerprint_of; empty from read_model_info, which does not read all of the file.
  std::string fingerprint;
  // The fingerprint of an earlier version: a hash of size, metadata and both ends of every tensor, whatever
  // the options.
  std::string old_fingerprint;
  std::vector<std::string> extra_tensors;  // the names of those that the engine does not read
};

// The tokens of context where nobody asks for a number: what the model was trained for, but not the KV cache
// of tens of thousands, which would fill a small device for conversations that few have.
inline uint32_t usual_context(const ModelInfo& model) {
  return model.n_ctx_train < 16384 ? model.n_ctx_train : 16384;
}

// Reads and checks, without a device, everything that a file must hold to be run. Throws Error(model).
ModelInfo read_model_info(const Checkpoint& file, Activation activation = Activation::of_file);

// The bytes that an engine and one session of n_ctx tokens take on the device.
struct MemoryPlan {
  uint64_t projections = 0;
  uint64_t embedding = 0;  // token embedding and LM head
  uint64_t norms = 0;
  uint64_t kv_cache = 0;  // in a layer with a window, of its last positions alone
  uint64_t state = 0;     // what layers without keys remember of the text, whatever its length
  uint64_t activations = 0;
  // Of the computer's memory, what earlier states of the text take as it grows (snapshots.h); not in total().
  uint64_t snapshots = 0;
  uint64_t kv_read = 0;             // of the KV cache and the state, what the last of the tokens reads
  uint64_t head = 0;                // of `embedding`, the table that logits are computed from
  uint64_t decode_file = 0;         // bytes of the file that a token reads: projections, norms and the head
  uint64_t head_copy = 0;           // to find the largest logits with, where that pays; not in total()
  bool head_is_floats = false;      // F32, F16 or BF16, of which a GPU reads the copy faster too
  std::vector<WeightPiece> pieces;  // projections and embedding, as place() takes them
  uint64_t fixed() const { return norms + kv_cache + state + activations; }  // the rest of total()
  uint64_t total() const { return projections + embedding + fixed(); }
};
MemoryPlan plan_memory(const Checkpoint& file, uint32_t n_ctx);

}  // namespace bitnet
