// What the program ends with. Thread rule: free functions; any thread.
#pragma once

#include <string_view>

#include "engine/error.h"

namespace bitnet {

// 1 runtime, 2 usage, 3 mismatch, 4 model, 5 device, 6 database: app/README.md says what each is.
int exit_code_of(ErrorKind kind);

// Of an answer that ended for this reason (ShownMessage::finish): 0 where nothing went wrong.
int exit_code_of(std::string_view finish);

}  // namespace bitnet
