// The command `replay`: a stored conversation is drawn again as it came, or proved to be what the model says.
//
// Thread rule: a free function; main's thread.
#pragma once

#include "app/base/output.h"
#include "app/cli/options.h"
#include "app/store/store.h"

namespace bitnet {

// Returns the exit code; throws Error.
int run_replay(const Options& options, Store& store, Output& out, Output& err);

}  // namespace bitnet
