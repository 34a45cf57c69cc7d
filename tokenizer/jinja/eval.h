// Turns a syntax tree and variables into text. Thread rule: any number of threads may render the same tree.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "ast.h"
#include "tokenizer/jinja/template.h"

namespace bitnet::jinja {

using Variables = std::vector<std::pair<std::string, Value>>;

// Throws Error(runtime) if the template calls raise_exception or makes an error, Error(model) if it passes a
// limit. `name` is the template's name in messages. `now` is the Unix time that strftime_now formats; -1 is
// the clock.
Text render(const Block& tree, const Variables& variables, const std::string& name, int64_t now,
            const Limits& limits);

}  // namespace bitnet::jinja
