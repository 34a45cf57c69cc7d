// Operators, methods, filters, tests and functions of the template language.
//
// Thread rule: free functions over the values of one render. Each throws Fault for a type error, in Python's
// words where there are such, and asks the Budget before work whose size the template chooses.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "value.h"

namespace bitnet::jinja {

struct Runtime {
  Budget budget;
  int64_t now;  // Unix time for strftime_now
};

struct Args {
  std::vector<Value> positional;
  std::vector<std::pair<std::string, Value>> named;
};

// Arguments by the names of the parameters; fails for one too many or of a name that is not there.
class Bound {
 public:
  Bound(const Args& args, std::string_view callee, std::initializer_list<const char*> names);
  const Value* operator[](size_t i) const { return values_[i]; }  // null where not given
  const Value& need(size_t i) const;
  int64_t integer(size_t i, int64_t fallback) const;
  bool flag(size_t i, bool fallback) const { return values_[i] ? truthy(*values_[i]) : fallback; }
  const Text& text(size_t i) const;           // fails where it is no string
  const Text* optional_text(size_t i) const;  // null where not given or none

 private:
  std::string callee_;
  std::vector<const char*> names_;
  std::vector<const Value*> values_;
};

using Filter = Value (*)(Runtime&, const Value& subject, const Args&);
using Test = bool (*)(Runtime&, const Value& subject, const Args&);

Filter find_filter(std::string_view name);  // null where there is none
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
// A bound that was not written is null.
Value slice(const Value& subject, const Value* start, const Value* stop, const Value* step, Budget& budget);
Value make_range(int64_t start, int64_t stop, int64_t step);

Text to_json(Runtime& rt, const Value& v, const Args& options);

}  // namespace bitnet::jinja
