// Has the system read files into memory ahead of those who look at their bytes. Who goes through a mapped
// file waits for the disk page by page, which takes several times as long as the disk needs for many requests
// at once.
//
// Thread rule: a ReadAhead belongs to one thread; it reads on one of its own.
#pragma once

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include "engine/mapped_file.h"

namespace bitnet {

class ReadAhead {
 public:
  // Begins with the first file. Files that together are larger than `most` are left alone, since what is read
  // first would be gone when it is wanted; 0 = half of the computer's memory. So are all where no thread can
  // be had.
  explicit ReadAhead(std::vector<std::shared_ptr<const MappedFile>> files, uint64_t most = 0);
  ~ReadAhead();  // stops; what was asked for still comes
  ReadAhead(const ReadAhead&) = delete;
  ReadAhead& operator=(const ReadAhead&) = delete;

 private:
  void read() const;

  const std::vector<std::shared_ptr<const MappedFile>> files_;
  std::atomic<bool> stop_ = false;
  std::thread thread_;
};

}  // namespace bitnet
