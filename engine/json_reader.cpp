#include "json_reader.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <string>
#include <unordered_set>
#include <vector>

#include "engine/error.h"

namespace bitnet {
namespace {

[[noreturn]] void refuse(const std::string& why) { throw Error(ErrorKind::runtime, why); }

// Counts brackets and commas outside of strings. In a text that is no JSON the counts mean nothing, but then
// the parser, whose stack is on the heap, stops at the fault.
void check_limits(std::string_view text, const JsonLimits& limits) {
  if (text.size() > limits.bytes)
    refuse(fmt::format("JSON of {} bytes, more than the {} that are read", text.size(), limits.bytes));
  size_t depth = 0;
  size_t values = 1;
  bool in_string = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      if (c == '\\') {
        ++i;
      } else if (c == '"') {
        in_string = false;
      }
      continue;
    }
    if (c == '"') {
      in_string = true;
    } else if (c == '[' || c == '{') {
      ++values;
      if (++depth > limits.depth)
        refuse(fmt::format("JSON nested more than {} levels deep, at byte {}", limits.depth, i + 1));
    } else if (c == ']' || c == '}') {
      if (depth > 0) --depth;
    } else if (c == ',') {
      ++values;
    }
  }
  if (values > limits.values) refuse(fmt::format("JSON of more than {} values", limits.values));
}

// Refuses an object that has a name twice, of which the parser keeps the last.
template <typename Json>
typename Json::parser_callback_t once() {
  using Event = typename Json::parse_event_t;
  return [open = std::vector<std::unordered_set<std::string>>()](int, Event event, Json& name) mutable {
    if (event == Event::object_start) open.emplace_back();
    if (event == Event::object_end) open.pop_back();
    if (event == Event::key && !open.back().insert(name.template get<std::string>()).second)
      refuse(fmt::format("an object that has \"{}\" twice", printable(name.template get<std::string>())));
    return true;
  };
}

template <typename Json>
Json read(std::string_view text, const JsonLimits& limits) {
  check_limits(text, limits);
  try {
    return Json::parse(text, limits.names_once ? once<Json>() : nullptr);
  } catch (const nlohmann::json::exception& error) {
    // The message begins with "[json.exception.parse_error.101] ", which no user needs.
    const std::string_view what = error.what();
    const size_t end = what.find("] ");
    refuse(fmt::format("not JSON: {}",
                       printable(end == std::string_view::npos ? what : what.substr(end + 2), 200)));
  }
}

}  // namespace

nlohmann::json read_json(std::string_view text, const JsonLimits& limits) {
  return read<nlohmann::json>(text, limits);
}

nlohmann::ordered_json read_ordered_json(std::string_view text, const JsonLimits& limits) {
  return read<nlohmann::ordered_json>(text, limits);
}

bool is_json(std::string_view text, const JsonLimits& limits) {
  try {
    check_limits(text, limits);
  } catch (const Error&) {
    return false;
  }
  return nlohmann::json::accept(text);
}

}  // namespace bitnet
