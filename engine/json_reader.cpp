#include "json_reader.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "engine/error.h"

namespace bitnet {
namespace {

[[noreturn]] void refuse(const std::string& why) { throw Error(ErrorKind::runtime, why); }

// Counts brackets and commas outside of strings, and refuses a NUL byte there, at which the parser would end
// as if the text did. In a text that is no JSON the counts mean nothing, but then the parser, whose stack is
// on the heap, stops at the fault.
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
    } else if (c == '\0') {
      refuse(fmt::format("not JSON: a NUL byte, at byte {}", i + 1));
    }
  }
  if (values > limits.values) refuse(fmt::format("JSON of more than {} values", limits.values));
}

// Refuses an object that has a name twice, of which the parser keeps the last, or more names than it may. A
// callback of the parser would be told of names too, but with one the parser looks through the whole parent
// after each object that ends.
struct NameChecks final : nlohmann::json_sax<nlohmann::json> {
  struct Object {
    size_t names = 0;
    std::set<std::string> found;  // empty where a name may stand twice
  };
  explicit NameChecks(const JsonLimits& wanted) : limits(wanted) {}

  const JsonLimits& limits;
  std::vector<Object> open;

  bool start_object(size_t) override {
    open.emplace_back();
    return true;
  }
  bool end_object() override {
    open.pop_back();
    return true;
  }
  bool key(string_t& name) override {
    if (++open.back().names > limits.names)
      refuse(fmt::format("a JSON object of more than {} names", limits.names));
    if (!limits.names_once) return true;
    const auto [at, is_new] = open.back().found.insert(std::move(name));
    if (!is_new) refuse(fmt::format("an object that has \"{}\" twice", printable(*at)));
    return true;
  }
  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t) override { return true; }
  bool number_unsigned(number_unsigned_t) override { return true; }
  bool number_float(number_float_t, const string_t&) override { return true; }
  bool string(string_t&) override { return true; }
  bool binary(binary_t&) override { return true; }
  bool start_array(size_t) override { return true; }
  bool end_array() override { return true; }
  bool parse_error(size_t, const std::string&, const nlohmann::json::exception&) override { return false; }
};

void check_names(std::string_view text, const JsonLimits& limits) {
  NameChecks checks(limits);
  // A text at which this stops is no JSON, which the parser says better.
  if (limits.names_once || limits.names < limits.values) nlohmann::json::sax_parse(text, &checks);
}

template <typename Json>
Json read(std::string_view text, const JsonLimits& limits) {
  check_limits(text, limits);
  check_names(text, limits);
  try {
    return Json::parse(text);
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
    check_names(text, limits);
  } catch (const Error&) {
    return false;
  }
  return nlohmann::json::accept(text);
}

}  // namespace bitnet
