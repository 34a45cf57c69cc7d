// Small conversions that the files of the store share. Thread rule: free functions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "front_end.h"

namespace bitnet {

int64_t now_milliseconds();                    // since 1970
std::string local_time(int64_t milliseconds);  // "2026-11-21 14:05"
Role role_of(std::string_view name);           // user where the name is not known

}  // namespace bitnet
