// The arguments of a call, and what parameters they are for. Thread rule: as value.h.
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

}  // namespace bitnet::jinja
