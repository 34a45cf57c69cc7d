#include "fields.h"

#include <fmt/format.h>

#include <cmath>

namespace bitnet::hub {

void fail(const std::string& path, const std::string& problem) {
  throw Error(ErrorKind::model, fmt::format("{}: {}", printable(path), problem));
}

json parse(std::string_view text, const JsonLimits& limits, const std::string& path) {
  try {
    return read_json(text, limits);
  } catch (const Error& error) {
    fail(path, fmt::format("wanted JSON, got {}", error.what()));
  }
}

std::string shown(const json& value) {
  if (value.is_array()) return fmt::format("a list of {}", value.size());
  if (value.is_object()) return "an object";
  return printable(value.dump(-1, ' ', false, json::error_handler_t::replace), 60);
}

Fields::Fields(const json& object, std::string path, std::string within)
    : object_(&object), path_(std::move(path)), within_(std::move(within)) {
  if (object.is_object()) return;
  const size_t end = within_.find_last_not_of(".: ");  // npos + 1 is 0
  hub::fail(path_, fmt::format("{}{}wanted an object, got {}", within_.substr(0, end + 1),
                               end == std::string::npos ? "" : ": ", shown(object)));
}

void Fields::fail(std::string_view name, const std::string& problem) const {
  hub::fail(path_, fmt::format("{}{}: {}", printable(within_), printable(name), problem));
}

const json* Fields::find(const char* name) const {
  const auto found = object_->find(name);
  return found == object_->end() || found->is_null() ? nullptr : &*found;
}

std::optional<uint32_t> Fields::find_whole(const char* name) const {
  const json* value = find(name);
  if (!value) return std::nullopt;
  if (!value->is_number_unsigned() || value->get<uint64_t>() > UINT32_MAX)
    fail(name, fmt::format("wanted a number of 0 to 2^32 - 1, got {}", shown(*value)));
  return static_cast<uint32_t>(value->get<uint64_t>());
}

std::optional<float> Fields::find_real(const char* name) const {
  const json* value = find(name);
  if (!value) return std::nullopt;
  if (!value->is_number() || !std::isfinite(value->get<float>()))
    fail(name, fmt::format("wanted a number, got {}", shown(*value)));
  return value->get<float>();
}

std::optional<bool> Fields::find_flag(const char* name) const {
  const json* value = find(name);
  if (!value) return std::nullopt;
  if (!value->is_boolean()) fail(name, fmt::format("wanted true or false, got {}", shown(*value)));
  return value->get<bool>();
}

std::optional<std::string> Fields::find_text(const char* name) const {
  const json* value = find(name);
  if (!value) return std::nullopt;
  if (!value->is_string()) fail(name, fmt::format("wanted a text, got {}", shown(*value)));
  return value->get<std::string>();
}

std::optional<Fields> Fields::find_object(const char* name) const {
  const json* value = find(name);
  if (!value) return std::nullopt;
  return Fields(*value, path_, within_ + name + ".");
}

std::vector<Fields> Fields::find_objects(const char* name) const {
  const json* value = find(name);
  if (!value) return {};
  if (!value->is_array()) fail(name, fmt::format("wanted a list, got {}", shown(*value)));
  std::vector<Fields> objects;
  for (size_t i = 0; i < value->size(); ++i)
    objects.emplace_back((*value)[i], path_, fmt::format("{}{}[{}].", within_, name, i));
  return objects;
}

const json& Fields::get(const char* name) const {
  const json* value = find(name);
  if (!value) fail(name, "wanted it, got a file without it");
  return *value;
}

uint32_t Fields::get_whole(const char* name) const {
  get(name);
  return *find_whole(name);
}

float Fields::get_real(const char* name) const {
  get(name);
  return *find_real(name);
}

std::string Fields::get_text(const char* name) const {
  get(name);
  return *find_text(name);
}

}  // namespace bitnet::hub
