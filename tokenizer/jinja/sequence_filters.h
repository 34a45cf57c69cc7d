// Filters over sequences. find_filter (filters.cpp) lists all filters. The thread rule is that of builtins.h.
#pragma once

#include "builtins.h"

namespace bitnet::jinja {

Value batch_filter(Runtime& rt, const Value& v, const Args& args);
Value dictsort_filter(Runtime& rt, const Value& v, const Args& args);
Value first_filter(Runtime& rt, const Value& v, const Args& args);
Value items_filter(Runtime& rt, const Value& v, const Args& args);
Value join_filter(Runtime& rt, const Value& v, const Args& args);
Value last_filter(Runtime& rt, const Value& v, const Args& args);
Value length_filter(Runtime& rt, const Value& v, const Args& args);
Value list_filter(Runtime& rt, const Value& v, const Args& args);
Value map_filter(Runtime& rt, const Value& v, const Args& args);
Value max_filter(Runtime& rt, const Value& v, const Args& args);
Value min_filter(Runtime& rt, const Value& v, const Args& args);
Value reject_filter(Runtime& rt, const Value& v, const Args& args);
Value rejectattr_filter(Runtime& rt, const Value& v, const Args& args);
Value reverse_filter(Runtime& rt, const Value& v, const Args& args);
Value select_filter(Runtime& rt, const Value& v, const Args& args);
Value selectattr_filter(Runtime& rt, const Value& v, const Args& args);
Value slice_filter(Runtime& rt, const Value& v, const Args& args);
Value sort_filter(Runtime& rt, const Value& v, const Args& args);
Value sum_filter(Runtime& rt, const Value& v, const Args& args);
Value unique_filter(Runtime& rt, const Value& v, const Args& args);

}  // namespace bitnet::jinja
