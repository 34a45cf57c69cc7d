// The kernels that the engine dispatches, as pipelines of one device.
//
// Thread rule: as the Device.
#pragma once

#include <map>
#include <optional>
#include <utility>

#include "engine/backend.h"
#include "engine/kernel_options.h"
#include "kernel.h"
#include "shared_memory.h"
#include "split_tiles.h"

namespace bitnet::vk {

// Up to so many tokens the matrix is read once a token; larger batches share it in tiles of tokens.
constexpr uint32_t kMatvecTokens = 4;
constexpr uint32_t kMostHeads = 1024;  // of a stage of attention of several tokens
constexpr uint32_t kFewTokens = 8;     // that ternary products and heads take with one reading of the weights
constexpr uint32_t kDeltaParts = 4;    // invocations that share a column of the memory of a DeltaNet
constexpr uint32_t kExpertTile = 32;   // pairs of one expert that larger batches multiply at a time

bool has_blocks(TensorType type);          // of a table: values lie in blocks with scales of their own
uint32_t input_units_of(const Matrix& w);  // CONSTANT_INPUT_UNITS
uint32_t activation_of(Act act);           // ACTIVATION_...
uint32_t norm_of(const Norm& norm);        // NORM_...
uint32_t head_input(const AttentionInput& input);  // what a model has of it, HEAD_... together

// The positions of which a cache holds keys, and the most chunks of them that a token sees, of `cached` ones.
uint32_t cache_rows(const Buffer& k_cache, const AttentionShape& shape);
uint32_t most_chunks(const AttentionShape& shape, uint32_t cached);

// A row is reduced by one workgroup, of 512 invocations or the largest power of two that the device allows
// (Vulkan promises 128): sets of rows then divide units, or are whole ones. A software device runs the
// invocations one after the other, and a wide workgroup would only make it lose time at barriers. All kernels
// that norm a row use this size, so that they sum in the same order, but for inputs of whole ternary
// matrices, which have VulkanKernels::row_size.
Specialisation wide(const Device& device);

// What the kernel of the stages of decode is made for.
struct DecodeShape {
  struct Rows {
    uint32_t n_in = 64;           // features of the longest
    uint32_t shortest = 64;       // and of the shortest
    uint32_t norm = NORM_ALWAYS;  // of their input: NORM_...
    uint32_t n_out = 1;           // rows of the smallest result
    uint32_t most_out = 1;        // and of the largest, but for gates
  };
  Rows rows;            // of qkv, gate and up, and of all that are no longer
  Rows long_rows;       // of all that are longer
  uint32_t stages = 0;  // CONSTANT_STAGES
  bool takes_passes = false;  // CONSTANT_PASSES
  Act act = Act::relu2;
  AttentionShape heads{1, 1, 64, 64, 0, 0, AttentionRows::qkv, false};
  uint32_t head_input = 0;
  bool windows = false;  // whether any attention does not see all keys
  uint32_t tokens = 1;   // of each stage
  // What the matrices have in common.
  struct Weights {
    Layout layout = Layout::trits;
    uint32_t input_units = 0;                  // of groups: CONSTANT_INPUT_UNITS
    uint32_t rest = 0;                         // CONSTANT_REST
    uint32_t scale_groups = 0;                 // of groups: CONSTANT_SCALE_GROUPS
    uint32_t unit = 0;                         // CONSTANT_UNIT, or 0: of several kinds
    uint32_t bits = 0, minimum = 0;            // of blocks: CONSTANT_BITS ..., the same
    // Inputs that share a scale, or 0 where a row does.
    uint32_t unit_of_input() const { return layout == Layout::blocks ? 32 : input_units != 0 ? unit : 0; }
    bool operator==(const Weights&) const = default;
  };
  Weights weights;
  DeltaShape delta;  // or without heads
  struct Experts {
    uint32_t n_expert = 0, used = 0;
    uint32_t n_in = 0, n_ff = 0;
    float clamp = 0;  // Out::clamp
    bool operator==(const Experts&) const = default;
  };
  Experts experts;                // or none
  uint32_t rotated = 0;           // CONSTANT_BLOCK
  uint32_t turned = 0;            // the most features that a product turns in `tile`
  uint32_t rounded = 0;           // CONSTANT_ROUNDED, on a device that can
  bool all_long_rounded = false;  // all long rows then come as int8
};

// A product of floats that gives the gates of a Gated DeltaNet, recorded where the DeltaNet is.
struct FloatGates {
  Matrix w;
  BufferPtr weight;  // of an RMSNorm
  float epsilon;
  const Buffer *x, *y;
  uint32_t n;
};
bool are_gates(const Matrix& w, const Norm& norm, const Out& out);

// What the kernels of a product of groups or trits, or of blocks, have to know of it.
Specialisation product_constants(const Matrix& w, const Out& out);
Specialisation blocks_constants(TensorType type, const Out& out);

DecodeShape::Weights weights_of(const Matrix& w);
// What both have in common, or nullopt where one kernel cannot multiply both.
std::optional<DecodeShape::Weights> common_weights(const DecodeShape::Weights& a,
                                                   const DecodeShape::Weights& b);

// How a stage of a product divides its rows.
struct StageRows {
  bool is_long;       // of long_rows
  uint32_t lanes;     // that share rows
  uint32_t rows;      // of the result that they share
  bool takes_passes;  // a workgroup may take one set of rows after the other
  uint32_t passes;    // it takes a multiple of so many
  bool splits_units = false;  // units of gates may be split among workgroups
};

struct VulkanKernels {
  // integer_dot and matrix say which build of the kernels that multiply int8 is used. Requires: the device
  // has what that needs.
  VulkanKernels(const Device& device, VkPipelineCache cache, bool integer_dot, bool matrix,
                const KernelOptions& options);

  // Chooses how many invocations norm an input of a whole ternary matrix, which the order of the sum over it
  // depends on: as many as wide() has, or fewer, each with more registers, where that suits the blocks of a
  // model. Before any kernel is asked for. Does nothing where the options have a row_size.
  void suit(const ModelInfo& model);
  std::string arithmetic() const;  // what that adds to DeviceInfo::arithmetic

  // Each kernel is made when it is first asked for, that is when a program that uses it is first recorded.
  const Kernel& argmax();
  const Kernel& argmax_merge();
  const Kernel& embed(const Table& table, bool positions);
  const Kernel& norm(const Norm& norm, uint32_t out);  // OUT_STORE or OUT_ADD
  const Kernel& combine_per_layer(const Norm& norm);
  const Kernel& rotate(uint32_t block);
  // Norms, rotates and rounds the input of w at once; null where w or the device wants one after the other.
  const Kernel* rotate_quantise(const Matrix& w, const Norm& norm);
  const Kernel& elementwise(uint32_t element);                // ELEMENT_...
  const Kernel& gate(Act act);                                // ELEMENT_GATE
  const Kernel& head(const Table& table, uint32_t n_tokens);  // Requires: a dense table
  // Of a shortlist (vk/shortlist.h) for n tokens. Requires: a table of floats.
  struct ShortlistKernels {
    const Kernel &vector, &approximate, &candidates;  // of one token `candidates` also chooses
  };
  ShortlistKernels shortlist(const Table& table, const Norm& norm, uint32_t n_tokens);
  const Kernel& shortlist_copy(const Table& table);
  const Kernel& rope_store_kv(const AttentionInput& input, const AttentionShape& shape);
  // Whether attention multiplies matrices of F16. Its last bits then differ, but not between its kernels.
  bool attends_in_matrices(const AttentionShape& shape) const;
  // A workgroup takes `heads` heads, which share keys, of `tokens` tokens; `parts` of them divide the
  // features of a result. `split`: the chunks of keys are divided among workgroups, for kFewTokens at most.
  struct Attention {
    const Kernel& kernel;
    uint32_t heads, tokens, parts;
  };
  Attention attention(const AttentionShape& shape, uint32_t n_tokens, bool split);
  const Kernel& attention_merge(const AttentionShape& shape);
  struct Sampling {
    const Kernel &count, &collect, &choose;
  };
  Sampling sampling();

  // The kernels of Recorder::quantise (`rest`: of what the rounding leaves), and of Recorder::product: matvec
  // for a few tokens, matmul for n tokens in tiles, of which a workgroup computes `rows` of the result for
  // `tokens`.
  const Kernel& quantise(const Matrix& w, const Norm& norm, bool rest);
  const Kernel& matvec(const Matrix& w, const Out& out, uint32_t n_tokens);
  struct Matmul {
    const Kernel& kernel;
    uint32_t rows;
    uint32_t tokens;
    std::optional<TileSplit> split = std::nullopt;  // of ternary_matmul_groups_large
    bool tensors = false;  // up to three are one dispatch, each a layer of workgroups
  };
  Matmul matmul(const Matrix& w, const Out& out, uint32_t n, bool may_split);
  uint32_t few_tokens(const Matrix& w) const;  // up to which matvec() is faster

  // Of experts; a matrix of theirs is of groups or blocks. of_experts: a matvec where `pairs_a_row` pairs
  // share a row of the input, for tiles of kExpertTile pairs where it is 0.
  const Kernel& route();
  const Kernel& group_pairs();
  const Kernel& sum_experts();
  const Kernel& quantise_by_expert(const Matrix& w, const Norm& norm, uint32_t pairs_a_row);
  Matmul of_experts(const Matrix& w, const Out& out, uint32_t pairs_a_row);
  // The second product of a few tokens and the sum of what it gives. Requires: groups.
  const Kernel& groups_down_experts(const Matrix& w, const Out& out);

  // Of a Gated DeltaNet: all of it for one token, where the device allows a workgroup as wide as that takes,
  // and its steps for several.
  struct Delta {
    const Kernel &mix, &scan, &norm;
  };
  const Kernel* delta_token(const DeltaShape& shape);
  Delta delta(const DeltaShape& shape);
  const Kernel& delta_gates(const FloatGates& gates, TensorType type);
  bool delta_in_stages(const DeltaShape& shape) const;

  // Expands codes of Layout::fives16 into `to`: Layout::trits or groups.
  const Kernel& expand(Layout to);

  // As matvec and matmul for one tensor of a matrix of blocks, or for gate and up; `rows` are those of the
  // result, of all tensors that might be one dispatch.
  const Kernel& blocks_matvec(TensorType type, const Out& out);
  Matmul blocks_matmul(TensorType type, const Out& out, uint32_t rows, uint32_t n);
  // Of floats: CONSTANT_ROWS rows, with OUT_GATE half of them gate, for CONSTANT_TOKEN_TILES tokens.
  const Kernel& floats(TensorType type, const Out& out, uint32_t n);

  // The kernel of the stages of decode (vk/decode.h), and whether the device can run it.
  bool has_decode(const DecodeShape& shape) const;
  const Kernel& decode(const DecodeShape& shape);
  // Whether workgroups should take several sets of rows of whole ternary matrices, but for gates, where so
  // many run at a time (DecodeShape::takes_passes).
  bool gains_by_passes(const DecodeShape& shape, uint32_t at_once) const;
  StageRows stage_rows(const DecodeShape& shape, const DecodeStage& stage) const;
  // The workgroups of a stage of experts, STAGE_ROUTER and those behind it.
  uint32_t expert_groups(const DecodeShape& shape, const DecodeStage& stage) const;
  static uint32_t decode_heads(const AttentionShape& shape);  // heads that one workgroup of attention takes
  // Of a head, that workgroups merge.
  static uint32_t merge_parts(const AttentionShape& shape, const DecodeShape::Weights& weights);
  double seconds_compiling() const { return seconds_compiling_; }

 private:
  const Kernel& kernel(Shader shader, const Specialisation& constants);
  Attention attention_in_matrices(const AttentionShape& shape, bool split);
  uint32_t row_size(Layout layout) const;
  Specialisation quantise_constants(const Matrix& w, const Norm& norm) const;
  bool is_loaded_once(const Matrix& w, const Norm& norm) const;
  bool is_rounded_in_one_pass(const Matrix& w, const Norm& norm) const;
  Specialisation decode_constants(const DecodeShape& shape) const;
  Specialisation decode_constants(const DecodeShape& shape, uint32_t tokens) const;
  Shader decode_shader(const DecodeShape& shape) const;
  bool fits(const DecodeShape& shape, const Specialisation& constants) const;
  uint64_t declared_bytes(Shader shader, const Specialisation& constants) const;  // of shared memory
  bool rounds_units(const DecodeShape::Weights& weights) const;
  bool has_experts(const DecodeShape& shape, const Specialisation& c) const;

  const Device& device_;
  VkPipelineCache cache_;
  const bool integer_dot_;
  const bool matrix_;
  const bool emulate_matrices_;
  const bool reconverges_;  // lanes of a subgroup that polled for different times go on together
  const bool chooses_row_size_;
  uint32_t row_size_;  // of inputs of whole ternary matrices
  bool int16_every_128_ = false;
  std::map<std::pair<Shader, Specialisation>, Kernel> kernels_;
  double seconds_compiling_ = 0;
  mutable std::map<Shader, SharedMemory> shared_memory_;
};

}  // namespace bitnet::vk
