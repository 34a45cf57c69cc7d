// Puts the weights of a model on a device, in the layouts that its kernels know.
//
// Thread rule: as the Backend; rows are repacked on threads of its own.
//
// Errors: Error(model) where codes or scales are none, Error(runtime) where on_progress returns false.
#pragma once

#include <functional>

#include "engine/model/model.h"

namespace bitnet {

// What the model takes, with a session of n_ctx tokens (0: usual_context()). The pieces point to tensors of
// `file`.
MemoryPlan plan_memory(const ModelFile& file, uint32_t n_ctx);

// `on_progress` as in EngineOptions.
Model load_model(const ModelFile& file, Backend& backend, I2sLayout layout,
                 const std::function<bool(uint64_t, uint64_t)>& on_progress);

}  // namespace bitnet
