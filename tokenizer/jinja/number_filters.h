// Filters over numbers. find_filter (filters.cpp) lists all filters. The thread rule is that of builtins.h.
#pragma once

#include "builtins.h"

namespace bitnet::jinja {

Value abs_filter(Runtime& rt, const Value& v, const Args& args);
Value float_filter(Runtime& rt, const Value& v, const Args& args);
Value int_filter(Runtime& rt, const Value& v, const Args& args);
Value round_filter(Runtime& rt, const Value& v, const Args& args);

}  // namespace bitnet::jinja
