#include "npy.h"

#include <fmt/format.h>

#include "app/base/counted.h"
#include "engine/error.h"

namespace bitnet {
namespace {
constexpr size_t kAlignment = 64;  // bytes, of the first value in the file
}  // namespace

NpyFile::NpyFile(const std::string& path, const WriteRules& rules, size_t rows, size_t columns)
    : path_(path), out_(path, rules), left_(rows * columns) {
  std::string header =
      fmt::format("{{'descr': '<f4', 'fortran_order': False, 'shape': ({}, {}), }}", rows, columns);
  const size_t before = 6 + 2 + 2;  // magic, version, length
  header.append(kAlignment - (before + header.size() + 1) % kAlignment, ' ');
  header += '\n';
  const std::string magic("\x93NUMPY\x01\x00", 8);
  const char length[2] = {static_cast<char>(header.size() & 0xFF), static_cast<char>(header.size() >> 8)};
  out_.write(magic + std::string(length, 2) + header);
}

NpyFile::~NpyFile() {
  if (!finished_) out_.discard();
}

void NpyFile::write(std::span<const float> values) {
  out_.write({reinterpret_cast<const char*>(values.data()), values.size_bytes()});
  left_ -= values.size();
}

void NpyFile::finish() {
  out_.finish();
  if (left_ != 0)
    throw Error(ErrorKind::runtime, fmt::format("{}: {} missing", printable(path_), counted(left_, "value")));
  finished_ = true;
}

}  // namespace bitnet
