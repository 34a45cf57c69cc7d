// What the host gives a kernel: the params buffer of a submission and the push constants of a dispatch.
// Included by C++ and by GLSL, so that the two cannot drift apart; only 4-byte scalars, so that the
// layouts agree by themselves.
#ifndef BITNET_SHADERS_PARAMS_H
#define BITNET_SHADERS_PARAMS_H

#ifdef __cplusplus
#include <cstdint>
namespace bitnet::vk {
using uint = uint32_t;
#endif

// Words of the params buffer: these, then the token ids of the batch.
#define PARAMS_POSITION 0  // of the batch's first token in the timeline
#define PARAMS_TOKENS 1

struct EmbedPush {
  uint n_embd;
  uint row_begin;  // of this chunk of the table
  uint n_rows;
};

struct NormPush {
  uint n;          // features a row
  uint first_row;  // of the input; rows of the output count from 0
  float epsilon;
};

struct QuantisePush {
  uint n_in;  // features a row
  float epsilon;
};

// A stack of up to three ternary tensors over one input: rows < end0 have scale0, rows < end1 scale1, others scale2.
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

// One token, norm included.
struct BitLinearPush {
  uint n_in;
  uint n_out;
  uint end0;
  uint end1;
  float scale0;
  float scale1;
  float scale2;
  float epsilon;
};

struct RopePush {
  uint n_head;
  uint n_head_kv;
  uint head_dim;
  uint rope_dim;  // the first so many features of a head are rotated
};

struct AttentionPush {
  uint n_head;
  uint n_head_kv;
  uint head_dim;
  uint rope_dim;
  uint n_tokens;    // of the batch
  uint max_chunks;  // of keys that the cache can hold; decode only
  float scale;      // log2(e) / sqrt(head_dim)
};

struct HeadPush {
  uint n_embd;
  uint n_rows;     // of this chunk of the table
  uint row_begin;  // its first row in the vocabulary
  uint n_vocab;
};

struct ArgmaxPush {
  uint n;          // values to look at: logits in the first pass, partial results in the second
};

// Sampling: sizes of its buffers, and the settings in numbers (SamplingRecipe in engine/sampler.h, in its order).
#define SAMPLE_BINS 2048
#define SAMPLE_CANDIDATES 256
#define SAMPLE_HISTORY 128
#define SAMPLE_RANDOMS 4

struct SampleSettings {
  uint top_k;
  uint n_recent;
  float penalty;
  float inverse;
  float scale;
  uint top_p;
  uint min_weight;
  uint want;  // tokens to collect: the top_k may be among so many before the penalty
};

struct SamplePush {
  uint n_vocab;
  uint n_parts;  // partial results of argmax
};

#ifdef __cplusplus
}  // namespace bitnet::vk
#endif
#endif
