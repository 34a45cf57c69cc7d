// Reads JSON that somebody else wrote, within bounds: a model's folder, an import, a stored setting, a hub's
// answer, standard input.
//
// Thread rule: free functions; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string_view>

namespace bitnet {

// These bounds are checked before anything is parsed.
struct JsonLimits {
  size_t bytes = size_t{16} << 20;
  size_t depth = 64;                 // lists and objects within each other; copying a value recurses as deep
  size_t values = size_t{16} << 20;  // a value may take 50 bytes of memory for two bytes of text
  size_t names = SIZE_MAX;           // of one object
  // Whether an object that has a name twice is refused. Otherwise the last one counts.
  bool names_once = false;
};

// Throws Error(runtime) that says which bound was passed, or at which place the text is no JSON.
nlohmann::json read_json(std::string_view text, const JsonLimits& limits = {});
// As read_json, and names stay in their order. Each name of an object is looked for among all names before
// it, so what a stranger wrote needs a small limit of `names`.
nlohmann::ordered_json read_ordered_json(std::string_view text, const JsonLimits& limits = {});

// Whether read_json would return a value.
bool is_json(std::string_view text, const JsonLimits& limits = {});

}  // namespace bitnet
