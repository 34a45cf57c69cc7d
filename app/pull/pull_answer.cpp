#include "pull_answer.h"

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>

#include "engine/error.h"
#include "engine/json_reader.h"
#include "engine/lower.h"

namespace bitnet {
namespace {

using nlohmann::json;

// A member of an object if it is a text; otherwise empty.
std::string_view text_of(const json& object, const char* name) {
  const auto found = object.find(name);
  if (found == object.end() || !found->is_string()) return {};
  return found->get_ref<const std::string&>();
}

}  // namespace

std::vector<HubFile> read_hub_listing(std::string_view body) {
  const json list = read_json(body);
  if (!list.is_array()) throw Error(ErrorKind::runtime, "wanted a JSON list of files, found something else");
  std::vector<HubFile> files;
  for (const json& entry : list) {
    if (!entry.is_object() || text_of(entry, "type") != "file" || text_of(entry, "path").empty()) continue;
    HubFile& file = files.emplace_back();
    file.path = text_of(entry, "path");
    if (const auto size = entry.find("size"); size != entry.end() && size->is_number_unsigned())
      file.size = size->get<uint64_t>();
    if (const auto lfs = entry.find("lfs"); lfs != entry.end() && lfs->is_object())
      file.sha256 = read_sha256(text_of(*lfs, "oid"));
  }
  return files;
}

std::optional<uint64_t> read_whole_number(std::string_view text) {
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<ContentRange> read_content_range(std::string_view text) {
  if (!text.starts_with("bytes ")) return std::nullopt;
  text.remove_prefix(6);
  const size_t dash = text.find('-');
  const size_t slash = text.find('/');
  if (dash == std::string_view::npos || slash == std::string_view::npos || dash > slash) return std::nullopt;
  const auto begin = read_whole_number(text.substr(0, dash));
  const std::string_view whole = text.substr(slash + 1);
  const auto size = whole == "*" ? std::optional<uint64_t>(0) : read_whole_number(whole);
  if (!begin || !size) return std::nullopt;
  return ContentRange{*begin, *size};
}

std::string read_sha256(std::string_view text) {
  if (text.size() >= 2 && text.front() == '"' && text.back() == '"') text = text.substr(1, text.size() - 2);
  if (text.size() != 64) return {};
  const std::string digits = lower(text);
  return digits.find_first_not_of("0123456789abcdef") == std::string::npos ? digits : std::string();
}

}  // namespace bitnet
