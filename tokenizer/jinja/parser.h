// Parses a template. Thread rule: this is a pure function.
#pragma once

#include <string>
#include <string_view>

#include "ast.h"

namespace bitnet::jinja {

// Throws Error(model) with line and column for what does not parse and for an unknown statement. It also
// throws for an unknown filter or test, unless that stands inside an if: there jinja2, too, looks it up only
// when it is used. The tree is at most Budget::kMaxSyntaxDepth deep, so walking and freeing it cannot exhaust
// the stack.
Block parse(std::string_view source, const std::string& name);

}  // namespace bitnet::jinja
