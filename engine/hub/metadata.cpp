#include "metadata.h"

#include <algorithm>
#include <span>

#include "engine/gguf.h"

namespace bitnet::hub {
namespace {

void append(std::vector<std::byte>& to, std::span<const std::byte> bytes) {
  to.resize(to.size() + bytes.size());
  std::ranges::copy(bytes, to.end() - static_cast<ptrdiff_t>(bytes.size()));
}

uint32_t number(GgufType type) { return static_cast<uint32_t>(type); }

}  // namespace

template <typename T>
void Metadata::put(T value) {
  append(bytes_, std::as_bytes(std::span(&value, 1)));
}

void Metadata::put_text(std::string_view value) {
  put(uint64_t{value.size()});
  append(bytes_, std::as_bytes(std::span(value)));
}

void Metadata::begin(std::string_view key, uint32_t type) {
  ++n_;
  put_text(key);
  put(type);
}

void Metadata::text(std::string_view key, std::string_view value) {
  begin(key, number(GgufType::string));
  put_text(value);
}

void Metadata::whole(std::string_view key, uint32_t value) {
  begin(key, number(GgufType::u32));
  put(value);
}

void Metadata::real(std::string_view key, float value) {
  begin(key, number(GgufType::f32));
  put(value);
}

void Metadata::flag(std::string_view key, bool value) {
  begin(key, number(GgufType::boolean));
  put(static_cast<uint8_t>(value));
}

void Metadata::texts(std::string_view key, const std::vector<std::string>& values) {
  begin(key, number(GgufType::array));
  put(number(GgufType::string));
  put(uint64_t{values.size()});
  for (const std::string& value : values) put_text(value);
}

void Metadata::wholes(std::string_view key, const std::vector<int32_t>& values) {
  begin(key, number(GgufType::array));
  put(number(GgufType::i32));
  put(uint64_t{values.size()});
  append(bytes_, std::as_bytes(std::span(values)));
}

void Metadata::reals(std::string_view key, const std::vector<float>& values) {
  begin(key, number(GgufType::array));
  put(number(GgufType::f32));
  put(uint64_t{values.size()});
  append(bytes_, std::as_bytes(std::span(values)));
}

std::vector<std::byte> Metadata::file() const {
  std::vector<std::byte> file;
  constexpr std::string_view kMagic = "GGUF";
  constexpr uint32_t kVersion = 3;
  const uint64_t counts[] = {0, n_};  // tensors, keys
  append(file, std::as_bytes(std::span(kMagic)));
  append(file, std::as_bytes(std::span(&kVersion, 1)));
  append(file, std::as_bytes(std::span(counts)));
  append(file, bytes_);
  return file;
}

}  // namespace bitnet::hub
