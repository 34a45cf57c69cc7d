// The value of `loop` inside a for loop. The thread rule is that of value.h.
#pragma once

#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "value.h"

namespace bitnet::jinja {

// The condition of {% for x in items if condition %} may read a namespace that the body changes. It is
// therefore asked as late as it can be: when an item's turn comes, or when the body wants loop.last,
// loop.nextitem or loop.length. While it is asked it cannot want one of these itself, which fails here as in
// jinja2.
struct LoopObject : Object {
  std::vector<Value> items;
  size_t next = 0;
  std::function<bool(const Value&)> keep;      // the condition, or empty; the end of the loop clears it
  std::function<Value(const Value&)> recurse;  // loop(...) of a recursive loop; the end of the loop clears it
  std::optional<Value> ahead;                  // the next item, if loop.last or loop.nextitem had to look
  Value current, before;
  std::optional<std::vector<Value>> last_changed;
  int64_t index0 = -1;
  int64_t depth0 = 0;

  bool advance();  // goes to the next item; false at the end
  bool peek();     // fills `ahead`; false at the end
  int64_t length();
  std::optional<Value> attribute(std::string_view name);  // loop.index and so on; nothing if there is none

 private:
  bool keeps(const Value& item);  // asks the condition; requires that there is one
  void fail_if_asking() const;

  bool asking_ = false;
};

}  // namespace bitnet::jinja
