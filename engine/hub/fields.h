// JSON files of a folder, and typed access to the objects in them.
//
// Thread rule: values; a Fields looks into the JSON that it was made of.
//
// Every fault is an Error(model) that names the file and the field, what was wanted and what was found.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/json_reader.h"
#include "engine/mapped_file.h"

namespace bitnet::hub {

using nlohmann::json;

[[noreturn]] void fail(const std::string& path, const std::string& problem);  // both as they are

// The value of a whole text. `path` is for messages.
json parse(std::string_view text, const JsonLimits& limits, const std::string& path);
inline std::string_view text_of(const MappedFile& file) {
  return {reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size()};
}

class Fields {
 public:
  // `within` is the place of the object in the file, with a dot at its end, or nothing. Throws where `object`
  // is none.
  Fields(const json& object, std::string path, std::string within = "");

  // Null where it is absent or null.
  const json* find(const char* name) const;
  std::optional<uint32_t> find_whole(const char* name) const;
  std::optional<float> find_real(const char* name) const;  // finite
  std::optional<bool> find_flag(const char* name) const;
  std::optional<std::string> find_text(const char* name) const;
  std::optional<Fields> find_object(const char* name) const;
  std::vector<Fields> find_objects(const char* name) const;  // a list of objects; empty where absent
  const json& get(const char* name) const;
  uint32_t get_whole(const char* name) const;
  float get_real(const char* name) const;
  std::string get_text(const char* name) const;

  [[noreturn]] void fail(std::string_view name, const std::string& problem) const;
  const std::string& path() const { return path_; }

 private:
  const json* object_;
  std::string path_, within_;
};

// A value for a message, short and in one line.
std::string shown(const json& value);

}  // namespace bitnet::hub
