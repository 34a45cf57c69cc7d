// The exit codes of the program.
//
// Thread rule: free functions; any thread.
#pragma once

#include <string_view>

#include "engine/error.h"

namespace bitnet {

// 1 runtime, 2 usage, 3 mismatch, 4 model, 5 device, 6 database: app/README.md explains each.
int exit_code_of(ErrorKind kind);

// The exit code after an answer that ended for this reason (ShownMessage::finish): 0 if nothing went wrong.
int exit_code_of(std::string_view finish);

}  // namespace bitnet
