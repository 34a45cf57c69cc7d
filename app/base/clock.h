// The time of day, as it is stored and as people read it. Thread rule: free functions; any thread.
#pragma once

#include <cstdint>
#include <string>

namespace bitnet {

int64_t now_milliseconds();                    // since 1970
std::string local_time(int64_t milliseconds);  // "2026-11-21 14:05"

}  // namespace bitnet
