// What 'bitnet-chat bench' measures.
//
// Thread rule: free functions; main's thread.
#pragma once

#include <nlohmann/json.hpp>

#include "options.h"
#include "running_model.h"

namespace bitnet {

// Tokens of context that the bench needs. Throws Error(usage) if the model was not trained for so many.
uint32_t bench_context(const Options& options);

// Measures, and says it as --json does.
nlohmann::ordered_json bench_report(const Options& options, const RunningModel& model, uint32_t n_ctx);

}  // namespace bitnet
