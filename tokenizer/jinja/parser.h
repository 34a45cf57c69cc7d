// Tokens to a syntax tree. Thread rule: a pure function.
#pragma once

#include <string>
#include <string_view>

#include "ast.h"

namespace bitnet::jinja {

// Throws Error(model) with line and column for what does not parse, for a statement that is not known and,
// outside an if (where jinja2 too looks only when it gets there), for a filter or test that is not known.
// The tree is at most Budget::kMaxSyntaxDepth deep, so walking and freeing it cannot exhaust the stack.
Block parse(std::string_view source, const std::string& name);

}  // namespace bitnet::jinja
