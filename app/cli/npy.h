// .npy files, version 1.0 (numpy.lib.format): a header with type and shape, then the values.
//
// Thread rule: belongs to one thread.
#pragma once

#include <span>
#include <string>

#include "app/base/output_file.h"

namespace bitnet {

class NpyFile {
 public:
  // Begins a file of float32 [rows, columns] in C order. Throws Error(runtime) that names the file.
  NpyFile(const std::string& path, const WriteRules& rules, size_t rows, size_t columns);
  ~NpyFile();  // removes a file that was not finished
  NpyFile(const NpyFile&) = delete;
  NpyFile& operator=(const NpyFile&) = delete;

  void write(std::span<const float> values);  // the next values, in order
  void finish();                              // throws if values are missing or the disk did not take them

 private:
  std::string path_;
  OutputFile out_;
  size_t left_;
  bool finished_ = false;
};

}  // namespace bitnet
