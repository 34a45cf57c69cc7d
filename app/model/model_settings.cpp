#include "model_settings.h"

#include <fmt/format.h>

#include <cmath>
#include <cstring>
#include <optional>

namespace bitnet {
namespace {

struct Key {
  const char* key;
  const char* setting;
  bool whole;         // a whole number
  bool below_is_off;  // llama.cpp takes what is below zero for 0
};

constexpr Key kKeys[] = {
    {"general.sampling.temp", "temp", false, true},
    {"general.sampling.top_k", "top_k", true, true},
    {"general.sampling.top_p", "top_p", false, false},
    {"general.sampling.min_p", "min_p", false, true},
    {"general.sampling.penalty_repeat", "repeat_penalty", false, false},
    {"general.sampling.penalty_last_n", "repeat_last", true, false},
};

template <typename T>
double as(const GgufValue& value) {
  T number{};
  std::memcpy(&number, value.raw.data(), sizeof number);
  return static_cast<double>(number);
}

// Of any type that is a number: converters do not agree on them.
std::optional<double> number_of(const GgufValue& value) {
  switch (value.type) {
    case GgufType::u8:
      return as<uint8_t>(value);
    case GgufType::i8:
      return as<int8_t>(value);
    case GgufType::u16:
      return as<uint16_t>(value);
    case GgufType::i16:
      return as<int16_t>(value);
    case GgufType::u32:
      return as<uint32_t>(value);
    case GgufType::i32:
      return as<int32_t>(value);
    case GgufType::u64:
      return as<uint64_t>(value);
    case GgufType::i64:
      return as<int64_t>(value);
    case GgufType::f32:
      return as<float>(value);
    case GgufType::f64:
      return as<double>(value);
    case GgufType::boolean:
    case GgufType::string:
    case GgufType::array:
      break;
  }
  return std::nullopt;
}

std::string text_of(const Key& key, double number) {
  if (key.below_is_off && number < 0) number = 0;
  if (key.whole && number == std::floor(number)) return fmt::format("{:.0f}", number);
  return fmt::format("{}", static_cast<float>(number));
}

}  // namespace

ModelSettings read_model_settings(const Checkpoint& file) {
  ModelSettings wishes;
  for (const Key& key : kKeys) {
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
