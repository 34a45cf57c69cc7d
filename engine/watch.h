// Records what an Observation asks for among the kernels of the forward pass: copies of rows to a buffer that
// the host sees.
//
// Thread rule: as the Backend.
#pragma once

#include "engine/model/model.h"
#include "engine/observation.h"
#include "forward.h"

namespace bitnet {

// The features of a row as it is copied, 0 where the layer has no such stage. Of Stage::weights that is the
// query, from which the host computes the rest.
uint64_t watched_width(const Model& m, Stage stage, size_t layer);

// What one batch leaves of itself, in `to`: for each layer and in it for each stage in their order, rows
// [n_rows][watched_width] f32.
class Watch {
 public:
  Watch() = default;  // looks at nothing

  bool wants(size_t layer, Stage stage) const;
  // Where wanted, copies rows that `from` [n][row_width] has; row_width 0 is watched_width.
  void rows(Recorder& r, size_t layer, Stage stage, const Buffer& from, uint64_t row_width = 0) const;
  // Where wanted, calls f(y), which has to record what writes y [n][n_embd], and copies that.
  template <typename F>
  void made(Recorder& r, size_t layer, Stage stage, F f) const {
    if (!wants(layer, stage)) return;
    f(*scratch_);
    rows(r, layer, stage, *scratch_);
  }

 private:
  friend class Observer;
  size_t end_layer() const { return std::min<size_t>(what_->end_layer, model_->blocks.size()); }
  // Calls f(stage, layer, where its rows begin in `to`, in floats).
  template <typename F>
  void for_each(F f) const {
    uint64_t at = 0;
    for (size_t layer = what_->first_layer; layer < end_layer(); ++layer)
      for (const Stage stage : what_->stages) {
        const uint64_t width = watched_width(*model_, stage, layer);
        if (width != 0) f(stage, layer, at);
        at += n_rows_ * width;
      }
  }

  const Model* model_ = nullptr;
  const Observation* what_ = nullptr;
  uint32_t position_ = 0;   // of the first row that is copied
  uint32_t first_row_ = 0;  // which it is in the batch
  uint32_t n_rows_ = 0;
  Buffer* to_ = nullptr;
  Buffer* scratch_ = nullptr;  // [n][n_embd] f32
};

// Holds the memory of a session's Watches, which it allocates when it is first needed.
class Observer {
 public:
  Observer(Backend& backend, const Model& model, uint32_t max_batch)
      : backend_(backend), model_(model), max_batch_(max_batch) {}

  // Throws Error(usage) where a layer has no such stage, unless these are skipped.
  void check(const Observation& what) const;
  // Of a batch whose tokens see up to n_keys keys, so that what it leaves for the host stays small.
  uint32_t most_tokens(const Observation& what, uint32_t n_keys) const;
  // For n tokens at `position`. `what` has to outlive it.
  Watch watch(const Observation& what, uint32_t position, uint32_t n);
  // Hands out what a batch has left. Requires: it has run.
  void report(const Watch& watch, KvCache& cache);

 private:
  uint64_t bytes_a_token(const Observation& what) const;
  uint64_t most_weights(const Observation& what) const;

  Backend& backend_;
  const Model& model_;
  const uint32_t max_batch_;
  BufferPtr rows_, scratch_;
};

// Puts what is changed into the model. Throws Error(usage) for a layer, a head or a length that it has not.
void intervene(Model& m, Backend& backend, const Interventions& interventions);

}  // namespace bitnet
