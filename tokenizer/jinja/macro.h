// A macro as a value. The thread rule is that of value.h.
#pragma once

#include <memory>
#include <string>

#include "value.h"

namespace bitnet::jinja {

struct Scope;
struct Stmt;

struct MacroObject : Object {
  std::string name;
  const Stmt* definition;  // in the tree, which outlives the render
  // The scope in which it was defined. That scope may own the macro, so owning it here would make a cycle.
  std::weak_ptr<Scope> scope;
};

}  // namespace bitnet::jinja
