// How the end of a recording tells of the end of what is recorded.
//
// Thread rule: free functions; main's thread.
#pragma once

#include <functional>

#include "app/base/exit_code.h"
#include "app/chat/front_end.h"
#include "engine/error.h"

namespace bitnet {

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
