// JSON that somebody else wrote, read within bounds: an import, what is stored, a hub's answer, standard
// input.
//
// Thread rule: free functions; any thread.
#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <string_view>

namespace bitnet {

// The bounds are checked before anything is parsed.
struct JsonLimits {
  size_t bytes = size_t{16} << 20;
  size_t depth = 64;  // lists and objects within each other; copying a value calls itself so often
  size_t values = size_t{16} << 20;  // each takes some 50 bytes of memory where the text has two
};

// Throws Error(runtime) that says which bound was passed, or where the text is no JSON.
nlohmann::json read_json(std::string_view text, const JsonLimits& limits = {});
nlohmann::ordered_json read_ordered_json(std::string_view text, const JsonLimits& limits = {});

// Whether read_json would give a value.
bool is_json(std::string_view text, const JsonLimits& limits = {});

}  // namespace bitnet
