// What commands that record share: where the file may be, and how its end tells of theirs.
//
// Thread rule: free functions; main's thread.
#pragma once

#include <functional>

#include "app/base/exit_code.h"
#include "app/base/output_file.h"
#include "app/chat/front_end.h"
#include "app/cli/options.h"
#include "engine/error.h"

namespace bitnet {

// Returns where the files may be that the command line names: anywhere, because the person chose them.
inline WriteRules named_rules(const Options& options) { return {.overwrite = options.force}; }

// Ends the recording with the exit code that `run` returns, or with that of the error it throws.
inline int with_recording(FrontEnd& front, const std::function<int()>& run) {
  try {
    const int code = run();
    front.end_recording(code);
    return code;
  } catch (const Error& error) {
    front.end_recording(exit_code_of(error.kind()));
    throw;
  }
}

}  // namespace bitnet
