#include "option_values.h"

#include <algorithm>
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

int64_t conversation_id(std::string_view text) {
  int64_t id = 0;
  const char* end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, id);
  if (error != std::errc() || at != end || id < 1)
    refuse_value("ID", "the number of a conversation, as 'bitnet-chat list' shows it", text);
  return id;
}

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

std::vector<std::string> words_of_list(const char* name, std::string_view list) {
  std::vector<std::string> words;
  for (size_t at = 0; at <= list.size();) {
    const size_t end = std::min(list.find(',', at), list.size());
    const std::string word(list.substr(at, end - at));
    if (word.empty() || std::ranges::find(words, word) != words.end())
      refuse_value(name, "different words with commas between", list);
    words.push_back(word);
    at = end + 1;
  }
  return words;
}

SteerOption steer_value(std::string_view text) {
  constexpr const char* kForm = "layer=L,file=FILE,scale=S";
  SteerOption steer;
  std::vector<std::string> keys;
  for (const std::string& word : words_of_list("steer", text)) {
    const size_t equals = std::min(word.find('='), word.size());
    const std::string key = word.substr(0, equals), value = word.substr(std::min(equals + 1, word.size()));
    if (std::ranges::find(keys, key) != keys.end()) refuse_value("steer", kForm, text);
    keys.push_back(key);
    if (key == "layer") {
      steer.layer = count_value("steer: layer", value, 0, 1 << 16);
    } else if (key == "file") {
      steer.file = not_empty("steer: file", value);
    } else if (key == "scale") {
      steer.scale = number_value<float>("steer: scale", value, -1e6F, 1e6F);
    } else {
      refuse_value("steer", kForm, text);
    }
  }
  if (std::ranges::find(keys, "layer") == keys.end() || steer.file.empty())
    refuse_value("steer", kForm, text);
  return steer;
}

std::pair<uint32_t, uint32_t> pair_value(const char* name, std::string_view text, char between) {
  const size_t at = text.find(between);
  if (at == std::string_view::npos)
    refuse_value(name, fmt::format("two numbers with {} between", between), text);
  return {count_value(name, text.substr(0, at), 0, 1 << 16),
          count_value(name, text.substr(at + 1), 0, 1 << 16)};
}

Interventions::Head head_value(std::string_view text) {
  const auto [layer, head] = pair_value("ablate-head", text, ':');
  return {layer, head};
}

std::vector<Stage> stage_values(const char* name, std::string_view list) {
  std::vector<Stage> stages;
  std::string names;
  for (int i = 0; i < kStages; ++i)
    names += fmt::format("{}{}", i == 0 ? "" : ", ", name_of(static_cast<Stage>(i)));
  for (const std::string& word : words_of_list(name, list)) {
    int i = 0;
    while (i < kStages && word != name_of(static_cast<Stage>(i))) ++i;
    if (i == kStages) refuse_value(name, "some of " + names, word);
    stages.push_back(static_cast<Stage>(i));
  }
  return stages;
}

}  // namespace bitnet
