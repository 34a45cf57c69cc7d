// The time of day, as it is stored and as people read it, and how long something took.
//
// Thread rule: free functions; any thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace bitnet {

int64_t now_milliseconds();                    // since 1970
std::string local_time(int64_t milliseconds);  // "2026-11-21 14:05"
int64_t utc_offset(int64_t milliseconds);      // seconds that the local clock is ahead of UTC then

double seconds_since(std::chrono::steady_clock::time_point start);

}  // namespace bitnet
