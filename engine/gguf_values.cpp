// The typed access to a file's metadata.
#include "gguf_values.h"

#include <fmt/format.h>

#include <limits>

namespace bitnet {
namespace {

constexpr uint64_t kMaxElements =
    1 << 21;  // far above any vocabulary; bounds what a hostile file can make us allocate

// An integer of any type and its sign: `value` is the two's complement where `negative`.
struct Integer {
  uint64_t value;
  bool negative;
};

std::optional<Integer> load_integer(GgufType type, const std::byte* at) {
  const auto from_signed = [](int64_t v) { return Integer{static_cast<uint64_t>(v), v < 0}; };
  switch (type) {
    case GgufType::u8:
      return Integer{load<uint8_t>(at), false};
    case GgufType::u16:
      return Integer{load<uint16_t>(at), false};
    case GgufType::u32:
      return Integer{load<uint32_t>(at), false};
    case GgufType::u64:
      return Integer{load<uint64_t>(at), false};
    case GgufType::i8:
      return from_signed(load<int8_t>(at));
    case GgufType::i16:
      return from_signed(load<int16_t>(at));
    case GgufType::i32:
      return from_signed(load<int32_t>(at));
    case GgufType::i64:
      return from_signed(load<int64_t>(at));
    default:
      return std::nullopt;
  }
}

std::string to_string(Integer i) {
  return i.negative ? fmt::format("{}", static_cast<int64_t>(i.value)) : fmt::format("{}", i.value);
}

std::string describe_type(const GgufValue& value) {
  if (value.type != GgufType::array) return name_of(value.type);
  return fmt::format("array of {}", name_of(value.element_type));
}

}  // namespace

uint64_t size_of(GgufType type) {
  switch (type) {
    case GgufType::u8:
    case GgufType::i8:
    case GgufType::boolean:
      return 1;
    case GgufType::u16:
    case GgufType::i16:
      return 2;
    case GgufType::u32:
    case GgufType::i32:
    case GgufType::f32:
      return 4;
    case GgufType::u64:
    case GgufType::i64:
    case GgufType::f64:
      return 8;
    case GgufType::string:
    case GgufType::array:
      return 0;
  }
  return 0;
}

const char* name_of(GgufType type) {
  constexpr const char* kNames[] = {"uint8", "int8",   "uint16", "int16",  "uint32", "int32",  "float32",
                                    "bool",  "string", "array",  "uint64", "int64",  "float64"};
  const auto i = static_cast<size_t>(type);
  return i < std::size(kNames) ? kNames[i] : "unknown";
}

void Checkpoint::fail(std::string_view key, const std::string& problem) const {
  throw Error(ErrorKind::model, fmt::format("{}: key {}: {}", printable(path_), printable(key), problem));
}

const GgufValue* Checkpoint::find(std::string_view key) const {
  const auto found = key_index_.find(key);
  return found == key_index_.end() ? nullptr : &metadata_[found->second].second;
}

const GgufValue& Checkpoint::get(std::string_view key) const {
  const GgufValue* value = find(key);
  if (!value) fail(key, "wanted it, got a file without it");
  return *value;
}

const GgufValue* Checkpoint::find_typed(std::string_view key, GgufType type) const {
  const GgufValue* value = find(key);
  if (value && value->type != type) {
    fail(key, fmt::format("wanted {}, got {}", name_of(type), describe_type(*value)));
  }
  return value;
}

const GgufValue* Checkpoint::find_array(std::string_view key) const {
  const GgufValue* value = find_typed(key, GgufType::array);
  if (value && value->count > kMaxElements)
    fail(key, fmt::format("wanted an array of at most {} elements, got {}", kMaxElements, value->count));
  return value;
}

uint32_t Checkpoint::to_u32(std::string_view key, const GgufValue& value) const {
  const auto integer = load_integer(value.type, value.raw.data());
  if (!integer) fail(key, fmt::format("wanted an integer, got {}", describe_type(value)));
  if (integer->negative || integer->value > std::numeric_limits<uint32_t>::max()) {
    fail(key, fmt::format("wanted 0 to 2^32 - 1, got {}", to_string(*integer)));
  }
  return static_cast<uint32_t>(integer->value);
}

uint32_t Checkpoint::get_u32(std::string_view key) const { return to_u32(key, get(key)); }

std::optional<uint32_t> Checkpoint::find_u32(std::string_view key) const {
  const GgufValue* value = find(key);
  return value ? std::optional(to_u32(key, *value)) : std::nullopt;
}

float Checkpoint::get_f32(std::string_view key) const {
  get(key);
  return *find_f32(key);
}

std::optional<float> Checkpoint::find_f32(std::string_view key) const {
  const GgufValue* value = find_typed(key, GgufType::f32);
  return value ? std::optional(load<float>(value->raw.data())) : std::nullopt;
}

std::optional<bool> Checkpoint::find_bool(std::string_view key) const {
  const GgufValue* value = find_typed(key, GgufType::boolean);
  return value ? std::optional(load<uint8_t>(value->raw.data()) != 0) : std::nullopt;
}

std::string Checkpoint::get_string(std::string_view key) const {
  get(key);
  return *find_string(key);
}

std::optional<std::string> Checkpoint::find_string(std::string_view key) const {
  const GgufValue* value = find_typed(key, GgufType::string);
  return value ? std::optional(std::string(as_text(value->raw))) : std::nullopt;
}

std::vector<std::string> Checkpoint::find_strings(std::string_view key) const {
  const GgufValue* value = find_array(key);
  if (!value) return {};
  if (value->element_type != GgufType::string) {
    fail(key, fmt::format("wanted an array of string, got an {}", describe_type(*value)));
  }
  std::vector<std::string> strings;
  strings.reserve(value->count);
  const std::byte* at = value->raw.data();
  for (uint64_t i = 0; i < value->count; ++i) {  // the lengths were checked when the file was opened
    const auto length = load<uint64_t>(at);
    at += sizeof length;
    strings.emplace_back(reinterpret_cast<const char*>(at), length);
    at += length;
  }
  return strings;
}

std::vector<int32_t> Checkpoint::find_ints(std::string_view key) const {
  const GgufValue* value = find_array(key);
  if (!value) return {};
  const uint64_t size = size_of(value->element_type);
  std::vector<int32_t> ints;
  for (uint64_t i = 0; i < value->count; ++i) {
    const GgufType type = value->element_type == GgufType::boolean ? GgufType::u8 : value->element_type;
    const auto integer = size == 0 ? std::nullopt : load_integer(type, value->raw.data() + i * size);
    if (!integer) fail(key, fmt::format("wanted an array of integers, got an {}", describe_type(*value)));
    const auto narrow = static_cast<int32_t>(integer->value);
    if (static_cast<uint64_t>(static_cast<int64_t>(narrow)) != integer->value ||
        (narrow < 0) != integer->negative) {
      fail(key, fmt::format("element {}: wanted -2^31 to 2^31 - 1, got {}", i, to_string(*integer)));
    }
    ints.push_back(narrow);
  }
  return ints;
}

std::vector<float> Checkpoint::find_floats(std::string_view key) const {
  const GgufValue* value = find_array(key);
  if (!value) return {};
  if (value->element_type != GgufType::f32) {
    fail(key, fmt::format("wanted an array of float32, got an {}", describe_type(*value)));
  }
  std::vector<float> floats(value->count);
  if (!floats.empty()) std::memcpy(floats.data(), value->raw.data(), value->raw.size());
  return floats;
}

}  // namespace bitnet
