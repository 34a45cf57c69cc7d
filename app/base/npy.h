// .npy files, version 1.0 (numpy.lib.format): a header with type and shape, then the values.
//
// Thread rule: an NpyFile belongs to one thread; free functions, any thread.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "output_file.h"
#include "sha256.h"

namespace bitnet {

class NpyFile {
 public:
  // Begins a file of float32 [shape...] in C order. Throws Error(runtime) that names the file.
  NpyFile(const std::string& path, const WriteRules& rules, std::vector<size_t> shape);
  ~NpyFile();  // removes a file that was not finished
  NpyFile(const NpyFile&) = delete;
  NpyFile& operator=(const NpyFile&) = delete;

  void write(std::span<const float> values);  // the next values, in order
  void finish();                              // throws if values are missing or the disk did not take them
  std::string sha256();                       // of the whole file. Requires: it is finished

 private:
  void put(std::string_view bytes);

  std::string path_;
  OutputFile out_;
  Sha256 hash_;
  size_t left_ = 1;
  bool finished_ = false;
};

struct NpyArray {
  std::vector<size_t> shape;
  std::vector<float> values;
};
constexpr size_t kMostNpyBytes = size_t{1} << 30;  // of a file that is read
// Reads an array of float32 or float64 in C order, little-endian. Throws Error(usage) that names the file.
NpyArray read_npy(std::string_view bytes, const std::string& path);

}  // namespace bitnet
