#include "option_values.h"

#include <cmath>
#include <optional>

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

namespace {

// A number with a unit behind it, or nothing where the text is no such thing.
std::optional<uint64_t> size_of(std::string_view text) {
  constexpr std::string_view kUnits = "KMGT";
  double number = 0;
  const char* end = text.data() + text.size();
  const auto [unit, error] = std::from_chars(text.data(), end, number, std::chars_format::fixed);
  if (error != std::errc() || unit + 1 != end) return std::nullopt;
  const size_t power = kUnits.find(static_cast<char>(*unit & ~0x20));
  if (power == std::string_view::npos) return std::nullopt;
  const double bytes = std::ldexp(number, 10 * (static_cast<int>(power) + 1));
  constexpr double kMost = uint64_t{1} << 50;
  if (!(bytes >= 1 && bytes <= kMost)) return std::nullopt;
  return static_cast<uint64_t>(bytes);
}

}  // namespace

uint64_t size_value(const char* name, std::string_view text) {
  const auto size = size_of(text);
  if (!size) refuse_value(name, "a size such as 512M or 1.5G", text);
  return *size;
}

VramBudget vram_value(const char* name, std::string_view text) {
  if (text == "auto") return {};
  if (const auto size = size_of(text)) return {VramBudget::Kind::bytes, *size};
  uint32_t percent = 0;
  const char* end = text.data() + text.size();
  const auto [sign, error] = std::from_chars(text.data(), end, percent);
  if (error != std::errc() || sign + 1 != end || *sign != '%' || percent < 1 || percent > 100)
    refuse_value(name, "a size such as 2G or 512M, 1% to 100%, or auto", text);
  return {VramBudget::Kind::percent, percent};
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
