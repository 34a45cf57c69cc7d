// .npy files, version 1.0 (numpy.lib.format): a header that says type and shape, then the values.
// Thread rule: belongs to one thread.
#pragma once

#include <span>
#include <string>

#include "app/base/output_file.h"

namespace bitnet {

class NpyFile {
 public:
  // A file of float32 [rows, columns], C order. Throws Error(runtime) that names the file.
  NpyFile(const std::string& path, const WriteRules& rules, size_t rows, size_t columns);
  ~NpyFile();  // one that was not finished is taken away
  NpyFile(const NpyFile&) = delete;
  NpyFile& operator=(const NpyFile&) = delete;

  void write(std::span<const float> values);  // the next values, in order
  void finish();                              // throws where they are not on the disk, or not as many as said

 private:
  std::string path_;
  OutputFile out_;
  size_t left_;
  bool finished_ = false;
};

}  // namespace bitnet
