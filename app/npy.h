// .npy files, version 1.0 (numpy.lib.format): a header that says type and shape, then the values.
// Thread rule: belongs to one thread.
#pragma once

#include <fstream>
#include <span>
#include <string>

namespace bitnet {

class NpyFile {
 public:
  // A new file of float32 [rows, columns], C order. Throws Error(runtime) that names the file.
  NpyFile(const std::string& path, size_t rows, size_t columns);
  void write(std::span<const float> values);  // the next values, in order
  void finish();                              // throws where they are not on the disk, or not as many as said

 private:
  std::string path_;
  std::ofstream out_;
  size_t left_;
};

}  // namespace bitnet
