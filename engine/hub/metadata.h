// Writes the metadata of a GGUF file.
//
// Thread rule: belongs to one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace bitnet::hub {

class Metadata {
 public:
  void text(std::string_view key, std::string_view value);
  void whole(std::string_view key, uint32_t value);
  void real(std::string_view key, float value);
  void flag(std::string_view key, bool value);
  void texts(std::string_view key, const std::vector<std::string>& values);
  void wholes(std::string_view key, const std::vector<int32_t>& values);
  void reals(std::string_view key, const std::vector<float>& values);

  std::vector<std::byte> file() const;  // a whole GGUF file of version 3 with these keys and without tensors

 private:
  void begin(std::string_view key, uint32_t type);
  void put_text(std::string_view value);
  template <typename T>
  void put(T value);

  uint64_t n_ = 0;
  std::vector<std::byte> bytes_;
};

}  // namespace bitnet::hub
