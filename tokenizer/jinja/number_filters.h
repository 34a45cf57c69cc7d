// Filters over numbers. find_filter (filters.cpp) lists all filters. The thread rule is that of builtins.h.
#pragma once

#include "builtins.h"

namespace bitnet::jinja {

// What it costs to print a number with so many decimals: past what a double holds, hundreds of digits.
inline size_t steps_of_digits(double d, int64_t decimals) {
  return decimals > 17 || d > 1e17 || d < -1e17 ? 1000 : 50;
}

Value abs_filter(Runtime& rt, const Value& v, const Args& args);
Value float_filter(Runtime& rt, const Value& v, const Args& args);
Value int_filter(Runtime& rt, const Value& v, const Args& args);
Value round_filter(Runtime& rt, const Value& v, const Args& args);

}  // namespace bitnet::jinja
