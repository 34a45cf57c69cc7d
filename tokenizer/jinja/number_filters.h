// Filters over numbers; find_filter lists them all. Thread rule: as builtins.h.
#pragma once

#include "builtins.h"

namespace bitnet::jinja {

Value abs_filter(Runtime& rt, const Value& v, const Args& args);
Value float_filter(Runtime& rt, const Value& v, const Args& args);
Value int_filter(Runtime& rt, const Value& v, const Args& args);
Value round_filter(Runtime& rt, const Value& v, const Args& args);

}  // namespace bitnet::jinja
