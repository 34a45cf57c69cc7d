// The evaluator: a syntax tree and its variables to text. Thread rule: one render, one thread.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "ast.h"

namespace bitnet::jinja {

using Variables = std::vector<std::pair<std::string, Value>>;

// Throws Error: runtime for what the template raises or gets wrong, model past a limit. `name` is the
// template's, for messages; `now` is what strftime_now takes, -1 for the clock.
Text render(const Block& tree, const Variables& variables, const std::string& name, int64_t now);

}  // namespace bitnet::jinja
