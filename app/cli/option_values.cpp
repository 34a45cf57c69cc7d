#include "option_values.h"

#include "engine/error.h"
#include "option_table.h"

namespace bitnet {

void refuse_value(const char* name, std::string_view wanted, std::string_view found) {
  throw Error(ErrorKind::usage, fmt::format("{}: wanted {}, found '{}'", name, wanted, printable(found, 40)));
}

uint32_t count_value(const char* name, std::string_view text, uint32_t low, uint32_t high) {
  return number_value<uint32_t>(name, text, low, high);
}

bool on_or_off(const char* name, std::string_view text) {
  if (text == "on" || text == "true" || text == "yes" || text == "1") return true;
  if (text == "off" || text == "false" || text == "no" || text == "0") return false;
  refuse_value(name, "on or off", text);
}

std::string one_of(const char* name, std::string_view text, const char* words) {
  std::string list;
  for (const std::string& word : split_words(words)) {
    if (word == text) return word;
    list += (list.empty() ? "" : ", ") + word;
  }
  refuse_value(name, "one of " + list, text);
}

std::string not_empty(const char* name, std::string_view text) {
  if (text.empty()) refuse_value(name, "something", text);
  return std::string(text);
}

int64_t conversation_id(std::string_view text) { return number_value<int64_t>("ID", text, 1, INT64_MAX); }

std::vector<int32_t> token_ids(std::string_view list) {
  std::vector<int32_t> ids;
  const char* at = list.data();
  const char* end = at + list.size();
  while (true) {
    int32_t id = 0;
    const auto [next, error] = std::from_chars(at, end, id);
    if (error != std::errc() || id < 0 || (next != end && *next != ',')) {
      refuse_value("tokens", "ids with commas between, such as 1,2,3", list);
    }
    ids.push_back(id);
    if (next == end) return ids;
    at = next + 1;
  }
}

}  // namespace bitnet
