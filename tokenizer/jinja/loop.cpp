#include "loop.h"

#include <utility>

#include "budget.h"

namespace bitnet::jinja {

bool LoopObject::keeps(const Value& item) {
  asking_ = true;
  struct Asked {
    bool& asking;
    ~Asked() { asking = false; }
  } const asked{asking_};
  return keep(item);
}

void LoopObject::fail_if_asking() const {
  if (asking_) fail("the condition of a loop asks for the items of that loop");
}

bool LoopObject::peek() {
  fail_if_asking();
  while (!ahead && next < items.size()) {
    Value item = items[next++];
    if (!keep || keeps(item)) ahead = std::move(item);
  }
  return ahead.has_value();
}

bool LoopObject::advance() {
  if (!peek()) return false;
  ++index0;
  before = std::move(current);
  current = std::move(*ahead);
  ahead.reset();
  return true;
}

int64_t LoopObject::length() {
  fail_if_asking();
  if (keep) {  // the condition is asked about all items that are left, and never again
    std::vector<Value> kept(items.begin(), items.begin());
    if (ahead) kept.push_back(*std::exchange(ahead, std::nullopt));
    for (; next < items.size(); ++next) {
      if (keeps(items[next])) kept.push_back(items[next]);
    }
    items.assign(static_cast<size_t>(index0 + 1), Value());  // stand for the items that have passed
    next = items.size();
    items.insert(items.end(), kept.begin(), kept.end());
    keep = nullptr;
  }
  return static_cast<int64_t>(items.size());
}

std::optional<Value> LoopObject::attribute(std::string_view name) {
  if (name == "index") return Value::integer(index0 + 1);
  if (name == "index0") return Value::integer(index0);
  if (name == "first") return Value::boolean(index0 == 0);
  if (name == "last") return Value::boolean(!peek());
  if (name == "length") return Value::integer(length());
  if (name == "revindex") return Value::integer(length() - index0);
  if (name == "revindex0") return Value::integer(length() - index0 - 1);
  if (name == "depth") return Value::integer(depth0 + 1);
  if (name == "depth0") return Value::integer(depth0);
  if (name == "previtem") return index0 == 0 ? Value::undefined("there is no previous item") : before;
  if (name == "nextitem") return peek() ? *ahead : Value::undefined("there is no next item");
  return std::nullopt;
}

}  // namespace bitnet::jinja
