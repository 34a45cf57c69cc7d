// A macro as a value. Thread rule: as value.h.
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
  std::weak_ptr<Scope>
      scope;  // where it was defined; a macro lives in a scope, so owning it would be a cycle
};

}  // namespace bitnet::jinja
