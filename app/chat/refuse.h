// How a command says no. Thread rule: free function; any thread.
#pragma once

#include <string>

#include "engine/error.h"

namespace bitnet {

// Throws Error(usage): the person can do something about it, and `why` says what.
[[noreturn]] inline void refuse(const std::string& why) { throw Error(ErrorKind::usage, why); }

}  // namespace bitnet
