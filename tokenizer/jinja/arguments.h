// The arguments of a call, and how they are matched with parameters. The thread rule is that of value.h.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "value.h"

namespace bitnet::jinja {

struct Args {
  std::vector<Value> positional;
  std::vector<std::pair<std::string, Value>> named;
};

// Looks arguments up by parameter. The constructor fails if there are too many arguments or if one names no
// parameter; `names` lists the parameters in order. It refers to `args`, which must outlive it.
class Bound {
 public:
  Bound(const Args& args, std::string_view callee, std::initializer_list<const char*> names);
  const Value* operator[](size_t i) const { return values_[i]; }  // null if not given
  const Value& need(size_t i) const;
  int64_t integer(size_t i, int64_t fallback) const;
  bool flag(size_t i, bool fallback) const { return values_[i] ? truthy(*values_[i]) : fallback; }
  const Text& text(size_t i) const;           // fails if it is not a string
  const Text* optional_text(size_t i) const;  // null if not given or None

 private:
  std::string callee_;
  std::vector<const char*> names_;
  std::vector<const Value*> values_;
};

}  // namespace bitnet::jinja
