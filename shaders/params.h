// What the host gives a kernel: specialisation constants, the params buffer of a submission and the push
// constants of a dispatch. C++ and GLSL both include this file, so that they cannot differ. It has only
// 4-byte scalars, and addresses at multiples of 8, for which both have the same layout.
#ifndef BITNET_SHADERS_PARAMS_H
#define BITNET_SHADERS_PARAMS_H

#ifdef __cplusplus
#include <cstdint>
namespace bitnet::vk {
using uint = uint32_t;
using uvec2 = uint64_t;
#elif defined(UNROLLED)
#define UNROLL [[unroll]]
#elif defined(EMULATED_MATRICES)
#define UNROLL [[dont_unroll]]  // a software device would unroll short loops by itself and compile for minutes
#else
#define UNROLL
#endif

// Specialisation constants: the number under which a shader declares each of those it uses, and under which
// the engine sets it (Specialisation in engine/vk/kernel.h). The engine sets whatever a shader declares; the
// value in the shader only makes it compile.
#define CONSTANT_WORKGROUP_SIZE 0    // invocations
#define CONSTANT_TABLE_TYPE 1        // how the rows of the table lie: TABLE_...
#define CONSTANT_HEADS 2             // heads that one workgroup of attention takes
#define CONSTANT_ROWS 3              // rows that a subgroup takes at a time, even; in decode that lanes share
#define CONSTANT_LANES 4             // lanes of a subgroup that share rows in decode; a power of 2
#define CONSTANT_LOADS 5             // uvec4 of a row that each of them takes; of blocks: runs at a time
#define CONSTANT_NORM_LOADS 6        // vec4 of the vector that an invocation norms in decode
#define CONSTANT_FEATURES 7          // head_dim / 64 in attention, rounded up
#define CONSTANT_SLAB 8              // features of a step of attention's scores: 8, 16, 32 or 64
#define CONSTANT_KEY_SLAB 9          // keys of a step of attention's values: 4, 8 or 16
#define CONSTANT_HEAD_DIM 10         // features of a head
#define CONSTANT_LANES_LONG 11       // as LANES, LOADS and NORM_LOADS, for long rows
#define CONSTANT_LOADS_LONG 12
#define CONSTANT_NORM_LOADS_LONG 13
#define CONSTANT_TILE 14             // uvec4 of shared memory: an int8 vector, a chunk's values, table rows
#define CONSTANT_SUBGROUP_SIZE 15    // invocations of a subgroup in shared memory (common/subgroup.glsl)
#define CONSTANT_INPUT_UNITS 16      // 1: inputs of a matrix of groups have a scale for each unit
#define CONSTANT_SCALE_GROUPS 17     // groups of a row that share a scale
#define CONSTANT_ACTIVATION 18       // ACTIVATION_...
#define CONSTANT_NORM 19             // NORM_...
#define CONSTANT_MATRIX_M 20         // rows, tokens, features of a product of cooperative matrices
#define CONSTANT_MATRIX_N 21
#define CONSTANT_MATRIX_K 22
#define CONSTANT_ROW_TILES 23        // such matrices that a subgroup has side by side
#define CONSTANT_TOKEN_TILES 24
#define CONSTANT_SUBGROUP_ROWS 25    // subgroups that a workgroup has side by side
#define CONSTANT_SUBGROUP_TOKENS 26
#define CONSTANT_NORM_LONG 27        // as NORM, for long rows
#define CONSTANT_OUT 28              // OUT_...
#define CONSTANT_ROWS_LONG 29        // as ROWS, for long rows
#define CONSTANT_HEAD_INPUT 30       // what happens to q, k and v before RoPE: HEAD_... together
#define CONSTANT_POSITIONS 31        // 1: an embedding of the position is added to that of the token
#define CONSTANT_WINDOW 32           // keys that a token sees; 0: all; of stages 1: some do not see all
#define CONSTANT_VALUE_PARTS 33      // workgroups among which attention divides the features of its result
#define CONSTANT_ELEMENT 34          // ELEMENT_...
#define CONSTANT_SPLIT 35            // 1: attention of a few tokens is divided by chunks of keys; tiles by inputs
#define CONSTANT_BITS 36             // of a code of a matrix of blocks
#define CONSTANT_UNIT 37             // inputs of a matrix of blocks that share a scale, 32 or 16; of groups see groups.glsl
#define CONSTANT_MINIMUM 38          // 1: they also share a minimum
#define CONSTANT_SUM_WORDS 39        // words of four inputs whose sum the kernels of a product want
#define CONSTANT_ROUNDED 40          // stages of decode that hand over units as int8: ROUNDED_... together
#define CONSTANT_PAIRS 41             // pairs of a token and an expert that share a row of the input
#define CONSTANT_CLAMP 42             // bits of a float: how far the gate and up of experts go; 0: without end
#define CONSTANT_CONV 43              // inputs that the convolution of a Gated DeltaNet sees; 0: there is none
#define CONSTANT_DELTA_DIM 44         // features of its heads
#define CONSTANT_BLOCK 45             // features of a block that is rotated
#define CONSTANT_REST 46              // inputs have 16 bits: 1; where they are rounded: REST_...
#define CONSTANT_TOKENS 47            // tokens at a time: of a subgroup, RoPE, a scan; the most of stages of decode
#define CONSTANT_EXPERTS 48           // that a layer has, in decode; 0: there are none
#define CONSTANT_USED 49              // of which a token uses so many
#define CONSTANT_EXPERT_FF 50         // rows of the gate of one
#define CONSTANT_EXPERT_LANES 51      // lanes of a subgroup that share rows of it; a power of 2
#define CONSTANT_EXPERT_LOADS 52      // uvec4 of a row of its gate that each of them takes
#define CONSTANT_PARTS 53              // subgroups that divide the inputs of a tile of a product among them
#define CONSTANT_LANES_GATE 54         // as LANES, LOADS and ROWS, for gate and up
#define CONSTANT_LOADS_GATE 55
#define CONSTANT_ROWS_GATE 56
#define CONSTANT_STAGES 57             // what the stages of a chain are: STAGES_... together
#define CONSTANT_ROW_SIZE 58           // invocations of a workgroup that take a row, wherever it is normed
#define CONSTANT_RECONVERGES 59        // 1: lanes of a subgroup that polled for different times go on together
#define CONSTANT_INSIDE 60             // so many of CONSTANT_LOADS are there for all lanes, in the shortest row too
#define CONSTANT_INSIDE_LONG 61
#define CONSTANT_INSIDE_GATE 62
#define CONSTANT_PASSES 63             // 1: a workgroup takes several sets of rows of whole ternary matrices
#define CONSTANT_UNIT_STRIDE 64        // from a quad of words of a unit to the next in shared memory

// Rows, keys and features of a matrix of F16 (common/attention_matrix.glsl), of which a row is shared by two
// lanes.
#define HALF_SIDE 16u

// What a kernel that rounds to 16 bits writes: what the rounding to int8 leaves alone, or both. The rest is
// in steps that are REST_STEPS as fine, so that in groups the input is REST_STEPS * q + rest.
#define REST_ALONE 1
#define REST_TOO 2
#define REST_STEPS 254

// What a gate becomes before it is multiplied by up, and what OUT_ACT makes of a result.
#define ACTIVATION_RELU2 0  // relu(gate)^2
#define ACTIVATION_SILU 1   // gate / (1 + e^-gate)
#define ACTIVATION_GELU 2   // in the form with tanh

// Whether a vector is normed, and how.
#define NORM_NEVER 0
#define NORM_ALWAYS 1    // RMSNorm
#define NORM_BY_STAGE 2  // RMSNorm where a stage of decode has a weight
#define NORM_ONES 3      // RMSNorm without weights
#define NORM_LAYER 4     // LayerNorm

// Where the result of a product goes, in the order of Out::Kind in engine/backend.h.
#define OUT_STORE 0
#define OUT_ADD 1
#define OUT_GATE 2
#define OUT_ACT 3

// The types of tables and of matrices of floats, which lie as in the file, by the numbers of TensorType
// (engine/gguf.h).
#define TABLE_F32 0
#define TABLE_F16 1
#define TABLE_Q4_0 2
#define TABLE_Q5_0 6
#define TABLE_Q8_0 8
#define TABLE_Q4_K 12
#define TABLE_Q5_K 13
#define TABLE_Q6_K 14
#define TABLE_BF16 30

// What happens to the heads before RoPE. A norm may have no weights, and v may be k as it comes.
#define HEAD_BIAS 1u
#define HEAD_Q_NORM 2u
#define HEAD_K_NORM 4u
#define HEAD_V_NORM 8u
#define HEAD_Q_ONES 16u
#define HEAD_K_ONES 32u
#define HEAD_V_ONES 64u
#define HEAD_V_IS_K 128u
#define HEAD_GATE 256u  // in decode: what attention gives is multiplied by the logistic of a gate

// What elementwise.comp does.
#define ELEMENT_SCALE 0     // x *= factor
#define ELEMENT_SOFTCAP 1   // x = factor * tanh(x / factor)
#define ELEMENT_MULTIPLY 2  // x *= y
#define ELEMENT_SUPPRESS 3  // x[y] = -inf
#define ELEMENT_SIGMOID 4   // x /= 1 + e^-y
#define ELEMENT_GATE 5      // x = act(y) * y', which lies behind a row of y

// The words of the params buffer: these, then the token ids of the batch.
#define PARAMS_POSITION 0  // of the batch's first token in the timeline
#define PARAMS_TOKENS 1

struct EmbedPush {
  uint n_embd;
  uint row_begin;  // of this chunk of the table
  uint n_rows;
  float scale;
};

struct EmbedTernaryPush {
  uint n_embd;
  uint row_begin;
  uint n_rows;
  uint scale_every;  // features that share a scale
  float scale;       // of all
};

struct NormPush {
  uint n;          // features a row
  uint first_row;  // of the input; rows of the output count from 0
  float epsilon;
};

// When the values of rotate.comp are multiplied by their signs.
#define ROTATE_SIGNS_FIRST 1u
#define ROTATE_SIGNS_LAST 2u

struct RotatePush {
  uint n;        // features a row
  uint signs;    // ROTATE_..., or 0
  float factor;  // 1 / sqrt(block)
};

struct RotateQuantisePush {
  uint n_in;       // features a row
  uint has_signs;
  float factor;    // 1 / sqrt(block)
  float epsilon;
};

struct QuantisePush {
  uint n_in;       // features a row
  uint first_row;  // of the input; rows of the output count from 0
  float epsilon;
};

// A stack of up to three ternary tensors over one input: rows < end0 have scale0, rows < end1 scale1, others
// scale2.
struct TernaryPush {
  uint n_in;
  uint n_out;
  uint n_tokens;
  uint end0;
  uint end1;
  float scale0;
  float scale1;
  float scale2;
};

// The same for tensors of groups, which have scales of their own. `fixed` is a power of two, by which a
// group's product is multiplied before it is rounded to an integer.
struct GroupsPush {
  uint n_in;
  uint n_out;
  uint n_tokens;
  uint end0;
  uint end1;
  float scale0;
  float scale1;
  float scale2;
  float fixed_point;
  uint whole_tiles;  // of ternary_matmul_groups_large: the first tiles, which have a workgroup each
  uint splits;       // and how many each of the others has
};

// One tensor of blocks or floats, or with OUT_GATE two of one size, gate and up. Its rows begin at first_row
// of a result of `stride` rows a token, and so do their biases, if there are any. `fixed` is of blocks, as
// fixed_point in GroupsPush.
struct DensePush {
  uint n_in;
  uint n_out;
  uint n_tokens;
  uint first_row;
  uint stride;
  uint has_bias;
  float scale0;
  float scale1;
  float fixed0;
  float fixed1;
};

// Experts: how many a layer may have, and where group_pairs.comp writes what.
#define MOST_EXPERTS 1024
#define MOST_USED 32  // by a token
#define TILES_BEGIN 1
#define TILE_WORDS 3

struct RoutePush {
  uint n_expert;
  uint used;
  uint sigmoid;  // as in Routing
  uint normed;
  float scale;
};

struct GroupPush {
  uint n_expert;
  uint n_pairs;
  uint tile;      // pairs of a tile at most
  uint order_at;  // word of the list
};

// As GroupsPush, of the experts that `used` pairs of each token have.
struct DownPush {
  uint n_in;
  uint n_out;
  uint used;
  uint end0;
  uint end1;
  float scale0;
  float scale1;
  float scale2;
  float fixed_point;
};

struct SumPush {
  uint width;
  uint used;
  uint place_at;  // word of the list where the places of pairs begin; 0: pair i is in place i
};

// A matrix whose codes are expanded.
struct ExpandPush {
  uint n_in;
  uint n_rows;
};

// The kinds of stages of decode.comp: steps of the forward pass of one token, each of which needs the results
// of the one before.
#define STAGE_EMPTY 0u       // tries the device
#define STAGE_LINEAR 1u      // y = W q(rms_norm(x) * weight)
#define STAGE_LINEAR_ADD 2u  // y += ...
#define STAGE_GATE_UP 3u     // y = act(gate) * up; n_out rows of gate, then of up
#define STAGE_ATTENTION 4u   // x is qkv, y the result, w the table of rotations, x2 the gate if there is one
#define STAGE_DELTA 5u       // x2 is qkvz; x what gives the gates: the vector of w, or with n_in 0 the gates themselves
#define STAGE_ROTATE 6u      // y = H (signs * x), or of x normed; bias has the signs
#define STAGE_ROUND 7u         // of many tokens: the int8 that the product behind it takes (common/decode_few.glsl)
#define STAGE_ROUTER 8u        // y = W norm(x) of floats, the logits of experts (common/decode_experts.glsl)
#define STAGE_EXPERTS_GATE 9u  // y = act(gate) * up of the experts with the largest logits, which x2 has
#define STAGE_EXPERTS_DOWN 10u  // y += what they give, the last of these three
// What a word that stages hand over is until it is given: a signalling NaN, and neither four int8 of at most
// 127, nor the sum of a unit's integers, nor two of these in one word.
#define NOT_GIVEN 0xFF804000u
#define STAGE_SHIFT 20u      // of a ticket's entry: stage << STAGE_SHIFT | workgroup of the stage
#define STAGE_BITS 12u       // what is left of a word

// What a kernel of stages has code for. Of DeltaNets, rotations and experts constants of their own say it.
#define STAGES_PRODUCTS 1u
#define STAGES_GATES 2u      // products of gate and up
#define STAGES_LONG_ROWS 4u
#define STAGES_ATTENTION 8u

// How a stage takes and hands over vectors: from an earlier stage and to a later one as words that are given
// once (decode.comp), from and to the kernels around the chain as plain floats.
#define FLOW_FROM 1u           // x is given by a stage
#define FLOW_RESIDUAL 2u       // what is added to, or x2, is given by a stage
#define FLOW_TO 4u             // a later stage needs the result
#define FLOW_OUT 8u            // the result is also written to y
#define FLOW_FROM_ROUNDED 16u  // x is given as int8 (common/decode_rounded.glsl)
#define FLOW_TO_ROUNDED 32u    // and so is the result
#define FLOW_END 64u           // no stage reads the result

// Which stages hand over units as int8, where those behind them need no norm.
#define ROUNDED_GATES 1u
#define ROUNDED_ATTENTION 2u
#define ROUNDED_DELTA 4u
#define ROUNDED_ROTATION 8u

// How experts are chosen, as in Routing.
#define ROUTING_SIGMOID 1u
#define ROUTING_NORMED 2u

// The kind of each tensor of a stage of blocks: so many bits, of which the lowest four are those of a code.
#define BLOCK_KIND_BITS 8u
#define BLOCK_KIND_16 16u       // a unit is 16 inputs
#define BLOCK_KIND_MINIMUM 32u

// Of more tokens a stage of its own rounds what a product of whole matrices takes.
#define ROUNDED_HERE 4u

struct DecodeStage {
  uvec2 x;  // addresses of buffers on the device
  uvec2 y;
  uvec2 w;
  uvec2 w1;  // of blocks: of the second tensor and of the third
  uvec2 w2;
  uvec2 weight;  // 0: x is not normed
  uvec2 scales;  // of a matrix of groups, of the first tensor of blocks
  uvec2 scales1;
  uvec2 scales2;
  uvec2 k_cache;
  uvec2 v_cache;
  uvec2 chunks;
  uvec2 finished;  // of attention: what it hands over in itself, or counts of several tokens
  uvec2 bias;    // of heads, and the weights of their norms; of experts where their ids go for the host, or 0
  uvec2 q_norm;
  uvec2 k_norm;
  uvec2 x2;    // of a DeltaNet; it has other buffers under the names of those of attention (vk/decode_stages.cpp)
  uvec2 from;  // what stages give
  uvec2 residual;
  uvec2 to;
  uint kind;
  uint flow;
  uint n_groups;   // workgroups
  uint n_passes;   // a product's workgroup takes as many sets of rows, one after the other
  uint n_longer;   // the first so many workgroups do,
  uint fewer;      // and those behind them take so many fewer
  uint split_units;      // of gates and of who takes them: the last are split among workgroups
                         // (common/decode_split.glsl),
  uint split_subgroups;  // and so many subgroups of each take rows of these
  uint tokens_each;  // and so many of the tokens; with gates all
  uint wait_for;   // as many workgroups of the stage before; for empty stages, which hand nothing over
  uint long_rows;  // 1: CONSTANT_LANES_LONG and the like hold
  uint lanes;      // that share rows; a power of 2
  uint n_in;
  uint n_out;
  uint end0;  // as in TernaryPush
  uint end1;
  float scale0;
  float scale1;
  float scale2;
  float epsilon;
  uint n_head;
  uint n_head_kv;
  uint rope_dim;
  uint kinds;         // BLOCK_KIND_...
  float fixed_point;  // as in GroupsPush; of blocks that of the first tensor
  float fixed1;
  float fixed2;
  uint max_chunks;  // of keys that the cache can hold
  uint window;      // keys that a token sees, its own included; 0: all
  uint cache_rows;  // position p lies in row p % cache_rows
  float scale;      // of attention, as in AttentionPush; of the weights of experts
  float per_feature;  // as in RopePush
  float q_epsilon;
  float k_epsilon;
  uint n_head_k;  // as in DeltaPush
  uint n_head_v;
  uint grouped;
  float q_scale;
  uint routing;  // ROUTING_...
};

struct DecodePush {
  uint chained;       // 1: all stages; 0: one, no workgroup waits or counts
  uint first_stage;   // that one
  uint n_stages;
  uint last_groups;   // workgroups of the stages whose results no stage reads
  uint most_polls;    // after as many polls in vain a workgroup gives up
  uint n_tokens;      // of each stage
  uint first_group;   // of a stage alone
};

struct RopePush {
  uint n_head;
  uint n_head_kv;
  uint row_heads;     // heads of a row of qkv
  uint head_dim;
  uint rope_dim;      // the first so many features of a head are rotated
  uint cache_rows;    // position p lies in row p % cache_rows
  float per_feature;  // 1 / head_dim
  float q_epsilon;
  float k_epsilon;
  float v_epsilon;
  uint n_tokens;
};

struct AttentionPush {
  uint n_head;
  uint n_head_kv;
  uint row_heads;   // heads of a row of qkv
  uint cache_rows;  // with a window: position p lies in row p % cache_rows
  uint n_tokens;    // of the batch
  uint max_chunks;  // of keys that a cache can hold, where they are divided among workgroups
  float scale;      // of scores, times log2(e)
};

struct AttentionMergePush {
  uint head_dim;
  uint max_chunks;
  uint n_head;
};

// A Gated DeltaNet (DeltaShape in engine/backend.h).
struct DeltaPush {
  uint n_head_k;
  uint n_head_v;
  uint n_tokens;
  uint keep;  // the state behind so many of them is left too; 0: that of the last one alone
  uint grouped;
  float epsilon;
  float q_scale;      // 1 / sqrt(head_dim)
  float per_feature;  // 1 / head_dim
};

// One tensor of floats whose rows the gates of a Gated DeltaNet are.
struct GatesPush {
  uint n_in;
  uint n_rows;
  uint n_tokens;
  uint first_row;  // of a result of `stride` rows a token
  uint stride;
  float scale;
  float epsilon;
};

struct CombinePush {
  uint width;  // features of a slice
  float epsilon;
  float projected_scale;
  float embedded_scale;
};

struct ElementPush {
  uint width;   // values of a row that are changed, or ids
  uint stride;  // from a row to the next
  uint by_stride;
  uint by_offset;
  float factor;
};

#ifdef __cplusplus
}  // namespace bitnet::vk
#endif
#include "params_head.h"
#endif
