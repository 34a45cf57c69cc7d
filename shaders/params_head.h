// The part of params.h, which includes it, for what comes behind the blocks: the LM head, its shortlist,
// argmax and sampling.
#ifndef BITNET_SHADERS_PARAMS_HEAD_H
#define BITNET_SHADERS_PARAMS_HEAD_H

#ifdef __cplusplus
namespace bitnet::vk {
#endif

struct HeadPush {
  uint n_embd;
  uint n_rows;     // of this chunk of the table
  uint row_begin;  // its first row in the vocabulary
  uint n_vocab;
  uint n_tokens;
};

// The shortlist of an LM head (common/shortlist.glsl).
#define SHORTLIST_WORKGROUP 256  // invocations that look at rows
#define SHORTLIST_BORDERS 2048   // workgroups that approximate, at most

struct ShortlistRow {
  float scale;
  float of_f;  // by which |f| and |y| are multiplied in the bound
  float of_y;
  float unused;
};

struct ShortlistVector {
  float t;
  float norm;
  float f;
  uint usable;  // 0: there is no bound, since the vector is not finite or next to nothing
};

struct ShortlistPush {
  uint n_embd;
  uint n_vocab;
  uint n_borders;
  uint is_sampled;  // 1: SampleSettings::want logits are wanted, 0: one
};

// What shortlist_candidates.comp finds of the one token that it is for.
#define SHORTLIST_FOUND 4096

struct ShortlistFound {
  uint n_done;  // workgroups that have ended
  uint n;       // rows that were found; may be more than fit
  uint random[2];
  uint found[2 * SHORTLIST_FOUND];  // bits of the logit, token id
};

#define MERGE_INVOCATIONS 128  // that merge the partial results of argmax

struct ArgmaxPush {
  uint n;          // how many values there are: logits in the first pass, partial results in the second
};

// Sampling: the sizes of its buffers, and its settings as numbers, in the order of SamplingRecipe in
// engine/sampler.h.
#define SAMPLE_BINS 2048
#define SAMPLE_CANDIDATES 256
#define SAMPLE_HISTORY 256
#define SAMPLE_RANDOMS 32

struct SampleSettings {
  uint top_k;
  uint n_recent;
  float penalty;
  float inverse;
  float scale;
  uint top_p;
  uint min_weight;
  uint want;  // tokens to collect: before the penalty, the top_k may be among as many
};

struct SamplePush {
  uint n_vocab;
  uint n_partials;  // partial results of argmax
};

#ifdef __cplusplus
}  // namespace bitnet::vk
#endif
#endif
