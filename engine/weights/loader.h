// Puts the weights of a model on a device, in the layouts that its kernels know.
//
// Thread rule: as the Backend; rows are repacked on threads of its own.
//
// Errors: Error(model) where codes or scales are none, Error(runtime) where on_progress returns false.
#pragma once

#include <functional>

#include "engine/model/model.h"
#include "engine/weight_reader.h"

namespace bitnet {

// What the model takes, with a session of n_ctx tokens (0: usual_context()). The pieces point to tensors of
// `file`.
MemoryPlan plan_memory(const ModelFile& file, uint32_t n_ctx);

// Where weights go. If `may_move`, what the device has no room for goes to host memory after all, and
// `placement` says so afterwards.
struct WeightHomes {
  Placement& placement;
  bool may_move = false;
  // Of what stays in the file, and the places into which it reads; it begins later. Null where nothing does.
  WeightReader* reader = nullptr;
  std::span<const BufferPtr> places = {};
  // What is loaded here stays in the file, and is loaded again for each use: packing is worth less then.
  bool read_again = false;
};

// `on_progress` as in EngineOptions. What stays in the file is looked at once, and read again by the reader,
// which calls `backend` for its layouts on its threads.
Model load_model(const ModelFile& file, Backend& backend, I2sLayout layout, WeightHomes homes,
                 const std::function<bool(uint64_t, uint64_t)>& on_progress);

}  // namespace bitnet
