// What `loop` is inside a for loop. Thread rule: as value.h.
#pragma once

#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "value.h"

namespace bitnet::jinja {

// Items that the loop's own condition rejects are skipped when they come up, not
// before: the condition may read a namespace that the body changes.
struct LoopObject : Object {
  std::vector<Value> items;
  size_t next = 0;
  std::function<bool(const Value&)> keep;      // the condition, or empty; gone once the loop has ended
  std::function<Value(const Value&)> recurse;  // loop(...) of a recursive loop; gone once it has ended
  std::optional<Value> ahead;                  // an item that loop.last or loop.nextitem looked at
  Value current, before;
  std::optional<std::vector<Value>> last_changed;
  int64_t index0 = -1;
  int64_t depth0 = 0;

  bool advance();  // to the next item; false at the end
  bool peek();
  int64_t length();
  std::optional<Value> attribute(std::string_view name);
};

}  // namespace bitnet::jinja
