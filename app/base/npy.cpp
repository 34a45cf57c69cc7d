#include "npy.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdlib>
#include <cstring>
#include <sstream>

#include "counted.h"
#include "engine/error.h"

namespace bitnet {
namespace {

constexpr size_t kAlignment = 64;  // bytes, of the first value in the file
constexpr std::string_view kMagic{"\x93NUMPY\x01\x00", 8};
constexpr size_t kBefore = kMagic.size() + 2;  // of the header: magic, version, length

std::string shape_text(const std::vector<size_t>& shape) {
  return fmt::format("({}{})", fmt::join(shape, ", "), shape.size() == 1 ? "," : "");
}

[[noreturn]] void refuse_array(const std::string& path, std::string_view why) {
  throw Error(ErrorKind::usage, fmt::format("{}: {}", printable(path), why));
}

}  // namespace

NpyFile::NpyFile(const std::string& path, const WriteRules& rules, std::vector<size_t> shape)
    : path_(path), out_(path, rules) {
  for (const size_t n : shape) left_ *= n;
  std::string header =
      fmt::format("{{'descr': '<f4', 'fortran_order': False, 'shape': {}, }}", shape_text(shape));
  header.append(kAlignment - (kBefore + header.size() + 1) % kAlignment, ' ');
  header += '\n';
  const char length[2] = {static_cast<char>(header.size() & 0xFF), static_cast<char>(header.size() >> 8)};
  put(std::string(kMagic) + std::string(length, 2) + header);
}

NpyFile::~NpyFile() {
  if (!finished_) out_.discard();
}

void NpyFile::put(std::string_view bytes) {
  out_.write(bytes);
  hash_.add(bytes);
}

void NpyFile::write(std::span<const float> values) {
  put({reinterpret_cast<const char*>(values.data()), values.size_bytes()});
  left_ -= values.size();
}

void NpyFile::finish() {
  if (left_ != 0)
    throw Error(ErrorKind::runtime, fmt::format("{}: {} missing", printable(path_), counted(left_, "value")));
  out_.finish();
  finished_ = true;
}

std::string NpyFile::sha256() { return hash_.digits(); }

NpyArray read_npy(std::string_view bytes, const std::string& path) {
  if (bytes.size() < kBefore || !bytes.starts_with(kMagic))
    refuse_array(path, "is no .npy file of version 1.0");
  const auto byte = [&](size_t i) { return static_cast<size_t>(static_cast<unsigned char>(bytes[i])); };
  const size_t header_bytes = byte(8) | byte(9) << 8;
  if (bytes.size() - kBefore < header_bytes) refuse_array(path, "ends in its header");
  const std::string header(bytes.substr(kBefore, header_bytes));
  bytes.remove_prefix(kBefore + header_bytes);
  const bool wide = header.find("'<f8'") != std::string::npos;
  if (!wide && header.find("'<f4'") == std::string::npos)
    refuse_array(path, "wanted float32 or float64 values, little-endian");
  if (header.find("'fortran_order': False") == std::string::npos)
    refuse_array(path, "wanted values in C order");
  const size_t begin = header.find("'shape': ("), end = header.find(')', begin);
  if (begin == std::string::npos || end == std::string::npos) refuse_array(path, "has no shape");
  NpyArray array;
  size_t count = 1;
  const std::string dims = header.substr(begin + 10, end - begin - 10);
  std::istringstream numbers(dims);
  for (std::string number; std::getline(numbers, number, ',');) {
    if (number.find_first_not_of(' ') == std::string::npos) continue;  // (5,)
    array.shape.push_back(std::strtoul(number.c_str(), nullptr, 10));
    if (array.shape.back() > kMostNpyBytes || (count *= array.shape.back()) > kMostNpyBytes / sizeof(double))
      refuse_array(path, "has too many values");
  }
  if (bytes.size() < count * (wide ? sizeof(double) : sizeof(float)))
    refuse_array(path, "ends in its values");
  array.values.resize(count);
  if (!wide) std::memcpy(array.values.data(), bytes.data(), count * sizeof(float));
  for (size_t i = 0; wide && i < count; ++i) {
    double value = 0;
    std::memcpy(&value, bytes.data() + i * sizeof value, sizeof value);
    array.values[i] = static_cast<float>(value);
  }
  return array;
}

}  // namespace bitnet
