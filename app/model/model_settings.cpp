#include "model_settings.h"

#include <fmt/format.h>

#include <cmath>
#include <optional>

#include "gguf_number.h"

namespace bitnet {
namespace {

struct ModelKey {
  const char* key;
  const char* setting;
  bool whole;         // a whole number
  bool below_is_off;  // llama.cpp takes what is below zero for 0
};

constexpr ModelKey kKeys[] = {
    {"general.sampling.temp", "temp", false, true},
    {"general.sampling.top_k", "top_k", true, true},
    {"general.sampling.top_p", "top_p", false, false},
    {"general.sampling.min_p", "min_p", false, true},
    {"general.sampling.penalty_repeat", "repeat_penalty", false, false},
    {"general.sampling.penalty_last_n", "repeat_last", true, false},
};

// Of any type that is a number: converters do not agree on them.
std::optional<double> number_of(const GgufValue& value) {
  std::optional<double> found;
  take_number(value, [&](auto number) { found = static_cast<double>(number); });
  return found;
}

std::string text_of(const ModelKey& key, double number) {
  if (key.below_is_off && number < 0) number = 0;
  if (key.whole && number == std::floor(number)) return fmt::format("{:.0f}", number);
  return fmt::format("{}", static_cast<float>(number));
}

}  // namespace

ModelSettings read_model_settings(const Checkpoint& file) {
  ModelSettings wishes;
  for (const ModelKey& key : kKeys) {
    const GgufValue* value = file.find(key.key);
    if (value == nullptr) continue;
    const std::optional<double> number = number_of(*value);
    if (!number) {
      wishes.unusable.push_back(
          fmt::format("{}: wanted a number, found a value of type {}", key.key, name_of(value->type)));
      continue;
    }
    wishes.values.push_back({key.setting, text_of(key, *number), key.key});
  }
  return wishes;
}

}  // namespace bitnet
