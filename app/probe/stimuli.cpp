#include "stimuli.h"

#include <fmt/format.h>

#include <cctype>
#include <nlohmann/json.hpp>

#include "app/base/sha256.h"
#include "app/text/fold_case.h"
#include "app/text/text_file.h"
#include "engine/error.h"
#include "engine/json_reader.h"

namespace bitnet {
namespace {

using nlohmann::json;

constexpr size_t kMostStimuliBytes = size_t{256} << 20;

[[noreturn]] void refuse(const std::string& path, const std::string& why) {
  throw Error(ErrorKind::usage, fmt::format("{}: {}", printable(path), why));
}

std::string text_at(const std::string& path, size_t index, const json& object, const char* key) {
  if (!object.is_object() || !object.contains(key) || !object.at(key).is_string())
    refuse(path, fmt::format("stimulus {}: wanted a text as '{}'", index, key));
  return object.at(key).get<std::string>();
}

// Of ASCII alone, whatever the locale says of other bytes.
bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }
bool is_edge(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return is_space(c) || (byte < 0x80 && std::ispunct(byte) != 0);
}

template <typename F>
std::string stripped(const std::string& text, F drop) {
  size_t begin = 0, end = text.size();
  while (begin < end && drop(text[begin])) ++begin;
  while (end > begin && drop(text[end - 1])) --end;
  return text.substr(begin, end - begin);
}

std::string normal(const std::string& text) {
  std::string kept;
  for (const char c : stripped(text, is_edge))
    if (!is_space(c)) kept += c;
  return fold_case(kept);
}

}  // namespace

std::string read_stimuli_file(const std::string& path) {
  return read_file(path, kMostStimuliBytes, Pipes::of_the_shell);
}

Stimuli read_stimuli(const std::string& bytes, const std::string& path, const std::string& of_template,
                     size_t limit) {
  json list;
  try {
    list = read_json(bytes, {.bytes = kMostStimuliBytes});
  } catch (const Error& error) {
    refuse(path, error.what());
  }
  if (!list.is_array() || list.empty()) refuse(path, "wanted a JSON array of stimuli");
  Stimuli stimuli{{}, sha256_of(bytes)};
  for (const json& item : list) {
    const size_t index = stimuli.rows.size();
    if (limit != 0 && index == limit) break;
    Stimulus s{index, text_at(path, index, item, "root"), text_at(path, index, item, "pattern"),
               text_at(path, index, item, "expected_surface"), ""};
    if (!item.contains("prompts"))
      refuse(path, fmt::format("stimulus {}: wanted {{template: text}} as 'prompts'", index));
    if (item.at("prompts").is_object() && !item.at("prompts").contains(of_template)) {
      std::string names;
      for (const auto& [name, text] : item.at("prompts").items()) names += (names.empty() ? "" : ", ") + name;
      refuse(path, fmt::format("stimulus {}: there is no template '{}'; it has {}", index,
                               printable(of_template, 40), printable(names, 200)));
    }
    s.prompt = text_at(path, index, item.at("prompts"), of_template.c_str());
    stimuli.rows.push_back(std::move(s));
  }
  return stimuli;
}

AnswerMatch match_of(const std::string& generated, const std::string& expected) {
  const std::string a = normal(generated), b = normal(expected);
  if (b.empty()) return {};
  return {a == b, a.find(b) != std::string::npos};
}

std::string trimmed(const std::string& text) { return stripped(text, is_space); }

}  // namespace bitnet
