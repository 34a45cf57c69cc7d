// The evaluator: a syntax tree and its variables to text. Thread rule: one render, one thread.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "ast.h"
#include "builtins.h"

namespace bitnet::jinja {

struct Scope;

// `loop` inside a for loop. Items that the loop's own condition rejects are skipped when they come up, not
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

struct MacroObject : Object {
  std::string name;
  const Stmt* definition;  // in the tree, which outlives the render
  std::weak_ptr<Scope>
      scope;  // where it was defined; a macro lives in a scope, so owning it would be a cycle
};

using Variables = std::vector<std::pair<std::string, Value>>;

// Throws Error: runtime for what the template raises or gets wrong, model past a limit.
Text render(const Block& tree, const Variables& variables, const std::string& name, int64_t now);

}  // namespace bitnet::jinja
