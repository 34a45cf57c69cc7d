// SPIR-V files as the tools of the build read them: little-endian words.
#pragma once

#include <cstdint>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <vector>

using Words = std::vector<uint32_t>;

inline Words read_spirv(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  const std::vector<char> bytes{std::istreambuf_iterator<char>(file), {}};
  if (!file || bytes.size() % 4 != 0) throw std::runtime_error("cannot read " + path);
  Words words(bytes.size() / 4);
  for (size_t i = 0; i < bytes.size(); ++i)
    words[i / 4] |= uint32_t{static_cast<unsigned char>(bytes[i])} << 8 * (i % 4);
  return words;
}
