// The forward pass: what is computed, in order, from token ids to logits.
//
// Thread rule: as the Backend.
//
// forward.cpp begins with the formulas; engine/README.md has the numerics.
#pragma once

#include "engine/model/model.h"
#include "kv_cache.h"

namespace bitnet {

// The buffers that a batch writes between its token ids and its logits; n is the batch size.
struct Activations {
  Activations(Backend& backend, const Model& model, uint32_t n_ctx, uint32_t max_batch,
              uint32_t max_logit_rows);

  BufferPtr x;        // [n][n_embd] f32: the residual stream
  Quantised rounded;  // the input of the projection that is computed
  BufferPtr qkv;      // [n][shape.row_heads()][head_dim] f32; of a DeltaNet [n][channels + inner]
  BufferPtr gate;     // [n][n_head][head_dim] f32 of gated attention, [n][2 n_head_v] of a DeltaNet; or null
  DeltaScratch delta;
  BufferPtr o;  // [n][n_head][head_dim] f32: what attention or a DeltaNet gives
  AttentionScratch attention;
  BufferPtr h;    // [n][n_ff], of experts [n * used][n_ff] f32: act(gate) * up; the square of relu2 would
                  // overflow F16
  Picked picked;  // of models with experts
  BufferPtr expert_trace;  // null, or where all ids go (expert_trace.h), behind this byte:
  uint64_t expert_trace_at = 0;
  BufferPtr t;  // [n][n_embd] f32: what is normed before it is added; null without such norms
  // Gemma's per-layer inputs, null in other families: their sum and the embedded part of it, [n][n_layer *
  // n_per_layer] f32, and what a layer makes of its own, [n][n_per_layer] f32
  BufferPtr per_layer, per_layer_embd, g;
  BufferPtr y;  // [rows][n_embd] f32: the last norm
  BufferPtr argmax_partials;
  std::vector<BufferPtr> rotations;  // of each of config.ropes, [n_ctx][rope_dim / 2] of {cos, sin}
};

class Watch;  // watch.h

// Records all blocks for n tokens. Afterwards x is the residual stream after the last block, and the cache
// has the keys and values of the tokens.
void record_blocks(Recorder& r, const Model& m, Activations& a, KvCache& cache, uint32_t n);
// Records blocks [begin, end) alone, with the embedding where begin is 0; the programs of all blocks have to
// run one after the other. They also leave what `watch` asks for, and the states behind `keep` tokens where
// that is not 0 (Recorder::delta_net).
void record_blocks(Recorder& r, const Model& m, Activations& a, KvCache& cache, uint32_t n, size_t begin,
                   size_t end, const Watch& watch, uint32_t keep);

// Which logits are looked at: all, or those from which the device chooses, by sampling where it has buffers.
struct WantedLogits {
  bool all = true;
  const SamplingBuffers* sampling = nullptr;
};

// Records the logits of `rows` tokens of the batch from first_row on ([rows][n_vocab] f32), and the choices
// from them (Choosing::result). Requires: x is still what the blocks wrote.
void record_head(Recorder& r, const Model& m, Activations& a, uint32_t first_row, uint32_t rows,
                 const WantedLogits& wanted, Buffer& logits, Buffer& result);

}  // namespace bitnet
