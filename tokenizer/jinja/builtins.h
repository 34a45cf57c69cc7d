// Operators, methods, filters, tests and functions of the template language.
//
// Each throws Fault for a type error, in Python's words where Python has such an error, and asks the Budget
// before work whose size the template chooses.
//
// Thread rule: these are free functions; their arguments belong to one render.
#pragma once

#include <string>
#include <string_view>

#include "arguments.h"
#include "value.h"

namespace bitnet::jinja {

struct Runtime {
  Budget budget;
  int64_t now;  // Unix time for strftime_now
};

using Filter = Value (*)(Runtime&, const Value& subject, const Args&);
using Test = bool (*)(Runtime&, const Value& subject, const Args&);

Filter find_filter(std::string_view name);  // null if there is none
Test find_test(std::string_view name);
std::string unknown(std::string_view what, std::string_view name);  // "unknown filter 'x'"

bool has_function(std::string_view name);  // range, namespace, dict, ...
Value call_function(Runtime& rt, std::string_view name, const Args& args);
bool has_method(const Value& self, std::string_view name);
Value call_method(Runtime& rt, const Value& self, std::string_view name, const Args& args);

Value binary(std::string_view op, const Value& a, const Value& b, Budget& budget);  // arithmetic
Value negate(const Value& v);
bool contains(const Value& container, const Value& item, Budget& budget);  // item in container
Value subscript(const Value& subject, const Value& key, Budget& budget);
Value attribute(const Value& subject, std::string_view name, Budget& budget);
// A bound is null if the template does not write it, as in x[:2].
Value slice(const Value& subject, const Value* start, const Value* stop, const Value* step, Budget& budget);
Value make_range(int64_t start, int64_t stop, int64_t step);
std::string subject_name(const Value& v);  // how messages call it: "dict object", "None"

Text to_json(Runtime& rt, const Value& v, const Args& options);

}  // namespace bitnet::jinja
